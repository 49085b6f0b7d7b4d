// Normal forms of few tensors: what a loop nest stores on the way becomes the sums that it spells.
#pragma once
#include "normal_form.hpp"

namespace cyclotron::blocking {

/// Puts results where values are read that they are copies of, adds up the steps of accumulators (right-looking and
/// in-place texts become left-looking sums), replaces accumulators by what they are, and joins pieces and terms that
/// one form spells.
/// Ensures: every element that is left has the value that it had, up to rounding.
[[nodiscard]] NormalForm simplify(const System& system, NormalForm form);

/// Joins the terms of a piece, and pieces of a tensor, that are one form on different points.
void join_pieces(const System& system, NormalForm& form, TensorId tensor);

/// Tells whether both factors are the same element at all points: by its name, or as a copy of the other.
[[nodiscard]] bool same_element(const NormalForm& form, const poly::Set& points, const Factor& a,
                                const Factor& b);

}  // namespace cyclotron::blocking
