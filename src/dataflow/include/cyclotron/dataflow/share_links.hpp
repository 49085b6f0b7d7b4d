// Values that several points of a PE use, or PEs several hops away: they cross each link once.
#pragma once
#include <cyclotron/dataflow/coordinates.hpp>

namespace cyclotron::dataflow {

/// Passes computed values on from PE to PE along a tree: each PE that uses such a value receives it once, in the step
/// in which it is made, and its points take it from there. A stencil's corner value comes by way of the straight
/// neighbour, which uses it too; of a block of points only those on its border travel, each once to each block.
///
/// What one point of a neighbour alone uses goes straight there, and so do all values that go to neighbours of which
/// one uses some in the step in which they are made; what varies in distance, what is broadcast, and what is further
/// away than `most_hops`.
/// Requires: verify(placed.graph). Ensures: verify(result.graph), transfers of computed values at a constant
/// distance of up to most_hops are of one hop.
[[nodiscard]] Placed share_links(const Placed& placed);

/// Distances over which PEs pass values on one by one: every PE between has a place for those of each distance.
inline constexpr std::int64_t most_hops = 8;

}  // namespace cyclotron::dataflow
