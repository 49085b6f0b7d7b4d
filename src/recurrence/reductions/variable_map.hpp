#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Number of each variable of a scope in the scope that it gets.
using VariableMap = std::vector<std::size_t>;

/// A form over the old scope as one over the new, which has no coefficients after the last that is not zero.
[[nodiscard]] Affine map_variables(const Affine& form, const VariableMap& map);
[[nodiscard]] Region map_variables(Region region, const VariableMap& map);

}  // namespace cyclotron::recurrence
