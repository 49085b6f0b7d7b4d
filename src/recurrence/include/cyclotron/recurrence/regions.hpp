// Questions about points that a kernel's text asks before there is a system.
#pragma once
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/poly/set.hpp>

namespace cyclotron::recurrence {

/// True where some point has others of the set on both sides along one variable, and is not in it.
[[nodiscard]] bool has_gap(const poly::Set& points, std::size_t variable);

/// The elements of a tensor that none of the equations assigns.
[[nodiscard]] poly::Set unassigned(const poly::Context& context, const Tensor& tensor,
                                   const std::vector<Equation>& equations);

}  // namespace cyclotron::recurrence
