// Private to this folder: the equations that a schedule makes of the kernel's.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "log.hpp"

namespace cyclotron::driver {

/// The system with its reductions in the order of the schedule, and the same with one reduction an equation, which is
/// compiled.
struct Reordered {
  recurrence::System system;
  recurrence::System split;
};

/// Both are verified where they differ from `system`, which is.
/// Throws ScheduleError CYC318 where the schedule's order is none of the system's reductions.
[[nodiscard]] Reordered reorder(const recurrence::System& system, const schedule::Schedule& schedule,
                                const machine::Machine& machine, Log& log);

}  // namespace cyclotron::driver
