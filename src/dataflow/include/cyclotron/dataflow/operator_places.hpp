// The coordinates of operators before any schedule is compiled: along indices that their equations lack, too.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/recurrence/operation_graph.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::dataflow {

/// The operators of a graph where some indices are the dimensions of the grid.
struct OperatorPlaces {
  std::vector<std::int64_t> coordinates;  ///< A row for each node.
  std::vector<std::int64_t> first, last;  ///< Of all points of the equations, along each dimension.
  bool operator==(const OperatorPlaces&) const = default;
};

/// The equations that `lower` gets, of one reduction each; none where that depends on the schedule. `system` is the
/// kernel's, with its reductions in some order.
/// Requires: verify(system), verify(kernel).
[[nodiscard]] std::optional<recurrence::System> equations_to_lower(const recurrence::System& system,
                                                                   const recurrence::System& kernel);

/// The coordinates that `lower` gives, each time with another place of the points of equations that lack an index.
/// Nodes that no schedule keeps at a point have `unknown` ones.
/// Requires: `system` as `equations_to_lower` returns it, and its graph; `space` has indices, or 0 for one PE.
/// Throws as `lower` does.
[[nodiscard]] std::vector<OperatorPlaces> operator_places(const recurrence::System& system,
                                                          const recurrence::OperationGraph& graph,
                                                          const std::vector<std::string>& space,
                                                          std::int64_t unknown);

}  // namespace cyclotron::dataflow
