// Private to this folder: the placement for those who give no schedule.
#pragma once
#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/support/refusal.hpp>

#include "log.hpp"
#include "reorder.hpp"

namespace cyclotron::driver {

/// The program of the placement whose simulated time is least, of as many as a budget allows: the usual defaults until
/// one compiles, then those that an estimate finds better. Of those within 5 % the one on the fewest PEs. Reductions
/// that promise no order have the one that is fastest: the program's system. Where none compiles, the refusal of the
/// first.
[[nodiscard]] Expected<Compiled, Refusal> search_defaults(const Reordered& system,
                                                          const machine::Machine& machine, const Log& log);

}  // namespace cyclotron::driver
