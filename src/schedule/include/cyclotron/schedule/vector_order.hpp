// Orders of loops on one PE whose innermost one runs in vectors.
#pragma once
#include <set>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::schedule {

/// The indices, outermost first, with one innermost along which nothing is computed from another element, where the last one of
/// the text is that of a sum or of values each of which is computed from the one before it. Terms are added in the same order
/// for each element, and those of several elements take turns. None where the text's order is as good, or no index is such.
/// An order of sums may be refused: what they read may be computed in the loops that they go through now.
/// Requires: verify(system).
[[nodiscard]] std::vector<std::string> vector_order(const recurrence::System& system,
                                                    const std::set<std::string>& sums);

}  // namespace cyclotron::schedule
