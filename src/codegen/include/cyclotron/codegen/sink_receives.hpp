// Sums that travel are received when their next term is there.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Moves the receive of an accumulator behind the computations and moves that follow it and do not touch it, which make
/// its next term: a sum that travels from PE to PE waits in each for one operator rather than for all of its term.
/// Ensures: receives, sends, loads and stores of each class keep their order.
[[nodiscard]] program::Program sink_receives(const program::Program& program);

}  // namespace cyclotron::codegen
