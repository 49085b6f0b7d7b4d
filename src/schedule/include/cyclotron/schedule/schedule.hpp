// A schedule: which indices are space, which are time, and how each tensor moves (CY-025 … CY-038).
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <cyclotron/poly/affine.hpp>
#include <cyclotron/recurrence/reassociate.hpp>
#include <cyclotron/recurrence/reduce_in_trees.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::schedule {

enum class MovementKind : std::uint8_t { stream, broadcast, prefetch };
[[nodiscard]] std::string_view name(MovementKind kind);

/// In blocks of neighbours, or dealt out in turn.
enum class FoldKind : std::uint8_t { block, cyclic };
[[nodiscard]] std::string_view name(FoldKind kind);

/// Movement of one tensor. An empty `along` means: chosen by the compiler.
struct Movement {
  std::string tensor;
  MovementKind kind = MovementKind::stream;
  std::vector<std::string> along;
  bool operator==(const Movement&) const = default;
};

/// A grid dimension shared out over fewer PEs.
struct Fold {
  std::string dimension;  ///< As `Schedule::space_indices` has it.
  FoldKind kind = FoldKind::block;
  std::int64_t parts = 1;  ///< PEs along the dimension.
  bool operator==(const Fold&) const = default;
};

/// The order of a reduction index that starts, in each PE, at the sum of its coordinates `by` and wraps round
/// (Cannon's algorithm, E21).
struct Rotation {
  std::string index;
  std::vector<std::string> by;
  bool operator==(const Rotation&) const = default;
};

/// The PEs in which the elements of an input lie before the run: one form a grid dimension, over the indices of
/// its subscripts.
struct Place {
  std::string tensor;
  std::vector<std::string> at;
  bool operator==(const Place&) const = default;
};

/// A time index cut into panels of equal width: the operands of a panel all reach a PE before it computes with
/// the first of them (SUMMA, E22; one panel is the paper's).
struct PanelCount {
  std::string index;
  std::int64_t count = 1;
  bool operator==(const PanelCount&) const = default;
};

/// Space and time are affine forms over the kernel's indices: `i`, `-i`, `i-k`; where one is a number, as `0`, a
/// dimension of the grid is one PE wide.
struct Schedule {
  std::vector<std::string> space_indices;  ///< Grid dimensions, in order.
  std::vector<std::string> time_indices;   ///< Outermost first.
  std::vector<Movement> movements;         ///< At most one a tensor.
  std::vector<Fold> folds = {};            ///< At most one a grid dimension.
  std::vector<Rotation> rotations = {};    ///< At most one an index.
  /// At most one an index. They change the system, which then has their new indices; the rest of a schedule
  /// speaks of that one.
  std::vector<recurrence::Reassociation> reassociations = {};
  std::vector<Place> places = {};             ///< At most one a tensor.
  std::vector<PanelCount> panel_counts = {};  ///< At most one an index.
  /// Reduction indices in space that run from both ends to the middle. They change the system, too.
  std::vector<std::string> inward_indices = {};
  /// Indices whose reductions run from the last value to the first. They change the system, too.
  std::vector<std::string> descending_indices = {};
  /// Indices over which nested reductions are done in this order. They change the system, too.
  std::vector<std::string> stage_indices = {};
  /// Reduction indices in space that are reduced in trees, at most once each. They change the system, too.
  std::vector<recurrence::Tree> reductions = {};
  /// Its one grid dimension goes through the rows of the machine's grid back and forth.
  bool is_serpentine = false;
  bool operator==(const Schedule&) const = default;
};

/// True where it has no grid, or one whose dimensions are all "0".
[[nodiscard]] bool is_on_one_pe(const Schedule& schedule);

/// True where any of its parts has the index, in a form too.
[[nodiscard]] bool names_index(const Schedule& schedule, const std::string& index);

/// The forms of a schedule over the kernel's indices.
struct Frame {
  std::vector<poly::Affine> space;
  std::vector<poly::Affine> time;
};

/// Reads `2i-k+1` or `2*i - k + 1` over the names. Throws ScheduleError CYC310 for an unknown name, CYC314
/// where it is no affine form.
[[nodiscard]] poly::Affine parse_affine(const std::string& text, const std::vector<std::string>& names);
[[nodiscard]] Frame frame(const Schedule& schedule, const std::vector<std::string>& names);

/// Number of values of an index in a panel, for an index with that many values; 1 where it is not cut.
[[nodiscard]] std::int64_t panel_width(const Schedule& schedule, const std::string& index,
                                       std::int64_t extent);

/// The fold of a grid dimension that may have so many PEs (0: any number): the one that is asked for, or blocks on these.
[[nodiscard]] Fold fold_of(const Schedule& schedule, std::size_t dimension, std::int64_t limit);

/// The fold of a grid dimension with that many values, if it is folded: in blocks of so many neighbours, or that many PEs
/// in turn.
struct Folding {
  FoldKind kind = FoldKind::block;
  std::int64_t divisor = 1;
};
[[nodiscard]] std::optional<Folding> folding(const Schedule& schedule, std::size_t dimension,
                                             std::int64_t extent, std::int64_t limit);

/// Every index of the kernel once, those of statements without a point included, in an order that agrees with the
/// nesting of each equation.
[[nodiscard]] std::vector<std::string> index_names(const recurrence::System& system);

/// The schedule with the indices that space and time do not yet determine appended to time, in nesting order
/// (innermost indices first chosen), so that each point has its own PE and step. Forms are written as
/// poly::to_string does.
/// Throws ScheduleError: CYC310 for an index or tensor that the kernel does not have (lists those it has),
/// CYC311 where an index is named twice, CYC312 for a movement the tensor cannot make (prefetch of a
/// computed tensor, any of a result that stays), CYC314 for a malformed form, CYC315 for a fold of
/// a dimension that is not in space, CYC317 for a rotation and CYC319 for a place that cannot be, CYC320 for panels of what is not
/// time, CYC321 for a serpentine of more than one dimension.
[[nodiscard]] Schedule complete(const recurrence::System& system, Schedule schedule);

/// Orders of the time indices that a schedule leaves open.
enum class Orders : std::uint8_t {
  likely,  ///< The plain one, and those with one index descending.
  all,     ///< Those, then with several descending, then in other orders.
};

/// The completions of a schedule to try in turn, the plain one first. What the user wrote stays as it is.
[[nodiscard]] std::vector<Schedule> completions(const recurrence::System& system, const Schedule& schedule,
                                                Orders orders = Orders::all);

/// Completions to try where the plain one does not map: time first runs over an index of those that it lacks plus the place in
/// the grid, so that each PE is a step behind the one before it, as where a value goes through several in one step.
[[nodiscard]] std::vector<Schedule> wavefronts(const recurrence::System& system, const Schedule& schedule);

/// The same along one dimension of the grid each, where values go on long ways: what a PE has made has a step to get to those
/// behind it.
[[nodiscard]] std::vector<Schedule> wavefronts_along_one(const recurrence::System& system,
                                                         const Schedule& schedule);

/// The completion whose steps are those of the text, one point after the other, wherever their PEs are: whatever the text
/// makes before it needs it is there in time. None where the schedule has indices in time.
[[nodiscard]] std::optional<Schedule> in_text_order(const recurrence::System& system,
                                                    const Schedule& schedule);

/// Placements to try in turn where the user gives no schedule: the indices of elements in space, then fewer of
/// them. A loop that may end stays in time, and so does one whose iterations make values of the others' elements in
/// turn. `grid` has the extents of the machine's grid; empty: it has as many dimensions as a schedule asks for.
[[nodiscard]] std::vector<Schedule> defaults(const recurrence::System& system,
                                             const std::vector<std::int64_t>& grid);

/// Of iterations that numbers in PE memory bound, and without these numbers, one in so many is expected.
constexpr std::int64_t expected_of_bounded = 4;

/// A placement, and estimates of what it costs: the operators of the fullest PE, and the ways of values over the grid, of
/// domains as if they were boxes.
struct Placement {
  Schedule schedule;
  double cycles = 0;   ///< With each way in each iteration of the loops around it that run in turn.
  double least = 0;    ///< With each way once, as where iterations follow each other as waves do.
  double fullest = 0;  ///< Of the fullest PE alone.
  double pes = 1;
  bool in_turn =
      false;  ///< An index in space is that of a loop whose iterations compute values from those of others.
  bool is_folded = false;  ///< Values of an index in space share a PE.
};

struct Placements {
  std::vector<Placement> defaults;  ///< As `defaults` has them.
  std::vector<Placement>
      others;  ///< All others of plain indices, and of sums that tell what is added to, the best first.
  /// Of all these, with reductions over indices in space in blocks or inwards: those that may be in any order and gain by it.
  std::vector<Placement> reordered;
  std::vector<Placement> in_trees;  ///< The reductions of all PEs, each of which has one term.
  std::vector<Placement>
      dealt;  ///< Of the best of the first two, with values that PEs share dealt out in turn.
  std::vector<Placement>
      narrower;                   ///< Of the best of these on one dimension, with half of the PEs and so on.
  std::set<std::string> passing;  ///< Inputs of which PEs may hand on elements.
};

/// Placements where the user gives no schedule. `grid` is as that of `defaults`.
[[nodiscard]] Placements placements(const recurrence::System& system, const std::vector<std::int64_t>& grid);

/// The orders of reductions that are others than the kernel's, in a sentence each.
[[nodiscard]] std::vector<std::string> reorderings(const Schedule& schedule);

/// The verb by which reductions over an index take the last of its terms first, or none: `inwards`, `descending`.
[[nodiscard]] std::string last_terms_first(const Schedule& schedule, const std::string& index);

/// `space i, j; time k; stream A along j`.
[[nodiscard]] std::string to_string(const Schedule& schedule);

}  // namespace cyclotron::schedule
