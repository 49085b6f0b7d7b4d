#include "depth_advice.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

namespace cyclotron::runtime::simulator {
namespace {

using Channels = std::vector<std::uint32_t>;  // in order, each once

/// How a run ended in which the channels of a set became deeper where it blocked.
struct Attempt {
  std::optional<ChannelDepths> passes;  ///< With these depths; that of one channel is the least.
  Channels blocked_by;                  ///< Else: one of these has to be deeper, too.
};

class Search {
 public:
  Search(const program::Program& program, const ChannelDepths& given, std::int64_t steps,
         const Progress& progress)
      : program_(program), given_(given), steps_left_(steps), progress_(progress) {}

  DepthAdvice advice() {
    DepthAdvice result = uniform();
    if (result.for_ever.waits.empty() && result.uniform_passes) result.changes = fewest_channels();
    return result;
  }

 private:
  /// One depth for all: where a circle waits for places, one of its queues has to be deeper.
  DepthAdvice uniform() {
    DepthAdvice result;
    std::int64_t& depth = result.uniform = std::ranges::min(given_);
    Simulation<false> run = simulation(given_);
    while (!goes_through(run)) {
      if (steps_left_ == 0) {
        result.uniform_passes = false;
        break;
      }
      const std::vector<Wait> waits = run.waits();
      for (WaitCircle& circle : find_circles(waits)) {
        std::int64_t shallowest = std::numeric_limits<std::int64_t>::max();
        for (const Wait& wait : circle.waits) {
          if (wait.full) shallowest = std::min(shallowest, wait.depth);
        }
        if (shallowest == std::numeric_limits<std::int64_t>::max()) {
          result.for_ever = std::move(circle);
          result.waiting = waits.size();
          return result;
        }
        depth = std::max(depth, shallowest + 1);
      }
      for (std::uint32_t channel = 0; channel < given_.size(); ++channel) {
        if (given_[channel] < depth) run.deepen(channel, depth);
      }
    }
    return result;
  }

  /// Sets of channels by their size: where one does not suffice, it lacks one of those that its run is blocked by.
  std::vector<DepthChange> fewest_channels() {
    std::vector<DepthChange> best;
    for (std::set<Channels> sets{{}}; best.empty() && !sets.empty();) {
      std::set<Channels> larger;
      for (const Channels& channels : sets) {
        const Attempt attempt = grow(given_, channels);
        if (attempt.passes) {
          auto changes = changes_of(channels, *attempt.passes);
          if (best.empty() || places(changes) < places(best)) best = std::move(changes);
        }
        if (steps_left_ == 0) return best;
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

  Attempt grow(ChannelDepths depths, const Channels& channels) {
    Simulation<false> run = simulation(depths);
    while (!goes_through(run)) {
      if (steps_left_ == 0) return {};
      std::set<std::uint32_t> too_shallow;
      for (const WaitCircle& circle : find_circles(run.waits())) {
        const Channels full = full_channels(circle);
        std::optional<std::uint32_t> shallowest;
        for (const std::uint32_t channel : full) {
          if (!std::ranges::binary_search(channels, channel)) continue;
          if (!shallowest || depths[channel] < depths[*shallowest]) shallowest = channel;
        }
        if (!shallowest) return {.passes = {}, .blocked_by = full};
        too_shallow.insert(*shallowest);
      }
      for (const std::uint32_t channel : too_shallow) run.deepen(channel, ++depths[channel]);
    }
    return {.passes = std::move(depths), .blocked_by = {}};
  }

  /// Each as shallow as the others allow.
  std::vector<DepthChange> changes_of(const Channels& channels, ChannelDepths depths) {
    for (const std::uint32_t channel : channels) {
      if (channels.size() == 1) break;
      ChannelDepths lower = depths;
      lower[channel] = given_[channel];
      if (auto attempt = grow(std::move(lower), {channel}); attempt.passes)
        depths = *std::move(attempt.passes);
    }
    std::vector<DepthChange> result;
    for (const std::uint32_t channel : channels)
      result.push_back({channel, given_[channel], depths[channel]});
    return result;
  }

  static std::int64_t places(const std::vector<DepthChange>& changes) {
    return std::accumulate(changes.begin(), changes.end(), std::int64_t{0},
                           [](auto sum, const auto& change) { return sum + change.needed - change.given; });
  }

  [[nodiscard]] Simulation<false> simulation(const ChannelDepths& depths) const {
    return Simulation<false>(program_, {}, {.event_limit = 0, .depths = depths, .step_limit = steps_left_},
                             progress_);
  }

  bool goes_through(Simulation<false>& run) {
    const std::int64_t before = run.steps();
    const bool passes = run.run();
    steps_left_ = std::max<std::int64_t>(0, steps_left_ - (run.steps() - before));
    return passes;
  }

  const program::Program& program_;
  const ChannelDepths& given_;
  std::int64_t steps_left_;
  const Progress& progress_;
};

}  // namespace

DepthAdvice advise_depths(const program::Program& program, const ChannelDepths& given,
                          std::int64_t step_limit, const Progress& progress) {
  return Search(program, given, step_limit, progress).advice();
}

}  // namespace cyclotron::runtime::simulator
