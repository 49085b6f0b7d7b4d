// Private to this folder: how equations sit in the common coordinate system.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::dataflow::detail {

/// The single reduction of an equation, if it has one. Throws LegalityError CYC210 where it has more.
[[nodiscard]] std::optional<recurrence::ExprId> reduction_of(const recurrence::System& system,
                                                             const recurrence::Equation& equation);

/// The reduction, or the sum or difference that goes on from its first operand with the reduction's terms.
[[nodiscard]] recurrence::ExprId whole_of(const recurrence::System& system,
                                          const recurrence::Equation& equation, recurrence::ExprId reduction);

/// The dims that are grid dimensions by themselves, not as parts of a form.
[[nodiscard]] std::vector<std::size_t> grid_dimensions(const schedule::Schedule& schedule,
                                                       const std::vector<std::string>& dims);

/// Places equations in the coordinates `dims`.
class Placement {
 public:
  /// `grid`: the dims that are grid dimensions.
  Placement(const recurrence::System& system, const poly::Context& context,
            const std::vector<std::string>& dims, FreeIndexPlacement free_indices,
            const std::vector<std::size_t>& grid = {});

  /// Points (i, r) of the reduction.
  [[nodiscard]] Space inner(const recurrence::Equation& equation, const recurrence::Reduce& reduce) const;
  /// Points i, at r = r_end(i), the exclusive end, where there is a reduction (CY-070); at the last term where the end
  /// would be one PE beyond all others.
  [[nodiscard]] Space outer(const recurrence::Equation& equation, const recurrence::Reduce* reduce) const;
  /// True where an index that an equation lacks has another coordinate in the other's placement of the system.
  [[nodiscard]] bool differs(const Placement& other) const;
  /// Coordinate of a named index.
  [[nodiscard]] std::size_t dim(const std::string& name) const;
  /// A form over the named indices, as a form over dims.
  [[nodiscard]] poly::Affine lift(const recurrence::Affine& form,
                                  const std::vector<std::string>& names) const;
  [[nodiscard]] std::vector<poly::Affine> lift(const std::vector<recurrence::Affine>& forms,
                                               const std::vector<std::string>& names) const;

 private:
  [[nodiscard]] Space place(const recurrence::Equation& equation, const poly::Set& points,
                            const std::vector<std::string>& names, const recurrence::Reduce* reduce,
                            bool at_end) const;
  [[nodiscard]] poly::Set terms_of(const recurrence::Equation& equation,
                                   const recurrence::Reduce& reduce) const;
  [[nodiscard]] poly::Affine end_of(const recurrence::Equation& equation,
                                    const recurrence::Reduce& reduce) const;
  [[nodiscard]] poly::Affine place_of_total(const recurrence::Equation& equation,
                                            const recurrence::Reduce& reduce) const;
  [[nodiscard]] poly::Affine without_reductions(const recurrence::Equation& equation,
                                                const recurrence::Reduce* reduce, poly::Affine form) const;
  [[nodiscard]] bool is_later(const recurrence::Scope& scope, const poly::Affine& form,
                              const poly::Affine& other) const;
  [[nodiscard]] bool has_terms(const recurrence::Equation& equation, const recurrence::Reduce& reduce) const;
  [[nodiscard]] poly::Affine free_coordinate(const recurrence::Equation& equation, std::size_t dim,
                                             std::size_t chain = 0) const;
  [[nodiscard]] poly::Affine find_free_coordinate(const recurrence::Equation& equation, std::size_t dim,
                                                  std::size_t chain) const;
  void find_in_order(std::size_t dim) const;
  [[nodiscard]] bool is_of_earlier_statement(const recurrence::Equation& maker,
                                             const recurrence::Equation& reader, std::size_t dim) const;
  using Constants = std::vector<std::optional<std::int64_t>>;
  [[nodiscard]] Constants constants_of(const recurrence::Equation& equation) const;
  [[nodiscard]] bool is_own(const recurrence::Equation& equation) const;
  [[nodiscard]] std::int64_t first_use(const recurrence::Equation& equation, std::size_t dim,
                                       std::size_t chain) const;
  [[nodiscard]] std::optional<poly::Affine> where_read(const recurrence::Equation& reader,
                                                       const recurrence::Access& access,
                                                       const std::vector<std::string>& names,
                                                       const recurrence::Equation& maker, std::size_t dim,
                                                       std::size_t chain) const;

  const recurrence::System& system_;
  const poly::Context& context_;
  const std::vector<std::string>& dims_;
  FreeIndexPlacement free_indices_;
  /// Values of a grid dimension at the points that have the index, by dim.
  struct Range {
    std::int64_t least, greatest;
  };
  std::map<std::size_t, Range> grid_;
  std::vector<std::set<recurrence::TensorId>> read_by_;  ///< By equation.
  /// By dim and tensor, whether its equations that lack the dim depend on none of their own, through others that lack it.
  mutable std::map<std::size_t, std::vector<bool>> in_order_;
  mutable std::map<const recurrence::Equation*, Constants> constants_;  ///< Of the system's own equations.
  /// Free coordinates that were asked for, by equation, dim and chain: each depends on those of its neighbours.
  mutable std::map<std::tuple<const recurrence::Equation*, std::size_t, std::size_t>, poly::Affine> known_;
};

}  // namespace cyclotron::dataflow::detail
