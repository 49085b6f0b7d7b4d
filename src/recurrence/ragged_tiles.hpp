// Private to this folder: the shapes of tiles where the last ones of a tensor are smaller.
#pragma once
#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Checks the shapes of tiles at every point of an equation, the last tiles of each dimension included, which may be
/// smaller than the others, as far as inputs and outputs tell them. Requires: the shapes of the largest tiles fit.
/// Throws ShapeError CYC206 naming operator, operands and a point where they do not.
void check_ragged_tiles(const System& system, const Equation& equation, const poly::Set& domain);

}  // namespace cyclotron::recurrence
