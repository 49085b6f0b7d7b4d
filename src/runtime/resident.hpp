// Programs whose tensors stay in the PEs' memories.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::runtime {

/// The same program, of which these tensors, by number, are resident; without the values of constants, which arrays have.
[[nodiscard]] program::Program with_resident(const program::Program& program,
                                             const std::vector<std::size_t>& tensors);

/// The program's STOREs of an output alone, each of an element that is resident.
[[nodiscard]] program::Program stores_alone(const program::Program& program, std::size_t output);

}  // namespace cyclotron::runtime
