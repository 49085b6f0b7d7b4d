// The longest chain of operators, each of which waits for the one before.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <cyclotron/recurrence/operations.hpp>

namespace cyclotron::recurrence {

/// The cycles of the cheapest of some ways to apply an operator.
using LeastCycles = std::function<std::int64_t(const std::vector<Application>&)>;

/// Cycles of the longest chain of operators through the elements of a system, terms of reductions in their order: no
/// number of PEs is faster. It looks at each point, and so at no more than `most`; none where there are more.
/// Requires: a verified system.
[[nodiscard]] std::optional<std::int64_t> longest_chain(const System& system, const LeastCycles& cycles,
                                                        std::int64_t most);

}  // namespace cyclotron::recurrence
