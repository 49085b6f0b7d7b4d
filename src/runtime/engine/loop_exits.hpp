// Loops of a run that have ended early, and where, for all PEs of a process.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/exits.hpp>

#include "kernels/kernels.hpp"

namespace cyclotron::runtime {

class LoopExits {
 public:
  explicit LoopExits(const std::vector<program::ExitPlan>& exit_plans)
      : plans_(exit_plans),
        ended_(exit_plans.size()),
        times_(exit_plans.size(), 0),
        skipped_(exit_plans.size(), 0) {}

  /// Iterations that a PE leaves out in a run of the loop whose flag is false in iteration `at`. Throws KernelFailure CYC707
  /// where another one left out others, and may not: no flag of one loop says so.
  std::int64_t leave(std::uint32_t plan, std::uint32_t run, std::int64_t at) {
    const std::int64_t skipped = skipped_from(plan, at);
    if (skipped <= 0) return 0;
    const std::scoped_lock lock(mutex_);
    if (plans_[plan].per_pe) {
      skipped_[plan] += skipped;
      return skipped;
    }
    const auto [known, is_new] = ended_[plan].try_emplace(run, at);
    if (!is_new && known->second != at) {
      throw KernelFailure{
          "CYC707",
          fmt::format("the loop over `{}` ends after {} = {} here and after {} = {} elsewhere",
                      plans_[plan].loop, plans_[plan].loop, at, plans_[plan].loop, known->second),
          "compile the kernel again"};
    }
    return skipped;
  }

  /// Notes that a PE has ended so many runs of a loop, one more than before.
  void count(std::uint32_t plan, std::uint32_t runs) {
    const std::scoped_lock lock(mutex_);
    times_[plan] = plans_[plan].per_pe ? times_[plan] + 1 : std::max<std::int64_t>(times_[plan], runs);
  }

  /// By exit plan. After the run.
  [[nodiscard]] std::vector<program::ExitOutcome> outcomes() const {
    std::vector<program::ExitOutcome> result;
    for (std::uint32_t e = 0; e < plans_.size(); ++e) {
      program::ExitOutcome& outcome =
          result.emplace_back(program::ExitOutcome{.times = times_[e], .skipped = skipped_[e]});
      for (const auto& [run, at] : ended_[e]) outcome.runs.push_back({run, at, skipped_from(e, at)});
    }
    return result;
  }

 private:
  [[nodiscard]] std::int64_t skipped_from(std::uint32_t plan, std::int64_t at) const {
    const program::ExitPlan& own = plans_[plan];
    return at < own.first ? 0 : (own.last - at) / own.period * own.period;
  }

  const std::vector<program::ExitPlan>& plans_;
  std::mutex mutex_;
  std::vector<std::map<std::uint32_t, std::int64_t>> ended_;  // By exit plan and run: in which iteration.
  std::vector<std::int64_t> times_;                           // By exit plan.
  std::vector<std::int64_t> skipped_;                         // By exit plan, of those per PE.
};

}  // namespace cyclotron::runtime
