#include "wait_circle.hpp"

#include <algorithm>

namespace cyclotron::runtime::simulator {

std::vector<WaitCircle> find_circles(const std::vector<Wait>& waits) {
  const auto count = static_cast<std::uint32_t>(waits.size());
  std::vector<std::uint32_t> position(std::size_t{waits.back().pe} + 1, count);  // by PE
  for (std::uint32_t n = 0; n < count; ++n) position[waits[n].pe] = n;
  const auto next = [&](std::uint32_t n) {
    return waits[n].peer < position.size() ? position[waits[n].peer] : count;
  };
  std::vector<WaitCircle> circles, ends;
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
      WaitCircle& circle = circles.emplace_back(WaitCircle{{}, true});
      std::uint32_t n = at;
      do {
        circle.waits.push_back(waits[n]);
        n = next(n);
      } while (n != at);
    }
  }
  circles.insert(circles.end(), ends.begin(), ends.end());
  return circles;
}

bool no_depth_helps(const WaitCircle& circle) { return std::ranges::none_of(circle.waits, &Wait::full); }

std::vector<std::uint32_t> full_channels(const WaitCircle& circle) {
  std::vector<std::uint32_t> result;
  for (const Wait& wait : circle.waits) {
    if (wait.full && std::ranges::find(result, wait.channel) == result.end()) result.push_back(wait.channel);
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
