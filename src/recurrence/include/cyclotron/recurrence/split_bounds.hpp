// Reductions with several upper bounds become reductions with one.
#pragma once
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Splits each equation whose reduction has several upper bounds, none the least everywhere
/// (`range(min(n, i + w))`), into pieces over which one bound is. A reduction without a bound that is affine
/// with coefficient 1 (`2 * k < i`) gets the constant one that holds for all its points.
/// Requires: verify(system), at most one reduction an equation. Ensures: verify(result), every reduction has
/// one least upper bound `k < form`, or one greatest lower bound if it descends; values and their order of operations unchanged.
[[nodiscard]] System split_bounds(const System& system);

}  // namespace cyclotron::recurrence
