// Private to this folder: the choices that a schedule leaves open, tried in turn.
#pragma once
#include <optional>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/refusal.hpp>

#include "log.hpp"

namespace cyclotron::driver {

/// The first candidate that compiles, of those of the schedule, or of the defaults of `system` without one. `split` is
/// the system that is compiled. Where none does, the refusal of the first, which says most: it is the one that the user
/// means, or the most parallel one.
[[nodiscard]] Expected<Compiled, Refusal> search(const recurrence::System& system,
                                                 const recurrence::System& split,
                                                 const std::optional<schedule::Schedule>& schedule,
                                                 const machine::Machine& machine, const Log& log);

/// Throws the refusal's error, with help where a change of the schedule is known to mend it.
[[noreturn]] void refuse(const Refusal& refusal, const recurrence::System& system,
                         const schedule::Schedule& schedule, const machine::Machine& machine);

}  // namespace cyclotron::driver
