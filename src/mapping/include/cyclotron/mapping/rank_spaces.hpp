// The order of spaces within one step of a PE.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Ranks the spaces of a step: those that hand values over within it come before those that use them.
/// Requires: graph and grid. Ensures: `ranks` and `rounds` of every space. Throws LegalityError CYC221 where two spaces
/// need each other's values in one PE and step.
[[nodiscard]] Mapping rank_spaces(const Mapping& mapping);

}  // namespace cyclotron::mapping
