// Private to this folder: the placement for those who give no schedule.
#pragma once
#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/support/refusal.hpp>

#include "log.hpp"

namespace cyclotron::driver {

/// The program of the placement whose simulated time is least, of as many as a budget allows: the usual defaults until
/// one compiles, then those that an estimate finds better. Of those within 5 % the one on the fewest PEs. `split` is
/// the system that is compiled. Where none compiles, the refusal of the first.
[[nodiscard]] Expected<Compiled, Refusal> search_defaults(const recurrence::System& system,
                                                          const recurrence::System& split,
                                                          const machine::Machine& machine, const Log& log);

}  // namespace cyclotron::driver
