// The error of a deadlock: who waits for whom, and which depth would let it pass.
#pragma once
#include <vector>

#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/error.hpp>

#include "../timing/wait_cycle.hpp"

namespace cyclotron::runtime::simulator {

/// The error of a run in which no PE could go on: the cycle of waits, and the least change of depths that lets it
/// pass (`advise_depths`). Where no depth helps, the cycle is one that deeper channels lead to. Requires: `waits` is not empty.
[[nodiscard]] DeadlockError deadlock_error(const program::Program& program, const std::vector<Wait>& waits,
                                           const Progress& progress);

/// Simulates a program that is known to block, and throws its DeadlockError. Where a run stops does not
/// depend on the host: only on the program and the depths, none of which is less than `least_depth`.
[[noreturn]] void throw_deadlock(program::Program program, std::int64_t least_depth,
                                 const Progress& progress);

}  // namespace cyclotron::runtime::simulator
