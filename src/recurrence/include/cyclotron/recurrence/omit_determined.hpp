// Indices of blocks that the indices of their elements tell.
#pragma once
#include <functional>
#include <string>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The system without loop indices of which others tell the value, as `i` does of `b` where `b <= i < b + 8` and
/// `b mod 8 == 0`, and which are needed for nothing else than to tell elements of locals apart: neither do these depend on
/// them then. So loops over blocks become loops over the elements in them.
/// Requires: verify(system). Ensures: verify(result); the same outputs. Keeps indices that are to be.
[[nodiscard]] System omit_determined(const System& system,
                                     const std::function<bool(const std::string&)>& is_kept);

}  // namespace cyclotron::recurrence
