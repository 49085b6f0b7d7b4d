// Why a run does not go on: PEs that wait for each other in a circle, or one that waits for a PE that is done.
#pragma once
#include <vector>

#include "simulation.hpp"

namespace cyclotron::runtime::simulator {

struct WaitCircle {
  std::vector<Wait> waits;  ///< Each for the next and the last for the first; else the one that ends a chain.
  bool closed = false;      ///< Whether it is a circle.
};

/// What each waiting PE waits for in the end, each once, the circles first, by the numbers of the PEs. The PEs of a
/// circle go on only where a full queue in it becomes deeper: each would have to go on before itself. Requires:
/// `waits` is what `Simulation::waits` tells, not empty.
[[nodiscard]] std::vector<WaitCircle> find_circles(const std::vector<Wait>& waits);

/// The channels that are full in it, each once, in order. Where there is none, no depth helps.
[[nodiscard]] std::vector<std::uint32_t> full_channels(const WaitCircle& circle);

}  // namespace cyclotron::runtime::simulator
