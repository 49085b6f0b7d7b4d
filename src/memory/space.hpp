// A memory or a register file while slots are placed in it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/memory/lifetimes.hpp>

namespace cyclotron::memory {

/// Beyond any machine. Sizes and places stop growing here, so that sums never overflow.
inline constexpr std::int64_t beyond = std::int64_t{1} << 61;

/// Places from `first` to before `end`.
struct Gap {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

/// Owners of each address over time. Refers to the lifetimes.
class Space {
 public:
  explicit Space(const std::vector<Lifetime>& live) : live_(&live) {}

  /// Ranges that nobody has while the slot lives, in order; the last one has no end.
  [[nodiscard]] std::vector<Gap> gaps(std::size_t slot) const;

  /// Gives a slot, which has no other, `size` places from `first` on.
  void take(std::size_t slot, std::int64_t first, std::int64_t size);

  /// Of all that was ever taken.
  [[nodiscard]] std::int64_t end() const { return end_; }

 private:
  struct Taken {
    std::int64_t first;
    std::int64_t end;
    std::size_t slot;
  };
  const std::vector<Lifetime>* live_;
  std::vector<Taken> taken_;  // By place.
  std::int64_t end_ = 0;
};

/// The first multiple of `alignment` with so much room in the part of the gap within `bounds`.
[[nodiscard]] std::optional<std::int64_t> fit(const Gap& gap, std::int64_t size, std::int64_t alignment,
                                              const Gap& bounds = {0, 2 * beyond});

/// The first of those within `bounds`.
[[nodiscard]] std::optional<std::int64_t> first_fit(const std::vector<Gap>& gaps, std::int64_t size,
                                                    std::int64_t alignment, const Gap& bounds);

/// In the smallest gap that has room: the one without an end only where no other has.
[[nodiscard]] std::int64_t best_fit(const std::vector<Gap>& gaps, std::int64_t size, std::int64_t alignment);

}  // namespace cyclotron::memory
