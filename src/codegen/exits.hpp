// Private to this folder: loops that may end early end where their flags say so.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/codegen/generate.hpp>

namespace cyclotron::codegen::detail {

/// An instruction of a class that puts an element of a flag into a slot.
struct FlagValue {
  std::size_t flag;
  std::size_t instruction;
  program::SlotRef slot;
  program::Affine element;
};

/// Adds EXITs at the ends of loops where all PEs have the flag of the same iteration, and iterations can be left out
/// (`program::range_of`); other loops stay as they are. `values` by class, in the order of the code.
void add_exits(program::Program& program, const std::vector<Flag>& flags,
               const std::vector<std::vector<FlagValue>>& values);

}  // namespace cyclotron::codegen::detail
