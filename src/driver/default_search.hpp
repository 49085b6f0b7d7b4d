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
/// one compiles, then those that an estimate finds better; of those within 5 % the one on the fewest PEs. Where that
/// promises much more, on a line through the rows of the grid, too. Reductions that promise no order have the one that is
/// fastest: the program's system. Where none compiles, the refusal of the first. A warning says where a refused placement, or
/// a sum of the text in another order, would be much faster.
[[nodiscard]] Expected<Compiled, Refusal> search_defaults(const Reordered& system,
                                                          const machine::Machine& machine, const Log& log);

}  // namespace cyclotron::driver
