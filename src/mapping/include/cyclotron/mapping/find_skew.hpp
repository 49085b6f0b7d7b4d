// The distance in time that PEs have to keep for all of them to take each step together.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <cyclotron/mapping/dependences.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// The smallest skew of the loops of time from `first` on with which no value is used in a step before that in which it
/// is made; none where no constant one is found.
/// Requires: make_grid; dependences of the mapping's graph.
[[nodiscard]] std::optional<Skew> find_skew(const Mapping& mapping,
                                            const std::vector<Dependence>& dependences, std::size_t first);

}  // namespace cyclotron::mapping
