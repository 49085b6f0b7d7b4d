// A timing-only run at one moment, and what has happened since: nothing, something, or a whole number of times the
// same (a period), which can then be skipped.
//
// Times obey max-plus equations: each is a maximum of earlier times, each plus a constant. Where all of a PE's times
// have moved on by the same number of cycles and its loops by whole iterations that take the same steps, everything
// repeats, shifted, for as long as those loops go on.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "../timing/timed_array.hpp"

namespace cyclotron::runtime::simulator {

/// Repetition since a snapshot.
struct Period {
  std::int64_t repeats = 0;  ///< Times that what has happened since will happen again; 0: it need not.
  bool outer = false;        ///< A loop went on that holds another one in which a PE is.
};

class Snapshot {
 public:
  explicit Snapshot(const TimedArray& array);

  [[nodiscard]] Period period(const TimedArray& array) const;

  /// Lets it happen so many times at once. Requires: times <= period(array).repeats. Returns the cycles skipped: those of
  /// the PE that moved on most. Throws ExecutionError CYC708.
  std::int64_t skip(TimedArray& array, std::int64_t times) const;

 private:
  struct PeMark {
    std::int64_t now;
    std::int64_t stall_full;
    std::uint32_t counter;
  };
  struct QueueMark {
    std::int64_t link_free;
    std::uint32_t mask;
    std::uint32_t sent;
    std::uint32_t received;
  };
  [[nodiscard]] Period period(const TimedArray& array, std::uint32_t ordinal) const;
  [[nodiscard]] MemoryPorts::Progress progress(const TimedArray& array, std::uint32_t ordinal,
                                               const Period& period) const;
  [[nodiscard]] bool shifted(const TimedArray& array, std::size_t number) const;
  [[nodiscard]] bool ports_shifted(const TimedArray& array, std::uint32_t ordinal) const;
  [[nodiscard]] std::vector<std::int64_t> shifts(const TimedArray& array) const;
  [[nodiscard]] std::int64_t shift(const TimedArray& array, std::uint32_t ordinal) const {
    return array.state().pes[ordinal].now - pes_[ordinal].now;
  }

  std::vector<PeMark> pes_;
  std::vector<QueueMark> queues_;
  std::vector<std::int64_t> registers_;
  std::vector<std::int64_t> times_;
  std::vector<std::int64_t> port_free_;
  std::vector<std::int64_t> messages_;
  // Where sends and receives are recorded: how many of each PE, and the messages of each queue that were skipped.
  std::vector<std::int64_t> recorded_, skipped_;
  std::optional<MemoryPorts> memory_;  // Where there is any.
};

}  // namespace cyclotron::runtime::simulator
