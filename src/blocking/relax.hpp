// Sets without what the ends of their axes say.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::blocking {

/// A set with few constraints whose points inside of the box of these extents are those of `points`. Where axes are so
/// short that a triangle is one point, a triangle: what an index of its own says is said of its distance to others.
[[nodiscard]] poly::Set relax(const poly::Set& points, const std::vector<std::int64_t>& extents);

}  // namespace cyclotron::blocking
