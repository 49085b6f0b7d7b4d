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

/// The indices of reductions whose first term needs the newest of the values that their equation makes in turn, as in
/// `x[i] = b[i] - sum(A[i, j] * x[j] for j in range(i + 1, n))` with i from n - 1 down: all other terms wait for it.
/// In the order of the equations.
[[nodiscard]] std::vector<std::string> indices_with_newest_first(const System& system);

}  // namespace cyclotron::recurrence
