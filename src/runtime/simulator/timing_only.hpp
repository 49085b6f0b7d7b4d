// A timing-only run, by the engine that can tell the time.
#pragma once
#include <optional>

#include <cyclotron/runtime/runtime.hpp>

#include "timing/controller.hpp"

namespace cyclotron::runtime::simulator {

/// The measurements of a run, without events. None where only the interpreter can tell the time, or what is wrong. Throws
/// DeadlockError, and ExecutionError CYC708 where cycles no longer fit 62 bits. Null `control`: no PE waits for a controller.
/// Requires: program::verify(program).
[[nodiscard]] std::optional<Timing> simulate_time(const program::Program& program, Engine which,
                                                  const Progress& progress,
                                                  const ControlledRun* control = nullptr);

}  // namespace cyclotron::runtime::simulator
