// The number of channels that PEs use: routers have so many and no more.
#pragma once
#include <cstdint>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Of the class that uses most, those of the controller included.
[[nodiscard]] std::int64_t most_channels(const program::Program& program);

/// Requires: channels shared as far as they may be (`mapping::share_channels`). Throws CapacityError CYC504 where the PEs
/// of a class use more channels than the machine has; names the class, both numbers and the channels.
void require_channels(const program::Program& program);

}  // namespace cyclotron::memory
