// Equations that read elements of several strides, as one for each.
#pragma once
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Splits readings: if elements of one stride have an equation (`u[2i] = a[i]`, `u[2i+1] = b[i]`), an equation that
/// reads them at every index (`y[i] = u[i]`) becomes one for each remainder: `y[2i] = u[2i]`, `y[2i+1] = u[2i+1]`. Then
/// the point that made an element is an affine function of the point that reads it.
///
/// Requires: verify(system). Ensures: the same values. Indices of reductions stay whole, and so does the system where
/// the equations would become more than a few dozen: what is read across strides there, lowering refuses.
[[nodiscard]] System split_strides(const System& system);

}  // namespace cyclotron::recurrence
