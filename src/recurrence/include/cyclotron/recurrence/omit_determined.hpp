// Indices of blocks that the indices of their elements tell.
#pragma once
#include <functional>
#include <string>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The system without the loop indices of which others tell the value, as `i` does of `b` where `b <= i < b + 8` and
/// `b mod 8 == 0`, where no value is computed from that of another one's: nor have locals a dimension for them then. So
/// loops over blocks become loops over the elements in them. Indices stay for which `is_kept`.
/// Requires: verify(system). Ensures: verify(result); the same outputs.
[[nodiscard]] System omit_determined(const System& system,
                                     const std::function<bool(const std::string&)>& is_kept);

}  // namespace cyclotron::recurrence
