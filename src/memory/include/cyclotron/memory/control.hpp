// The control system in memories of PEs (MA-020, MA-025, MA-106, MA-108, MA-141).
#pragma once
#include <cyclotron/program/control_system.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// As `program::control_system`, whose calls tell `argument_words`. With a worker it is laid out and verified.
/// Throws CapacityError CYC501 where a PE of its row needs more memory than there is.
[[nodiscard]] program::Program control_system(const program::Program& program,
                                              program::Workers workers = program::Workers::one);

/// Throws as `control_system`, where the program uses a controller and the memory of PEs holds more than values.
void require_control(const program::Program& program);

}  // namespace cyclotron::memory
