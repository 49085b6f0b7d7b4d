// Private to this folder: the error of a compilation that found no candidate.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/refusal.hpp>

namespace cyclotron::driver {

/// Throws the refusal's error, with help where a change of the schedule is known to mend it.
[[noreturn]] void refuse(const Refusal& refusal, const recurrence::System& system,
                         const schedule::Schedule& schedule, const machine::Machine& machine);

}  // namespace cyclotron::driver
