// The links of a custom machine as a relation between PEs, whatever the size of the grid.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/poly/set.hpp>

namespace cyclotron::mapping {

/// The pairs of sender and receiver that a machine's link maps join, in its own grid or, where it is of any size, in
/// one of these extents. Throws ShapeError CYC404 where a link leads out of the machine's own grid, CYC405 where two
/// PEs send over one link (TL-046).
[[nodiscard]] poly::Map links_between(const poly::Context& context, const machine::Machine& machine,
                                      const std::vector<std::int64_t>& extents);

/// Checks the link maps of a machine whose grid is given; throws as `links_between`.
void verify_link_maps(const machine::Machine& machine);

}  // namespace cyclotron::mapping
