// Private to this folder: which regions can share a loop nest.
#pragma once
#include <vector>

#include <cyclotron/poly/loops.hpp>

namespace cyclotron::poly::detail {

/// Regions with the same statements, as far as the points of each go.
struct Family {
  std::vector<Set> statements;  ///< Without what the first region says.
  Set parameters;               ///< A superset of all its regions, by affine constraints.
  std::vector<std::size_t> regions;
};

/// The parameters as the first coordinates of points with times.
[[nodiscard]] Set with_times(const Set& parameters, std::size_t times);

/// Each region with statements is in one family.
[[nodiscard]] std::vector<Family> families_of(const std::vector<Region>& regions, std::size_t times);

}  // namespace cyclotron::poly::detail
