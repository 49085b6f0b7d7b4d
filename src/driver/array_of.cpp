#include "array_of.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

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

schedule::Placements placements_on_line(const recurrence::System& system, const machine::Machine& machine) {
  const auto line = machine::line_of(machine);
  if (!line) return {};
  auto result = schedule::placements(system, line->grid);
  for (auto* placements :
       {&result.defaults, &result.others, &result.reordered, &result.in_trees, &result.dealt}) {
    std::erase_if(*placements, [](const schedule::Placement& placement) {
      return schedule::is_on_one_pe(placement.schedule);
    });
    for (auto& placement : *placements) placement.schedule.is_serpentine = true;
  }
  return result;
}

}  // namespace cyclotron::driver
