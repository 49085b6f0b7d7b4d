// Private to this folder: directions along which an access reads one element.
#pragma once
#include <cyclotron/poly/set.hpp>

namespace cyclotron::recurrence::detail {

/// A basis of the directions in the domain's affine hull along which all forms are constant: smallest integers,
/// lexicographically positive. Empty where every point reads an element of its own.
[[nodiscard]] std::vector<std::vector<std::int64_t>> reuse_directions(const poly::Set& domain,
                                                                      const std::vector<poly::Affine>& forms);

}  // namespace cyclotron::recurrence::detail
