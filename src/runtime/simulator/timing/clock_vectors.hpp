// Sends and receives of many PEs at once, each on its own link.
#pragma once
#include <cstddef>
#include <cstdint>

#include "timed_program.hpp"

namespace cyclotron::runtime::simulator {

/// Clocks of PEs, which are all so many cycles ahead of `now`.
struct Clocks {
  std::int64_t* now = nullptr;
  std::int64_t ahead = 0;
  std::size_t count = 0;
};

/// Each PE sends once its link is free and, where `left` are the departures of the messages whose places these take, once it
/// sees that. The clocks become the times of sending; what they waited is added to `stalls`.
void send(const Clocks& clocks, const TimedChannel& channel, const std::int64_t* left, std::int64_t* stalls,
          std::int64_t* link_free, std::int64_t* arrivals);

/// Each PE receives once its message is there. The clocks become, and arrivals are replaced by, the times of departure.
void receive(const Clocks& clocks, std::int64_t* times);

/// Messages that were sent no later than earlier ones of their links left or, if they have not left, came: so many links held more
/// messages than ever.
[[nodiscard]] std::size_t count_rises(const std::int64_t* earlier, const std::int64_t* arrivals,
                                      std::int64_t delay, std::size_t count);

/// True where no sender would have to wait for these departures.
[[nodiscard]] bool have_seen(const std::int64_t* departures, std::int64_t response,
                             const std::int64_t* link_free, std::size_t count);

}  // namespace cyclotron::runtime::simulator
