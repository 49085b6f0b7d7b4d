// Reductions run from both ends of an index's range to its middle.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Makes every reduction over one of the indices two: in ascending order over the values up to the middle, and
/// in descending order over those beyond, combined in this order. The middle is that of all values that the
/// index takes anywhere in the system, so that where the index is space all totals meet there. A reduction
/// that lies on one side of it remains one, towards the middle.
/// Requires: verify(system). Ensures: verify(result); without rounding the values are unchanged.
/// Throws ScheduleError CYC318 where no reduction is over an index, or a maximum or minimum lies on one side of
/// the middle at some points and on both at others.
[[nodiscard]] System reduce_inwards(const System& system, const std::vector<std::string>& indices);

/// The indices whose reductions do not mind the order of their terms: they promise none, or are exact, as those of whole
/// numbers are. In the order of the equations.
[[nodiscard]] std::vector<std::string> indices_in_any_order(const System& system);

}  // namespace cyclotron::recurrence
