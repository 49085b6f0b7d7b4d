// A run of time alone: which engine, and what where it cannot tell.
#pragma once
#include <optional>

#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::simulator {

/// What a run measures, without events. None where only the interpreter can tell the time, or what is wrong. Throws
/// DeadlockError, and ExecutionError CYC708 where cycles no longer fit 62 bits. Requires: program::verify(program).
[[nodiscard]] std::optional<Timing> simulate_time(const program::Program& program, Engine which,
                                                  const Progress& progress);

}  // namespace cyclotron::runtime::simulator
