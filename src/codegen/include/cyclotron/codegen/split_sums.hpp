// Sums that travel are received when the element that is added to them is there.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Takes the element of a table that an instruction adds to a sum from another PE (`program::Indexed`) before that is
/// received: in each PE the sum waits for an addition alone. An element more takes a cycle longer so; a chain of PEs is left
/// as it is where it has no more links than sums.
/// Requires: verify(program) but for addresses. Ensures: the same; all values as before, in every bit; receives of
/// each class keep their order, and so do sends.
[[nodiscard]] program::Program split_sums(const program::Program& program);

}  // namespace cyclotron::codegen
