// Values that no later step uses, apart from those that do.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Gives the values of a flow that are used within their step alone a flow of their own where the array that holds the
/// others is smaller without them.
/// Requires: statements with their channels; not yet make_classes. Ensures: the same values at the same points.
[[nodiscard]] Mapping split_short_lived(const Mapping& mapping);

}  // namespace cyclotron::mapping
