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

/// How a run ended in which the channels of a set became deeper where it blocked.
struct Attempt {
  std::optional<ChannelDepths> passes;  ///< With these depths.
  bool least = true;  ///< Each step was forced: no channel of the set can be less, whatever the others are.
  Channels blocked_by{};  ///< Where it blocks: one of these has to be deeper, too.
};

constexpr std::int64_t any_places = std::numeric_limits<std::int64_t>::max();

class Search {
 public:
  Search(const program::Program& program, const ChannelDepths& given, std::int64_t steps,
         const Progress& progress)
      : given_(given),
        least_(given),
        steps_left_(steps),
        pulse_(progress),
        array_(program),
        blocked_(array_, given) {
    std::map<std::string_view, std::uint32_t> first;
    for (std::uint32_t channel = 0; channel < given.size(); ++channel) {
      first_.push_back(first.emplace(program.channels[channel].name, channel).first->second);
      least_[first_.back()] = std::min(least_[first_.back()], given[channel]);
    }
    goes_through(blocked_);
  }

  DepthAdvice advice() {
    DepthAdvice result = uniform();
    if (!result.waits_for_ever && result.uniform_passes) result.changes = fewest_channels();
    return result;
  }

 private:
  /// One depth for all: where a circle waits for places, one of its queues has to be deeper.
  DepthAdvice uniform() {
    DepthAdvice result;
    std::int64_t& depth = result.uniform = std::ranges::min(given_);
    MessageRun run = blocked_;
    while (!goes_through(run)) {
      if (steps_left_ == 0) {
        result.uniform_passes = false;
        break;
      }
      for (const WaitCircle& circle : find_circles(run.waits())) {
        result.waits_for_ever = no_depth_helps(circle);
        if (result.waits_for_ever) return result;
        std::int64_t shallowest = std::numeric_limits<std::int64_t>::max();
        for (const Wait& wait : circle.waits) {
          if (wait.full) shallowest = std::min(shallowest, wait.depth);
        }
        depth = std::max(depth, shallowest + 1);
      }
      ChannelDepths each = given_;
      for (std::int64_t& own : each) own = std::max(own, depth);
      run.deepen(std::move(each));
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
        Attempt attempt = grow(least_, channels, fewer);
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
  Attempt grow(ChannelDepths depths, const Channels& channels, std::int64_t most) {
    Attempt result;
    MessageRun run = blocked_;
    run.deepen(expanded(depths));
    while (!goes_through(run)) {
      if (steps_left_ == 0) return {};
      std::set<std::uint32_t> too_shallow;
      for (const WaitCircle& circle : find_circles(run.waits())) {
        Channels full = full_channels(circle);
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
  ChannelDepths lowered(const Channels& channels, ChannelDepths depths) {
    for (const std::uint32_t channel : channels) {
      ChannelDepths lower = depths;
      lower[channel] = least_[channel];
      if (auto attempt = grow(std::move(lower), {channel}, any_places); attempt.passes)
        depths = *std::move(attempt.passes);
    }
    return depths;
  }

  [[nodiscard]] std::vector<DepthChange> changes_of(const Channels& channels,
                                                    const ChannelDepths& depths) const {
    std::vector<DepthChange> result;
    for (const std::uint32_t channel : channels) {
      std::int64_t needed = depths[channel];
      for (std::uint32_t other = 0; other < given_.size(); ++other) {
        if (first_[other] == channel) needed = std::max(needed, given_[other]);
      }
      result.push_back({channel, least_[channel], needed});
    }
    return result;
  }

  /// Of every channel, from those that stand for all of a name.
  [[nodiscard]] ChannelDepths expanded(const ChannelDepths& depths) const {
    ChannelDepths result = given_;
    for (std::size_t c = 0; c < result.size(); ++c) result[c] = std::max(result[c], depths[first_[c]]);
    return result;
  }

  static std::int64_t places(const std::vector<DepthChange>& changes) {
    return std::accumulate(changes.begin(), changes.end(), std::int64_t{0},
                           [](auto sum, const auto& change) { return sum + change.needed - change.given; });
  }

  /// To look for circles takes steps, too: else there would be no end to attempts that get nowhere.
  bool goes_through(MessageRun& run) {
    constexpr std::int64_t steps_of_a_search = 1024;
    const bool passes = run.run(steps_left_, pulse_);
    steps_left_ = std::max<std::int64_t>(0, steps_left_ - steps_of_a_search - array_.pes().count());
    return passes;
  }

  const ChannelDepths& given_;
  std::vector<std::uint32_t> first_;  ///< By channel: the first of its name.
  ChannelDepths least_;               ///< By the first of a name: the least of them that is given.
  std::int64_t steps_left_;
  Pulse pulse_;
  MessageArray array_;
  MessageRun blocked_;  ///< With the depths that are given: deeper queues go on from there.
};

}  // namespace

DepthAdvice advise_depths(const program::Program& program, const ChannelDepths& given,
                          std::int64_t step_limit, const Progress& progress) {
  return Search(program, given, step_limit, progress).advice();
}

}  // namespace cyclotron::runtime::simulator
