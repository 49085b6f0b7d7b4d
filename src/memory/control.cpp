#include <cyclotron/memory/control.hpp>

#include <utility>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/memory/tensors.hpp>
#include <cyclotron/program/procedures.hpp>

namespace cyclotron::memory {

using program::Program;

Program control_system(const Program& program, program::Workers workers) {
  Program system = program::control_system(program, workers, argument_words(program));
  if (workers == program::Workers::outside) return system;
  system = allocate(std::move(system));
  program::verify(system);
  verify_layout(system);
  return system;
}

void require_control(const Program& program) {
  if (!program.machine.pe.holds.empty() && program::uses_controller(program))
    static_cast<void>(memory::control_system(program));
}

}  // namespace cyclotron::memory
