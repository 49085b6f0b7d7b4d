// Runs a program on the ranks of a communicator.
#pragma once
#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <cyclotron/runtime/loop_settings.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "distributed.hpp"
#include "profile.hpp"

namespace cyclotron::runtime::mpi {

/// A rank's tensors: an array for each, or its tiles.
struct Tensors {
  Arrays arrays;  ///< Of a distributed tensor only the strides are looked at.
  DistributedTensors distributed;
};

struct Options {
  bool shared_outputs =
      false;  ///< Each rank writes what its PEs store and no more: all have mapped one memory, or keep parts.
  bool share_memory = true;  ///< Ranks of one computer lend each other tiles instead of sending them.
  /// Distribution of the PEs over the ranks; else each rank has a block of them in the order of the grid.
  std::optional<BlockCyclic> dealt{};
  std::int64_t event_limit = 0;  ///< Of each rank; see `Events`.
  LoopSettings loops{};
};

/// Collective over `communicator`: every rank passes the same program, inputs of the same values, and the same
/// tensors distributed. Output arrays are complete on every rank afterwards; distributed ones stay where they
/// were computed. Same bits as `simulate`; channels are not bounded. Returns the account of each rank. What a
/// rank throws, every rank throws, with the rank's number. Where no rank can go on, all throw DeadlockError.
/// `make_tensors` reads the program and may throw as well.
std::vector<Account> run_mpi(std::string_view program_bytes, MPI_Comm communicator,
                             const std::function<Tensors(const program::Program&)>& make_tensors,
                             const Options& options, const Progress& progress);

}  // namespace cyclotron::runtime::mpi
