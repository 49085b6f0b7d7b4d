#include "array_of.hpp"

#include <fmt/format.h>

#include <utility>

#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

machine::Machine array_of(const schedule::Schedule& schedule, const machine::Machine& machine) {
  if (!schedule.is_serpentine) return machine;
  if (auto line = machine::line_of(machine)) return std::move(*line);
  throw ScheduleError({.code = "CYC321",
                       .span = {},
                       .message = fmt::format("the schedule is serpentine, and the machine is a {}",
                                              machine::to_string(machine)),
                       .notes = {},
                       .help = "give a machine with a grid of two dimensions and no topology of its own, as "
                               "`cy.Machine(grid=(8, 8))`, or leave `serpentine` out"});
}

}  // namespace cyclotron::driver
