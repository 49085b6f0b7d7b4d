// The time that MPI ranks will take for a program, by simulating them.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime {

/// Assignment of PEs to ranks or threads.
struct Dealing {
  std::vector<std::uint32_t> owners;  ///< The rank of each PE, last grid dimension fastest. Where it is
                                      ///< empty each rank has a block of PEs, as on the mpi backend.
  std::uint32_t ranks = 1;
  std::uint32_t cores = 1;  ///< That the ranks share: so many compute at a time.
};

/// The work of one rank. Words are elements of whatever dtype.
struct RankTiming {
  std::int64_t busy = 0;  ///< Cycles that it computes.
  std::int64_t words_sent = 0;
  std::int64_t words_received = 0;
  std::int64_t messages = 0;  ///< Sent; a broadcast is one to each rank.
};

struct Prediction {
  std::int64_t cycles = 0;  ///< Until the last PE is done.
  std::vector<RankTiming> ranks;
};

/// As a timing-only `simulate`, but for what PEs of one rank share. A rank computes for one PE at a time, the one that
/// came first; its PEs hand each other messages in no time. Messages to other ranks leave one after the other, each
/// keeping the rank's network busy as it would a link; the PE goes on meanwhile. A broadcast goes once to each rank,
/// along a binomial tree: the rank that is nth after the sender has it after floor(log2(n)) + 1 hops. Loads and stores
/// take no time but that of memories, and ranks know by themselves when loops end, at no cost. Shared
/// links, pipelines, ports and units side by side of the machine bind no rank. The smaller tiles at the end of a dimension count as whole ones.
/// Throws ExecutionError CYC733 where the ranks do not fit the PEs, CYC709 where tiles of several sizes share a slot or
/// channel, and as `simulate`.
[[nodiscard]] Prediction predict(const program::Program& program, const Dealing& dealing,
                                 const Progress& progress = {});

}  // namespace cyclotron::runtime
