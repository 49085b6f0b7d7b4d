// Private to this folder: loops that flags may end, and where tensors have their indices.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence::exits {

[[nodiscard]] std::int64_t coefficient(const Affine& form, std::size_t variable);

/// The variable that alone is in a form, if one is.
[[nodiscard]] std::optional<std::size_t> only_variable(const Affine& form);

constexpr std::int64_t far = std::int64_t{1} << 60;

struct Interval {
  std::int64_t first = -far;
  std::int64_t last = far;
};

/// Of an index by the constraints that name it alone, and by those of an equation.
[[nodiscard]] Interval interval_of(const std::vector<Constraint>& conjunction, std::size_t variable);
[[nodiscard]] Interval interval_of(const Equation& equation, std::size_t variable);

/// The one value of an index, if it has one.
[[nodiscard]] std::optional<std::int64_t> pinned(const Equation& equation, std::size_t variable);

/// An index of some equations, inside others: each of these has one value, or is that of a loop around.
struct Loop {
  std::vector<std::string> names;  ///< Of the indices, its own the last.
  std::vector<std::optional<std::int64_t>> around;
  [[nodiscard]] std::size_t variable() const { return names.size() - 1; }

  /// True where the equation is one of the loop's.
  [[nodiscard]] bool holds(const Equation& equation) const;
};

/// The loop that an equation of a flag names with its index: its elements are those of its iterations, in each of the
/// loops around.
[[nodiscard]] std::optional<Loop> loop_of(const Equation& equation);

/// False where no tensor may be a flag: most kernels are told so at once.
[[nodiscard]] bool may_have_flags(const System& system);

/// The loop of a tensor that may be a flag.
[[nodiscard]] std::optional<Loop> flag_loop(const System& system, TensorId flag);

/// The system whose equations read by an earlier index what they could read by one that equals it, plus a number, and is of no
/// loop that a flag may end.
[[nodiscard]] System with_first_indices(System system);

/// The system in which an index with one value, that of an element beside others' loops, follows the indices of loops that
/// flags may end; none where that is so already.
[[nodiscard]] std::optional<System> with_loops_first(const System& system);

/// The system whose equations nest their indices as those of another do.
[[nodiscard]] System nested_as(System system, const System& other);

/// Place of a loop's index in a tensor that the loop computes, and of those of the loops around.
struct Axis {
  std::size_t dimension;
  std::int64_t offset;
  std::map<std::size_t, Affine> around{};  ///< By dimension.
  bool operator==(const Axis&) const = default;
};

}  // namespace cyclotron::recurrence::exits
