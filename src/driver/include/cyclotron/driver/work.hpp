// The least cost of a run on some placement, counted exactly: the bound of mappings before they are compiled.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/poly/count.hpp>
#include <cyclotron/recurrence/operation_graph.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::driver {

/// Something counted by place: `values` by the dimensions of the grid that tell where it is.
struct Count {
  std::string name;         ///< Of the operator.
  std::int64_t cycles = 0;  ///< Of each operation, at least.
  std::vector<std::size_t>
      dimensions;  ///< Of `space`; the others do not tell, as an index that is not its own.
  poly::Counts counts;
};

/// The values of a form of the indices at all points of a system, terms of reductions too.
struct FormValues {
  std::int64_t first = 0, count = 0;
  bool is_reduced =
      false;  ///< By a reduction's index: its result may lie one before the first, or beyond the last.
};

/// Cells of a count at most; where there are more, less is known of the place.
inline constexpr std::int64_t most_cells = 1 << 22;

/// The operations of a system by their place, where `space` has a form of the indices for each grid dimension. Each runs at
/// least so many cycles, in the PE that the dimensions tell, whatever else a schedule says.
/// Throws ScheduleError for a form of other names (CYC310), or none (CYC314).
[[nodiscard]] std::vector<Count> operations_by_place(const recurrence::System& system,
                                                     const machine::Machine& machine,
                                                     const std::vector<std::string>& space);

/// The values of each form, which say what a fold shares out; none where no points have its indices.
/// Throws as `operations_by_place`.
[[nodiscard]] std::vector<std::optional<FormValues>> values_along(const recurrence::System& system,
                                                                  const std::vector<std::string>& space);

/// The operators point by point, each with its least cycles; none where the system has more than `most` points, or chains
/// that are too long to follow.
[[nodiscard]] std::optional<recurrence::OperationGraph> operation_graph(const recurrence::System& system,
                                                                        const machine::Machine& machine,
                                                                        std::int64_t most);

}  // namespace cyclotron::driver
