#pragma once
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The indices that reductions of the system's equations are over, each once, in the order of the equations.
[[nodiscard]] std::vector<std::string> reduced_indices(const System& system);

/// Throws ScheduleError CYC318 where no reduction is over the index. `what` says what is wanted of those over it:
/// "the schedule reduces inwards over `k`".
void require_reduction(const System& system, const std::string& index, const std::string& what);

}  // namespace cyclotron::recurrence
