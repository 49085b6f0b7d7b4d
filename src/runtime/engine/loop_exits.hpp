// Which loops of a run have ended early, and where: known to all PEs of a process.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/endings.hpp>

#include "kernels/kernels.hpp"

namespace cyclotron::runtime {

class LoopEnds {
 public:
  explicit LoopEnds(const std::vector<program::Ending>& endings)
      : endings_(endings), at_(std::make_unique<std::atomic<std::int64_t>[]>(endings.size())) {
    for (std::size_t e = 0; e < endings.size(); ++e) at_[e] = program::Ended::never;
  }

  /// Iterations that a PE leaves out whose flag is false in iteration `at`. Throws KernelFailure CYC707 where another one
  /// left out others: no flag of one loop says so.
  std::int64_t leave(std::uint32_t ending, std::int64_t at) {
    const std::int64_t skipped = skipped_from(ending, at);
    if (skipped <= 0) return 0;
    std::int64_t known = program::Ended::never;
    if (!at_[ending].compare_exchange_strong(known, at, std::memory_order_relaxed) && known != at) {
      throw KernelFailure{
          "CYC707",
          fmt::format("the loop over `{}` ends after {} = {} here and after {} = {} elsewhere",
                      endings_[ending].loop, endings_[ending].loop, at, endings_[ending].loop, known),
          "compile the kernel again"};
    }
    return skipped;
  }

  /// By ending. After the run.
  [[nodiscard]] std::vector<program::Ended> ends() const {
    std::vector<program::Ended> result;
    for (std::uint32_t e = 0; e < endings_.size(); ++e) {
      const std::int64_t at = at_[e].load(std::memory_order_relaxed);
      result.push_back({at, at == program::Ended::never ? 0 : skipped_from(e, at)});
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t skipped_from(std::uint32_t ending, std::int64_t at) const {
    const auto& [loop, steps, first, last, period] = endings_[ending];
    return at < first ? 0 : (last - at) / period * period;
  }

  const std::vector<program::Ending>& endings_;
  std::unique_ptr<std::atomic<std::int64_t>[]> at_;
};

}  // namespace cyclotron::runtime
