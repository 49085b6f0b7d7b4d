// The check that PEs' memories hold what they have to, and the most that lives at once.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Bytes while they live.
struct Stay {
  const Lifetime* live;
  std::int64_t bytes;
};
/// The instruction at which stays take most, and how much that is. Sizes may be beyond any machine.
struct Peak {
  std::size_t at = 0;
  double bytes = 0;
};
[[nodiscard]] Peak find_peak(const std::vector<Stay>& stays);

/// Requires: memory is laid out. Throws CapacityError CYC501 where a class needs more memory than a PE has, and names what
/// lives where most does, and the code and the queues where the memory holds them; CYC504 as `require_channels`.
void require_capacity(const program::Program& program);

}  // namespace cyclotron::memory
