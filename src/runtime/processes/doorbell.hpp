// A process wakes another that sleeps, through a word of memory that both have mapped.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace cyclotron::runtime {

/// Anybody rings; its owner alone waits. Whoever rings has first made visible what the ring tells of; who waits
/// reads `rings`, looks for such things, and where there are none sleeps until it is rung again: no ring is lost
/// between the look and the sleep.
class Doorbell {
 public:
  using Rings = std::uint32_t;

  /// Number of times that it was rung, modulo 2^31.
  [[nodiscard]] Rings rings() const { return word_.load(std::memory_order_acquire) >> 1; }
  /// Number of rings that `a` is ahead of `b`, negative where it is behind.
  [[nodiscard]] static std::int32_t ahead(Rings a, Rings b) {
    return static_cast<std::int32_t>((a - b) << 1) / 2;
  }
  void ring();
  /// Sleeps until it was rung since `heard`, at most so long; perhaps less. Where the system has no such sleep it is a
  /// short one.
  void wait(Rings heard, std::chrono::microseconds most);

 private:
  static constexpr std::uint32_t asleep = 1;
  /// Twice the rings, and whether the owner sleeps: who rings asks the system for nothing where it does not.
  std::atomic<std::uint32_t> word_{0};
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "it is shared by processes");
};

}  // namespace cyclotron::runtime
