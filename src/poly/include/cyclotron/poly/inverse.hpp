// Integer inverses of affine forms.
#pragma once
#include <optional>
#include <vector>

#include <cyclotron/poly/affine.hpp>

namespace cyclotron::poly {

/// The variables as integer combinations of the values of `forms`: result[v](forms(x)) = x[v] for every x.
/// None where the values do not determine the variables by whole coefficients (too few independent forms, or
/// a lattice with gaps such as i+j, i-j). By Hermite's normal form.
[[nodiscard]] std::optional<std::vector<Affine>> left_inverse(const std::vector<Affine>& forms,
                                                              std::size_t variables);

/// Number of linearly independent forms, constants aside.
[[nodiscard]] std::size_t rank(const std::vector<Affine>& forms);

}  // namespace cyclotron::poly
