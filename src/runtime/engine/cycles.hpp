// Clock cycles: how long a message takes a link, and how long a run may take.
#pragma once
#include <cstdint>

#include "code.hpp"

namespace cyclotron::runtime {

/// A time that leaves room for the sums of a step.
inline constexpr std::int64_t latest = std::int64_t{1} << 61;

/// ExecutionError CYC708.
[[noreturn]] void too_long();

/// value += times * (value - before), exactly. Throws ExecutionError CYC708.
void repeat(std::int64_t& value, std::int64_t before, std::int64_t times);

/// Cycles that a message keeps its link busy.
[[nodiscard]] inline std::int64_t transfer_cycles(TileSize size, const machine::Link& link) {
  const std::int64_t words = size.words();
  return (words + link.words_per_cycle - 1) / link.words_per_cycle;
}

}  // namespace cyclotron::runtime
