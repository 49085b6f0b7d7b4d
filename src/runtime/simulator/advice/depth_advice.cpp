#include "depth_advice.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>

namespace cyclotron::runtime::simulator {
namespace {

using Channels = std::vector<std::uint32_t>;  // in order, each once; the first one stands for all of its name
using Depths = std::vector<std::int64_t>;     // by the first channel of a name; 0: its queues keep their own

/// Outcome of a run in which the channels of a set became deeper where it blocked.
struct Attempt {
  std::optional<Depths> passes;  ///< With these depths.
  bool least = true;  ///< Each step was forced: no channel of the set can be less, whatever the others are.
  Channels blocked_by{};  ///< Channels on which it blocks: one of these has to be deeper, too.
};

constexpr std::int64_t any_places = std::numeric_limits<std::int64_t>::max();

class Search {
 public:
  Search(const program::Program& program, std::int64_t steps, const Progress& progress)
      : least_(program.channels.size(), any_places),
        most_(program.channels.size()),
        steps_left_(steps),
        ticker_(progress),
        array_(program),
        blocked_(array_, {}) {
    std::map<std::string_view, std::uint32_t> first;
    for (std::uint32_t channel = 0; channel < program.channels.size(); ++channel) {
      first_.push_back(first.emplace(program.channels[channel].name, channel).first->second);
      const auto [least, most] = array_.pes().wires().depths(channel);
      least_[first_.back()] = std::min(least_[first_.back()], least);
      most_[first_.back()] = std::max(most_[first_.back()], most);
    }
    goes_through(blocked_);
  }

  DepthAdvice advice() {
    DepthAdvice result = uniform();
    if (!result.waits_for_ever && result.uniform_passes) result.changes = fewest_channels();
    return result;
  }

 private:
  /// One depth for all: where a cycle waits for places, one of its queues has to be deeper.
  DepthAdvice uniform() {
    DepthAdvice result;
    std::int64_t& depth = result.uniform = std::ranges::min(least_);
    MessageRun run = blocked_;
    while (!goes_through(run)) {
      if (steps_left_ == 0) {
        result.uniform_passes = false;
        break;
      }
      for (const WaitCycle& cycle : find_wait_cycles(run.waits())) {
        result.waits_for_ever = no_depth_helps(cycle);
        if (result.waits_for_ever) return result;
        std::int64_t shallowest = std::numeric_limits<std::int64_t>::max();
        for (const Wait& wait : cycle.waits) {
          if (wait.full) shallowest = std::min(shallowest, wait.depth);
        }
        depth = std::max(depth, shallowest + 1);
      }
      run.deepen({.given = {}, .least = depth});
    }
    return result;
  }

  /// Sets of channels by their size: where one does not suffice, it lacks one of those that its run is blocked by.
  std::vector<DepthChange> fewest_channels() {
    std::vector<DepthChange> best;
    for (std::set<Channels> sets{{}}; best.empty() && !sets.empty();) {
      std::set<Channels> larger;
      for (const Channels& channels : sets) {
        const std::int64_t fewer = best.empty() ? any_places : places(best) - 1;
        Depths depths(least_.size());
        for (const std::uint32_t channel : channels) depths[channel] = least_[channel];
        Attempt attempt = grow(std::move(depths), channels, fewer);
        if (attempt.passes && !attempt.least) attempt.passes = lowered(channels, *std::move(attempt.passes));
        if (steps_left_ == 0) return best;
        if (attempt.passes) {
          auto changes = changes_of(channels, *attempt.passes);
          if (places(changes) <= fewer) best = std::move(changes);
        }
        for (const std::uint32_t channel : attempt.blocked_by) {
          Channels more = channels;
          more.insert(std::ranges::lower_bound(more, channel), channel);
          larger.insert(std::move(more));
        }
      }
      sets = std::move(larger);
    }
    return best;
  }

  /// Gives up where it is sure to take more places than `most`.
  Attempt grow(Depths depths, const Channels& channels, std::int64_t most) {
    Attempt result;
    MessageRun run = started(depths);
    while (!goes_through(run)) {
      if (steps_left_ == 0) return {};
      std::set<std::uint32_t> too_shallow;
      for (const WaitCycle& cycle : find_wait_cycles(run.waits())) {
        Channels full = full_channels(cycle);
        for (std::uint32_t& channel : full) channel = first_[channel];
        std::ranges::sort(full);
        full.erase(std::ranges::unique(full).begin(), full.end());
        std::optional<std::uint32_t> shallowest;
        for (const std::uint32_t channel : full) {
          if (!std::ranges::binary_search(channels, channel)) continue;
          result.least = result.least && !shallowest;
          if (!shallowest || depths[channel] < depths[*shallowest]) shallowest = channel;
        }
        if (!shallowest) return {.passes = {}, .blocked_by = full};
        too_shallow.insert(*shallowest);
      }
      most -= static_cast<std::int64_t>(too_shallow.size());
      if (most < 0 && result.least) return {};
      for (const std::uint32_t channel : too_shallow) ++depths[channel];
      run.deepen(expanded(depths));
    }
    result.passes = std::move(depths);
    return result;
  }

  /// Each as shallow as the others allow.
  Depths lowered(const Channels& channels, Depths depths) {
    for (const std::uint32_t channel : channels) {
      Depths lower = depths;
      lower[channel] = least_[channel];
      if (auto attempt = grow(std::move(lower), {channel}, any_places); attempt.passes)
        depths = *std::move(attempt.passes);
    }
    return depths;
  }

  [[nodiscard]] std::vector<DepthChange> changes_of(const Channels& channels, const Depths& depths) const {
    std::vector<DepthChange> result;
    for (const std::uint32_t channel : channels)
      result.push_back({channel, least_[channel], depths[channel]});
    return result;
  }

  /// A run goes on from where that with the queues' own depths blocks, unless one of them has to be shallower now.
  [[nodiscard]] MessageRun started(const Depths& depths) const {
    for (std::size_t c = 0; c < depths.size(); ++c) {
      if (depths[c] > 0 && depths[c] < most_[c]) return {array_, expanded(depths)};
    }
    MessageRun result = blocked_;
    result.deepen(expanded(depths));
    return result;
  }

  /// Of every channel, from those that stand for all of a name.
  [[nodiscard]] QueueDepths expanded(const Depths& depths) const {
    QueueDepths result;
    for (const std::uint32_t first : first_) result.given.push_back(depths[first]);
    return result;
  }

  static std::int64_t places(const std::vector<DepthChange>& changes) {
    return std::accumulate(changes.begin(), changes.end(), std::int64_t{0},
                           [](auto sum, const auto& change) { return sum + change.needed - change.given; });
  }

  /// To look for cycles takes steps, too: else there would be no end to attempts that get nowhere.
  bool goes_through(MessageRun& run) {
    constexpr std::int64_t steps_of_a_search = 1024;
    const bool passes = run.run(steps_left_, ticker_);
    steps_left_ = std::max<std::int64_t>(0, steps_left_ - steps_of_a_search - array_.pes().count());
    return passes;
  }

  std::vector<std::uint32_t> first_;  ///< By channel: the first of its name.
  Depths least_;                      ///< By the first of a name: the least of its queues.
  Depths most_;                       ///< By the first of a name: the deepest of its queues.
  std::int64_t steps_left_;
  ProgressTicker ticker_;
  MessageArray array_;
  MessageRun blocked_;  ///< With the queues' own depths: deeper ones go on from there.
};

}  // namespace

DepthAdvice advise_depths(const program::Program& program, std::int64_t step_limit,
                          const Progress& progress) {
  return Search(program, step_limit, progress).advice();
}

}  // namespace cyclotron::runtime::simulator
