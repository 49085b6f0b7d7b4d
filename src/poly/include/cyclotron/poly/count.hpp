// The number of points of a set, by the values of some of its coordinates.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::poly {

/// Numbers over a box, the last coordinate fastest.
struct Counts {
  std::vector<std::int64_t> first;    ///< Of each coordinate, the least value.
  std::vector<std::int64_t> extents;  ///< And how many.
  std::vector<std::int64_t> values;
};

/// Exactly how many points of a bounded set have each value of its first `kept` coordinates, where those are no more than
/// `most` values: trip counts of a loop nest over the set, in closed form where no bound varies with the loop, so that
/// boxes cost as much as their kept coordinates. None where there are more values, or no such nest.
[[nodiscard]] std::optional<Counts> count_points(const Set& set, std::size_t kept, std::int64_t most);

}  // namespace cyclotron::poly
