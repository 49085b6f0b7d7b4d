// Nested reductions change places.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Does reductions of one kind that are directly nested over the indices in this order: the first is innermost.
/// Requires: verify(system). Ensures: verify(result); without rounding the values are unchanged.
/// Throws ScheduleError CYC318 where no reductions over two of the indices are nested, or the range of one that would be
/// around another depends on that one's index.
[[nodiscard]] System stage_reductions(const System& system, const std::vector<std::string>& indices);

}  // namespace cyclotron::recurrence
