// Products of a matrix with its transpose of which one triangle is needed.
#pragma once
#include "code.hpp"

namespace cyclotron::runtime {

/// Marks with `operators::lower` each step of the syrk family of whose result nobody reads what is above the
/// diagonal, since in the end only factorisations, which read the lower half, use it. What is above is undefined
/// then. The flag of a step that is read whole is cleared.
void mark_lower_triangles(Code& code);

}  // namespace cyclotron::runtime
