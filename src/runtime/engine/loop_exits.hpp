// Loops of a run that have ended early, and where, for all PEs of a process.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/exits.hpp>

#include "kernels/kernels.hpp"

namespace cyclotron::runtime {

class LoopExits {
 public:
  explicit LoopExits(const std::vector<program::ExitPlan>& exit_plans)
      : plans_(exit_plans), at_(std::make_unique<std::atomic<std::int64_t>[]>(exit_plans.size())) {
    for (std::size_t e = 0; e < exit_plans.size(); ++e) at_[e] = program::ExitOutcome::never;
  }

  /// Iterations that a PE leaves out whose flag is false in iteration `at`. Throws KernelFailure CYC707 where another one
  /// left out others: no flag of one loop says so.
  std::int64_t leave(std::uint32_t plan, std::int64_t at) {
    const std::int64_t skipped = skipped_from(plan, at);
    if (skipped <= 0) return 0;
    std::int64_t known = program::ExitOutcome::never;
    if (!at_[plan].compare_exchange_strong(known, at, std::memory_order_relaxed) && known != at) {
      throw KernelFailure{
          "CYC707",
          fmt::format("the loop over `{}` ends after {} = {} here and after {} = {} elsewhere",
                      plans_[plan].loop, plans_[plan].loop, at, plans_[plan].loop, known),
          "compile the kernel again"};
    }
    return skipped;
  }

  /// By exit plan. After the run.
  [[nodiscard]] std::vector<program::ExitOutcome> outcomes() const {
    std::vector<program::ExitOutcome> result;
    for (std::uint32_t e = 0; e < plans_.size(); ++e) {
      const std::int64_t at = at_[e].load(std::memory_order_relaxed);
      result.push_back({at, at == program::ExitOutcome::never ? 0 : skipped_from(e, at)});
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t skipped_from(std::uint32_t plan, std::int64_t at) const {
    const auto& [loop, steps, first, last, period] = plans_[plan];
    return at < first ? 0 : (last - at) / period * period;
  }

  const std::vector<program::ExitPlan>& plans_;
  std::unique_ptr<std::atomic<std::int64_t>[]> at_;
};

}  // namespace cyclotron::runtime
