// Sums that travel are received when all terms that a PE adds are there.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Computes the terms that loops add to a value from another PE before that is received, and keeps them, where memory has
/// room: in each PE the value then waits for additions alone. Terms that take no operator of their own stay where they are,
/// as on machines whose memories take time.
/// Requires: verify(program) but for addresses. Ensures: the same; all values as before, in every bit; messages of each
/// class keep their order.
[[nodiscard]] program::Program terms_first(const program::Program& program);

}  // namespace cyclotron::codegen
