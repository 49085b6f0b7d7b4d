#include "controller.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::simulator {
namespace {

/// The exit plans of a class.
std::set<std::size_t> plans_of(const program::PeClass& pe_class) {
  std::set<std::size_t> result;
  for (const auto& instruction : pe_class.code) {
    if (const auto* exit = std::get_if<program::Exit>(&instruction.action)) result.insert(exit->plan.index());
  }
  return result;
}

}  // namespace

Controller::Controller(const program::Program& program, const std::vector<std::uint32_t>& grid_index) {
  if (!program::uses_controller(program)) return;
  control_ = *program.machine.control;
  for (const std::uint32_t index : grid_index) hops_.push_back(program::hops_to_control(program, index));
  stalled_.resize(grid_index.size());
  called_.resize(grid_index.size());
  std::vector<std::set<std::size_t>> exit_plans;
  for (const auto& pe_class : program.classes) exit_plans.push_back(plans_of(pe_class));
  for (const auto& plan : program.exit_plans)
    loops_.push_back({.first = plan.first,
                      .last = plan.last,
                      .sections = {},
                      .waiting = {},
                      .passed = std::vector<std::int64_t>(grid_index.size(), 0)});
  const auto classes = program.class_map();
  for (std::uint32_t o = 0; o < grid_index.size(); ++o) {
    for (const std::size_t e : exit_plans[classes[grid_index[o]]]) {
      Loop& loop = loops_[e];
      if (loop.pes++ == 0 || hops_[o] < hops_[loop.nearest]) loop.nearest = o;
    }
  }
}

bool Controller::pass(std::uint32_t ordinal, std::uint32_t plan, std::int64_t iteration, std::int64_t& now,
                      const Wake& wake) {
  Loop& loop = loops_[plan];
  const bool decides = iteration >= loop.first && iteration <= loop.last;
  called_[ordinal] = decides ? 1 : 0;
  if (!decides) return true;  // all PEs know that it goes on
  const std::int64_t number = loop.passed[ordinal] - loop.done;
  if (ordinal == loop.nearest) {
    const std::int64_t told = now + hops_[ordinal] * control_.hop_cycles;
    loop.sections.push_back({told + control_.latency_cycles, loop.pes});
    for (const std::uint32_t other : std::exchange(loop.waiting, {})) wake(other);
  }
  if (number >= std::ssize(loop.sections)) {
    loop.waiting.push_back(ordinal);
    return false;
  }
  CYC_CHECK(number >= 0, "a PE comes to each section once");
  Section& section = loop.sections[static_cast<std::size_t>(number)];
  const std::int64_t arrival = section.left + hops_[ordinal] * control_.hop_cycles;
  const std::int64_t starts = std::max(now, arrival);
  stalled_[ordinal] += starts - std::exchange(now, starts);
  --section.expected;
  ++loop.passed[ordinal];
  while (!loop.sections.empty() && loop.sections.front().expected == 0) {
    loop.sections.pop_front();
    ++loop.done;
  }
  return true;
}

}  // namespace cyclotron::runtime::simulator
