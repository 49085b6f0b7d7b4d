// PEs that run the same statements.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Projects every statement on the grid and intersects: each non-empty cell is a class, in the order of the grid.
/// Requires: make_statements. Ensures: `classes` partition the PEs that run any statement.
[[nodiscard]] Mapping make_classes(const Mapping& mapping);

}  // namespace cyclotron::mapping
