// The channels and classes of a program for timing-only runs, where links may differ from PE to PE.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include <cyclotron/program/wires.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

struct TimedWires {
  struct Channel {
    std::size_t source = 0;  ///< The program's channel.
    const machine::Link* link = nullptr;
    std::int64_t latency_cycles = 1;
  };
  std::vector<Channel> channels;
  std::vector<Code> codes;  ///< By class; ports name the channels here.
  /// As `program::Program::class_map`, of these classes.
  std::vector<std::uint32_t> class_map;
  /// Of each channel of the program, by the distance to the receiver less 1, the channel here of a network's queue;
  /// empty where that is the channel itself.
  std::vector<std::vector<std::uint32_t>> by_distance;
};

/// One channel for each link of each channel, and one class for all PEs of a class whose ports are on the same links:
/// so what a run looks up at each message are constants, wherever the links lie. Linear in the grid.
/// Requires: a code for each class. Throws ExecutionError CYC705 where the grid has too many PEs.
[[nodiscard]] TimedWires time_wires(const program::Program& program, std::vector<Code> codes);

}  // namespace cyclotron::runtime::simulator
