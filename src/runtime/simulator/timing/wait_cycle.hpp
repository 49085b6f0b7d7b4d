// Why a run does not go on: PEs that wait for each other in a circle, or one that waits for a PE that is done.
#pragma once
#include <cstdint>
#include <vector>

#include "../pe_array.hpp"

namespace cyclotron::runtime::simulator {

/// Why a PE cannot go on.
struct Wait {
  std::uint32_t pe = PeArray::none;    ///< Grid index.
  std::uint32_t peer = PeArray::none;  ///< Of the PE that it waits for; none: there is no such PE.
  std::uint32_t channel = 0;
  std::uint32_t instruction = 0;  ///< Index into the class's code.
  std::int64_t depth = 0;         ///< Of the queue.
  std::int64_t cycle = 0;         ///< 0 where no time is kept.
  bool full = false;              ///< Else empty.
};

struct WaitCircle {
  std::vector<Wait> waits;  ///< Each for the next and the last for the first; else the one that ends a chain.
  bool closed = false;      ///< Whether it is a circle.
};

/// What each waiting PE waits for in the end, each once, the circles first, by the numbers of the PEs. The PEs of a
/// circle go on only where a full queue in it becomes deeper: each would have to go on before itself. Requires:
/// not empty, one entry a PE that is not done, in order.
[[nodiscard]] std::vector<WaitCircle> find_circles(const std::vector<Wait>& waits);

/// Whether none of its waits is for a place: it waits for messages that are never sent.
[[nodiscard]] bool no_depth_helps(const WaitCircle& circle);

/// The channels that are full in it, each once, in order.
[[nodiscard]] std::vector<std::uint32_t> full_channels(const WaitCircle& circle);

}  // namespace cyclotron::runtime::simulator
