// How many channels the PEs use: routers have so many and no more.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Throws CapacityError CYC504 where the PEs of a class use more channels than the machine has; names the class, both
/// numbers and the channels.
void require_channels(const program::Program& program);

}  // namespace cyclotron::memory
