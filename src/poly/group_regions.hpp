// Private to this folder: regions that can share a loop nest.
#pragma once
#include <vector>

#include <cyclotron/poly/loops.hpp>

namespace cyclotron::poly::detail {

/// Regions with the same statements within their own points: they share a loop nest.
struct RegionGroup {
  std::vector<Set> statements;  ///< Without what the first region says.
  Set parameters;               ///< A superset of all its regions, by affine constraints.
  std::vector<std::size_t> regions;
  bool is_plain = false;  ///< No statement names parameters: `parameters` are those of the first region.
};

/// The parameters as the first coordinates of points with times.
[[nodiscard]] Set with_times(const Set& parameters, std::size_t times);

/// Puts each region with statements in one group.
[[nodiscard]] std::vector<RegionGroup> group_regions(const std::vector<Region>& regions, std::size_t times);

}  // namespace cyclotron::poly::detail
