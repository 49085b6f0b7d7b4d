#include "default_placements.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include <cyclotron/poly/effort.hpp>

namespace cyclotron::driver {

namespace {

/// Of the dimensions of a machine's grid, as large as can be where it sets no limit; empty where it has any number.
std::vector<std::int64_t> extents_of(const machine::Machine& machine) {
  if (!machine.grid.empty()) return machine.grid;
  return std::vector(machine::dimensions(machine).value_or(0), std::numeric_limits<std::int64_t>::max());
}

/// Operations of integer sets, other than those of what was tried before: as many as a whole analysis may take.
constexpr unsigned long most_operations_of_estimates = 40'000'000;

schedule::Placements placements_on(const recurrence::System& system, const machine::Machine& machine,
                                   Array array) {
  const poly::EffortBudget budget(most_operations_of_estimates);
  if (array == Array::grid) return schedule::placements(system, extents_of(machine));
  const auto line = machine::line_of(machine);
  return line ? schedule::placements(system, line->grid) : schedule::Placements{};
}

}  // namespace

schedule::Placements default_placements(const recurrence::System& system, const machine::Machine& machine,
                                        Array array, const std::vector<std::string>& descending) {
  if (array == Array::either) {
    auto result = default_placements(system, machine, Array::grid, descending);
    auto on_line = default_placements(system, machine, Array::line, descending);
    std::ranges::move(on_line.defaults, std::back_inserter(result.others));
    for (const auto list :
         {&schedule::Placements::others, &schedule::Placements::reordered, &schedule::Placements::in_trees,
          &schedule::Placements::dealt, &schedule::Placements::narrower})
      std::ranges::move(on_line.*list, std::back_inserter(result.*list));
    return result;
  }
  auto result = placements_on(system, machine, array);
  for (auto* placements : {&result.defaults, &result.others, &result.reordered, &result.in_trees,
                           &result.dealt, &result.narrower}) {
    if (array == Array::line) {
      std::erase_if(*placements, [](const schedule::Placement& placement) {
        return schedule::is_on_one_pe(placement.schedule);
      });
    }
    for (auto& placement : *placements) {
      auto& schedule = placement.schedule;
      schedule.is_serpentine = array == Array::line;
      std::ranges::copy_if(
          descending, std::back_inserter(schedule.descending_indices), [&](const std::string& index) {
            return std::ranges::find(schedule.inward_indices, index) == schedule.inward_indices.end() &&
                   std::ranges::find(schedule.reductions, index, &recurrence::Tree::index) ==
                       schedule.reductions.end();
          });
      std::ranges::sort(schedule.descending_indices);
    }
  }
  if (result.defaults.empty() && !result.others.empty()) {
    result.defaults.push_back(std::move(result.others.front()));
    result.others.erase(result.others.begin());
  }
  return result;
}

}  // namespace cyclotron::driver
