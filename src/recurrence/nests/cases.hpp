// Private to this folder: the cases in which the readings of a statement have one source each.
#pragma once
#include <vector>

#include "last_writes.hpp"

namespace cyclotron::recurrence::detail {

/// Points of a statement, and the source of each of its readings there. None: the reading is to get a tensor
/// of its own, which is what it reads at every point.
struct Case {
  poly::Set points;
  std::vector<const Source*> sources;
};

/// Disjoint cases that make up the domain. Readings inside reductions whose source depends on the reduced
/// index have none; nor has any with several, where the cases would become many.
[[nodiscard]] std::vector<Case> cases_of(const poly::Set& domain, const std::vector<Read>& reads);

}  // namespace cyclotron::recurrence::detail
