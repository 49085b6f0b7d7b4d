// Private to this folder: the array of PEs that a schedule sees.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::driver {

/// The machine, or of a serpentine schedule the line through its grid. Throws ScheduleError CYC321 where it has none.
[[nodiscard]] machine::Machine array_of(const schedule::Schedule& schedule, const machine::Machine& machine);

}  // namespace cyclotron::driver
