// Global values on the controller's executive PE (MA-008, MA-051, MA-052).
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Divides the code of the PE that computes the flags of loops that end by data: what only flags, tensors and other such
/// scalars are computed of goes to a class of its own, on the executive (`PeClass::executive`), with its loads and stores.
/// The PE sends the executive the values that it needs, as few as can be, where it has computed them, and receives the flags
/// and whatever else it reads in their places, so that both do in their turns what one did. Flags that PEs would pass on the
/// executive broadcasts to all that have them (MA-054).
/// Requires: verify(program) but for slots' addresses. Ensures: the same, outputs are the same bits, and all other classes
/// are as they were but for such flags. A program without such a PE, on a machine without `Control::global_data` or with link maps
/// or a first dimension that wraps around stays as it is. No memory serves the executive, and its ways are its own beside
/// chiplets.
[[nodiscard]] program::Program hold_global_data(const program::Program& program);

}  // namespace cyclotron::codegen
