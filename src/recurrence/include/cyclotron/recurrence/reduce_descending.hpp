// Reductions from the last value of their index to the first.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Makes every reduction over one of the indices run from the highest value of its index to the lowest.
/// Requires: verify(system). Ensures: verify(result); without rounding the values are unchanged.
/// Throws ScheduleError CYC318 where no reduction is over an index.
[[nodiscard]] System reduce_descending(const System& system, const std::vector<std::string>& indices);

}  // namespace cyclotron::recurrence
