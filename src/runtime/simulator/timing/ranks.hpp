// Ranks that PEs are dealt out to: each computes for one of its PEs at a time, and sends one message at a time.
//
// PEs are served in the order in which they ask, by their clocks. A request may only be served when no earlier one can
// still come: that is so for the earliest of all once no PE can go on, since what a PE does after it was served is no
// earlier than that.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include <cyclotron/runtime/predict.hpp>

namespace cyclotron::runtime::simulator {

class Ranks {
 public:
  /// `owners`: by ordinal of a PE. Requires: each is below `ranks`, and there is a core.
  Ranks(std::vector<std::uint32_t> owners, std::uint32_t ranks, std::uint32_t cores);

  [[nodiscard]] std::uint32_t of(std::uint32_t ordinal) const { return owners_[ordinal]; }

  // Each tells when the PE's rank does what it comes to at `now`, and nullopt where that is not known yet: the PE then
  // waits until `grant` wakes it, and asks again.
  std::optional<std::int64_t> compute(std::uint32_t ordinal, std::int64_t now, std::int64_t cycles) {
    return turn(2 * owners_[ordinal], ordinal, now, cycles);
  }
  std::optional<std::int64_t> send(std::uint32_t ordinal, std::int64_t now, std::int64_t cycles) {
    return turn(2 * owners_[ordinal] + 1, ordinal, now, cycles);
  }
  /// Counts a message from the PE's rank to another one.
  void count(std::uint32_t ordinal, std::uint32_t to, std::int64_t words);

  /// Serves the earliest request; false where there is none. Requires: no PE can go on.
  template <class Wake>
  bool grant(Wake wake) {
    const std::optional<std::uint32_t> ordinal = serve_first();
    if (ordinal) wake(*ordinal);
    return ordinal.has_value();
  }

  [[nodiscard]] const std::vector<RankTiming>& timings() const { return timings_; }

 private:
  static constexpr std::int64_t none = -1;
  struct Request {
    std::int64_t at = 0;
    std::uint32_t ordinal = 0;
    std::int64_t cycles = 0;
    bool operator>(const Request& other) const {
      return at != other.at ? at > other.at : ordinal > other.ordinal;
    }
  };
  template <class T>
  using Earliest = std::priority_queue<T, std::vector<T>, std::greater<>>;
  /// A rank's processor (even) or its network (odd).
  struct Resource {
    std::int64_t free = 0;
    std::int64_t next = none;  ///< Its entry in `next_`; others of it are out of date.
    Earliest<Request> requests{};
  };

  std::optional<std::int64_t> turn(std::uint32_t resource, std::uint32_t ordinal, std::int64_t now,
                                   std::int64_t cycles);
  std::optional<std::uint32_t> serve_first();
  /// Cycle at which it could serve its first request. Requires: it has one.
  [[nodiscard]] std::int64_t start_of(std::uint32_t resource) const;
  void enqueue(std::uint32_t resource);

  std::vector<std::uint32_t> owners_;
  std::vector<std::int64_t> granted_;  // By ordinal, when; or none.
  std::vector<Resource> resources_;
  Earliest<std::int64_t> cores_free_;
  Earliest<std::pair<std::int64_t, std::uint32_t>>
      next_;  // Resources with requests, by times that may have passed.
  std::vector<RankTiming> timings_;
};

}  // namespace cyclotron::runtime::simulator
