// A condition that tells early of points that no order of steps serves.
#pragma once
#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::mapping {

/// True where all that stays in a PE is made before it is used, with each space in its part of the steps of the loops
/// before `level`. Every mapping of points so distributed needs that, whatever ways values from other PEs take.
[[nodiscard]] bool is_locally_ordered(const dataflow::Placed& points, std::size_t level,
                                      const std::vector<std::int64_t>& parts);

}  // namespace cyclotron::mapping
