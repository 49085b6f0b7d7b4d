// The grid of PEs that a schedule needs.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::mapping {

/// The dims of space and time, and the smallest grid that holds the points of all spaces.
/// Requires: schedule complete, its indices the graph's dims. Throws CapacityError CYC502 where the machine's grid is
/// smaller or has another number of dimensions.
[[nodiscard]] Grid make_grid(const dataflow::Graph& graph, const schedule::Schedule& schedule,
                             const machine::Machine& machine);

}  // namespace cyclotron::mapping
