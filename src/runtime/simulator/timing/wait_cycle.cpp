#include "wait_cycle.hpp"

#include <algorithm>

namespace cyclotron::runtime::simulator {

std::vector<WaitCycle> find_wait_cycles(const std::vector<Wait>& waits) {
  const auto count = static_cast<std::uint32_t>(waits.size());
  std::vector<std::uint32_t> position(std::size_t{waits.back().pe} + 1, count);  // by PE
  for (std::uint32_t n = 0; n < count; ++n) position[waits[n].pe] = n;
  const auto next = [&](std::uint32_t n) {
    return waits[n].peer < position.size() ? position[waits[n].peer] : count;
  };
  std::vector<WaitCycle> cycles, ends;
  std::vector<std::uint32_t> seen_from(count, count);
  for (std::uint32_t start = 0; start < count; ++start) {
    std::uint32_t at = start, last = start;
    for (; at < count && seen_from[at] == count; at = next(at)) {
      seen_from[at] = start;
      last = at;
    }
    if (at == count) {
      ends.push_back({{waits[last]}, false});
    } else if (seen_from[at] == start) {
      WaitCycle& cycle = cycles.emplace_back(WaitCycle{{}, true});
      std::uint32_t n = at;
      do {
        cycle.waits.push_back(waits[n]);
        n = next(n);
      } while (n != at);
    }
  }
  cycles.insert(cycles.end(), ends.begin(), ends.end());
  return cycles;
}

bool no_depth_helps(const WaitCycle& cycle) { return std::ranges::none_of(cycle.waits, &Wait::full); }

std::vector<std::uint32_t> full_channels(const WaitCycle& cycle) {
  std::vector<std::uint32_t> result;
  for (const Wait& wait : cycle.waits) {
    if (wait.full && std::ranges::find(result, wait.channel) == result.end()) result.push_back(wait.channel);
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
