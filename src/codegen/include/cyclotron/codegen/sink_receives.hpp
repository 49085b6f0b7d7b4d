// Private to this folder: sums that travel are received when their next term is there.
#pragma once
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen::detail {

/// Moves the receive of an accumulator behind the computations and moves that follow it and do not touch it, which make
/// its next term: a sum that travels from PE to PE waits in each for one operator rather than for all of its term.
/// Receives, sends, loads and stores keep their order.
void receive_late(std::vector<program::Instruction>& code);

}  // namespace cyclotron::codegen::detail
