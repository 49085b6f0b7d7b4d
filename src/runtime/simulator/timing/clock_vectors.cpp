#include "clock_vectors.hpp"

#include <algorithm>

#include "../../engine/cycles.hpp"

namespace cyclotron::runtime::simulator {

void send(const Clocks& clocks, const TimedChannel& channel, const std::int64_t* left, std::int64_t* stalls,
          std::int64_t* link_free, std::int64_t* arrivals) {
  const std::int64_t ahead = clocks.ahead, response = channel.response;
  if (left != nullptr) {
    for (std::size_t n = 0; n < clocks.count; ++n) link_free[n] = std::max(link_free[n], left[n] + response);
  }
  for (std::size_t n = 0; n < clocks.count; ++n) {
    const std::int64_t ready = clocks.now[n] + ahead;
    const std::int64_t sent = std::max(ready, link_free[n]);
    stalls[n] += sent - ready;
    clocks.now[n] = sent;
    link_free[n] = sent + channel.transfer;
    arrivals[n] = sent + channel.delay;
  }
}

void receive(const Clocks& clocks, std::int64_t* times) {
  for (std::size_t n = 0; n < clocks.count; ++n) {
    const std::int64_t time = std::max(clocks.now[n] + clocks.ahead, times[n]);
    clocks.now[n] = time;
    times[n] = time;
  }
}

std::size_t count_rises(const std::int64_t* earlier, const std::int64_t* arrivals, std::int64_t delay,
                        std::size_t count) {
  std::int64_t result = 0;
  for (std::size_t n = 0; n < count; ++n) result += earlier[n] >= arrivals[n] - delay ? 1 : 0;
  return static_cast<std::size_t>(result);
}

bool have_seen(const std::int64_t* departures, std::int64_t response, const std::int64_t* link_free,
               std::size_t count) {
  std::int64_t most = -latest;
  for (std::size_t n = 0; n < count; ++n) most = std::max(most, departures[n] - link_free[n]);
  return most + response <= 0;
}

}  // namespace cyclotron::runtime::simulator
