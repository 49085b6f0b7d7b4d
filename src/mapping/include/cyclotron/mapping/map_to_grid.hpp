// The orchestration of the mapping: one pass after the other.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::mapping {

/// Maps a graph to the grid of PEs that the schedule says.
/// Requires: dataflow::verify(graph), schedule complete. Throws LegalityError: CYC220 for a hop the
/// machine's links do not make, CYC221 for a value needed before it is made (with both points), CYC222
/// where messages would overtake each other; CapacityError CYC502 where the grid is larger than the
/// machine's.
[[nodiscard]] Mapping map_to_grid(dataflow::Graph graph, const schedule::Schedule& schedule,
                                  const machine::Machine& machine);

}  // namespace cyclotron::mapping
