// Values that several points of one PE use, on folded grids: they come to the first of these points, and leave it.
#pragma once
#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow {

/// Lets the first of a PE's points that share a value receive it, and hand it on in the PE's own order, where they would
/// take it from later points of the PE (a value that comes from the far end of a folded line) or other PEs would, which
/// then wait for a whole block. From PE to PE it goes from first point to first point, once. Other operands are left as
/// they are.
///
/// Requires: verify(placed.graph). Ensures: verify(result.graph), the same values at the same points.
[[nodiscard]] Placed receive_at_first_use(Placed placed);

}  // namespace cyclotron::dataflow
