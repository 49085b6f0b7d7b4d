// Private to this folder: the operators of a kernel's equations, and the ways of their values, of which estimates are made.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/recurrence/system.hpp>

#include "sequential.hpp"

namespace cyclotron::schedule {

/// A test, a choice and a sum for each element of a table; by its address it takes as many.
constexpr double operators_of_selection = 3;

/// The values that an index has for one of another's.
struct Share {
  double most = 1, mean = 1;
  bool operator==(const Share&) const = default;
};

/// A loop around an operation, how many values its index has there, from which on, and in which steps.
struct Loop {
  std::size_t index = 0;
  double extent = 1;
  double first = 0;
  double step = 1;
  std::map<std::size_t, Share> within{};  ///< By the other index, of those that bound it.
  [[nodiscard]] double last() const { return first + (extent - 1) * step; }
  bool operator==(const Loop&) const = default;
};

/// The choice of an element of a table by its number: `value == j ? x[j] : 0` for each j. A PE that has the table finds it
/// by its address, which takes no more for a longer one.
struct Selection {
  std::vector<std::size_t> along;      ///< The table's indices, which number its elements.
  std::set<std::size_t> moving{};      ///< Indices that, in space, have PEs hand the table on.
  const std::string* input = nullptr;  ///< The table, where each PE may load it instead,
  double elements = 0;                 ///< all of these.
};

/// An input that iterations read which numbers bound, or of a loop that may end early: where each PE has it, it skips the
/// others.
struct BoundedRead {
  const recurrence::Tensor* input = nullptr;
  std::vector<std::size_t> along;   ///< The indices that its subscripts name.
  std::vector<std::size_t> moving;  ///< Others that, in space, have PEs hand it on.
  bool is_bounded = false;          ///< Along one of its own indices.
  bool is_ending =
      false;  ///< In a loop that each of the others ends by itself; so its own index is that loop's.
};

/// Operators of one PE: so many cycles at each point of the loops.
struct Work {
  double cycles = 0;
  std::vector<Loop> loops;
  std::optional<Selection> selection = std::nullopt;
};

/// The way of values from point to point along an index, where it is space: so many cycles a point, in each iteration of
/// the loops further out that run one after the other in time.
struct Way {
  Loop along;
  double cycles = 1;
  std::vector<Loop> around;
  bool computed = false;  ///< They start or end where a reduction does.
  bool reduced =
      false;  ///< Of a reduction's terms: a PE joins its own one after the other, once those before it are.
  const recurrence::Tensor* input = nullptr;  ///< That they hand on.
};

/// Collects the operators and ways of an equation.
class EquationCost {
 public:
  EquationCost(const recurrence::System& system, const std::vector<std::string>& names,
               const SequentialIndices& sequential);

  void add(const recurrence::Equation& equation);

  std::vector<Work> works;
  std::vector<Way> ways;
  /// Indices of which numbers tell the first and the last value, as `first[i] <= k < last[i]`.
  std::set<std::size_t> bounded;
  std::vector<BoundedRead> bounded_reads;
  std::set<std::string> passing;  ///< Inputs of which points along some index share elements.

 private:
  void find_bounds(const recurrence::Equation& equation);

  [[nodiscard]] std::vector<Loop> loops_of(const recurrence::Scope& scope) const;

  /// The pairs of coordinates that a constraint bounds together.
  [[nodiscard]] static std::set<std::pair<std::size_t, std::size_t>> bounding(const poly::Set& points);

  /// An expression whose value so many operators take before the equation's is known.
  void add(recurrence::ExprId id, const recurrence::Scope& scope, const std::vector<Loop>& loops,
           double after);

  void add_operators(double cycles, const std::vector<Loop>& loops);

  [[nodiscard]] static bool names(const recurrence::Access& access, std::size_t variable);

  /// The table of which sums, of which this is the innermost, take the element that `value == 4i + j` chooses, if they do.
  [[nodiscard]] const recurrence::Access* table_of(const recurrence::Reduce& reduce,
                                                   const recurrence::Scope& scope) const;

  /// The variables of the number in `value == number ? ... : ...`, if an expression is that.
  [[nodiscard]] std::vector<std::size_t> chosen_by(recurrence::ExprId id) const;

  /// True where a sum's terms are sums of the elements that a number with its index, too, chooses.
  [[nodiscard]] bool sums_choices(const recurrence::Reduce& reduce, std::size_t variable) const;

  /// The value before, and what is added to it or put in its place, perhaps in one branch only, of an element that a number
  /// may choose.
  [[nodiscard]] std::optional<std::pair<recurrence::ExprId, recurrence::ExprId>> update_of(
      recurrence::ExprId id) const;

  /// True where an equation changes the element of a table that `value == index` chooses; adds its operators.
  bool add_to_element(const recurrence::Equation& equation, const std::vector<Loop>& loops);

  void add_bounded_read(const recurrence::Access& access, const std::vector<Loop>& loops);

  /// A value is needed at all points along the indices that its subscripts do not name.
  void add_ways(const recurrence::Access& access, const std::vector<Loop>& loops);

  /// A sum of products is one operator a term.
  void add_reduction(const recurrence::Reduce& reduce, const recurrence::Scope& outer, double after);

  const recurrence::System& system_;
  const std::vector<std::string>& names_;
  const SequentialIndices& sequential_;
  std::map<std::size_t, Way> found_;  ///< Of the equation at hand, by index.
  std::size_t dimensions_ = 0;        ///< The indices of its points.
  double chain_ = 0;                  ///< The most operators of it from a value that is computed to its own.
};

}  // namespace cyclotron::schedule
