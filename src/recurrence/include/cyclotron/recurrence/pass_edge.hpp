// Words that come and go at an edge of the grid.
#pragma once
#include <optional>
#include <set>
#include <string>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The first or the last value of a loop index: where that is in space, a row or column of PEs.
struct Edge {
  std::string index;
  bool last = false;
};

/// The system in which inputs and outputs of these names are copied at an edge: inputs before elements of them are used
/// elsewhere, outputs once all is computed. Where the elements go in between is for the mapping to say (AS-006, AS-029).
/// Requires: verify(system). Ensures: verify(result); the same outputs. None where no index has the name, or the elements
/// of a tensor are no region.
[[nodiscard]] std::optional<System> pass_edge(const System& system, const std::set<std::string>& tensors,
                                              const Edge& edge);

}  // namespace cyclotron::recurrence
