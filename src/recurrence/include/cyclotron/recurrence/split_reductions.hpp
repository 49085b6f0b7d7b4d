// Equations with several reductions become equations with one.
#pragma once
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Gives every reduction but one of each equation a local tensor and an equation of its own, over exactly
/// the points that need it: the second of a quotient of sums, the maximum inside a sum, and the inner sum of
/// a sum over two indices (nested accumulators, E15). The one that stays is the first that reads the
/// equation's own tensor, else the first; so recurrences through a reduction keep their form. A local tensor
/// is a box shifted to its least indices; it lacks the reduction indices that its values do not depend on.
/// Requires: verify(system). Ensures: verify(result), at most one reduction an equation, values and the
/// order of their floating-point operations unchanged; a system without such equations is returned as it is.
[[nodiscard]] System split_reductions(const System& system);

}  // namespace cyclotron::recurrence
