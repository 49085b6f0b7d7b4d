#include <cyclotron/memory/control.hpp>

#include <algorithm>
#include <utility>

#include <cyclotron/memory/footprint.hpp>
#include <cyclotron/memory/layout.hpp>
#include <cyclotron/memory/tensors.hpp>
#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/sections.hpp>

namespace cyclotron::memory {
namespace {

using program::Program;

Program laid_out(Program system) {
  system = allocate(std::move(system));
  program::verify(system);
  verify_layout(system);
  return system;
}

/// The response PE that needs most.
std::int64_t most_held(const Program& system) {
  std::int64_t most = 0;
  for (std::size_t c = 0; c < system.classes.size(); ++c) {
    if (system.classes[c].name.starts_with("response"))
      most = std::max(most, footprint(system, c, {}).held.value_or(0));
  }
  return most;
}

/// Of a section: more response PEs have none.
std::int64_t most_calls(const Program& program) {
  std::int64_t most = 0;
  for (const program::Section& section : program::sections(program))
    most = std::max<std::int64_t>(most, std::ssize(section.calls));
  return most;
}

std::int64_t responses(const Program& system) { return system.grid[1] - 2; }

}  // namespace

Program control_system(const Program& program, program::Workers workers) {
  program::ControlPlan plan{.responses = 2, .arguments = argument_words(program)};
  if (!program.machine.pe.holds.empty()) {
    // With a memory that always suffices; its own are all that is asked for.
    Program roomy = program;
    roomy.machine.pe.memory_bytes = std::int64_t{1} << 50;
    std::int64_t useful = program.machine.control.value_or(machine::Control{}).pes - 2;
    useful = std::min(useful, most_calls(program));
    for (;; ++plan.responses) {
      const Program system = allocate(program::control_system(roomy, program::Workers::one, plan));
      plan.responses = std::max(plan.responses, responses(system));
      if (most_held(system) <= program.machine.pe.memory_bytes || plan.responses >= useful) break;
    }
  }
  Program result = program::control_system(program, workers, plan);
  return workers == program::Workers::one ? laid_out(std::move(result)) : result;
}

void require_control(const Program& program) {
  if (!program.machine.pe.holds.empty() && program::uses_controller(program))
    static_cast<void>(memory::control_system(program));
}

}  // namespace cyclotron::memory
