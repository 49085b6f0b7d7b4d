#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Where each variable of a scope is in the scope that it gets.
using Places = std::vector<std::size_t>;

/// A form over the old scope as one over the new, which has no coefficients after the last that is not zero.
[[nodiscard]] Affine carried(const Affine& form, const Places& places);
[[nodiscard]] Region carried(Region region, const Places& places);

}  // namespace cyclotron::recurrence
