// The reason why a run does not go on: PEs that wait for each other in a cycle, or for a PE that is done.
#pragma once
#include <cstdint>
#include <vector>

#include "../../engine/pe_array.hpp"

namespace cyclotron::runtime::simulator {

/// Reason for which a PE cannot go on.
struct Wait {
  std::uint32_t pe = PeArray::none;    ///< Grid index.
  std::uint32_t peer = PeArray::none;  ///< Of the PE that it waits for; none: there is no such PE.
  std::uint32_t channel = 0;
  std::uint32_t instruction = 0;  ///< Index into the class's code.
  std::int64_t depth = 0;         ///< Of the queue.
  std::int64_t cycle = 0;         ///< 0 where no time is kept.
  bool full = false;              ///< Else empty.
};

struct WaitCycle {
  std::vector<Wait> waits;  ///< Each for the next and the last for the first; else the one that ends a chain.
  bool closed = false;      ///< It is a cycle; else a chain.
};

/// The waits that hold up all others, each once, the cycles first, by the numbers of the PEs. The PEs of a
/// cycle go on only where a full queue in it becomes deeper: each would have to go on before itself. Requires:
/// not empty, one entry a PE that is not done, in order.
[[nodiscard]] std::vector<WaitCycle> find_wait_cycles(const std::vector<Wait>& waits);

/// Tells whether none of its waits is for a place: it waits for messages that are never sent.
[[nodiscard]] bool no_depth_helps(const WaitCycle& cycle);

/// The channels that are full in it, each once, in order.
[[nodiscard]] std::vector<std::uint32_t> full_channels(const WaitCycle& cycle);

}  // namespace cyclotron::runtime::simulator
