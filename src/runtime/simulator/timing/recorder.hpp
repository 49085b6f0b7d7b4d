// The times of the sends and receives of each PE in a run with skips, all of them, also the skipped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace cyclotron::runtime::simulator {

/// The times of one PE's sends and receives, in order. Those that were skipped repeat the ones before them.
class Stream {
 public:
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// From now on only their number is kept. Requires: there are none yet.
  void count_only() { keeps_times_ = false; }
  [[nodiscard]] bool keeps_times() const { return keeps_times_; }
  /// Requires: keeps_times() and 0 <= k < size().
  [[nodiscard]] std::int64_t at(std::int64_t k) const;
  /// `waited`: it is a receive of a message that arrived later than the PE came to it.
  void add(std::int64_t time, bool waited);
  /// Tells whether the PE's first event had to wait for another PE.
  [[nodiscard]] bool starts_waiting() const { return starts_waiting_; }
  /// The last `period` times happen again so many times, each time so much later.
  void repeat(std::int64_t period, std::int64_t times, std::int64_t later);

  /// By how much the times of `other` are later than these, if that is the same for all of them. Proved by induction: where
  /// both streams repeat themselves, they do so with the same period, and all other times are compared. Requires: both
  /// keep their times.
  [[nodiscard]] std::optional<std::int64_t> shift_to(const Stream& other) const;

 private:
  /// From `first` on: recorded times, from `recorded` on, or where `period` is not 0 repetitions.
  struct Piece {
    std::int64_t first = 0;
    std::int64_t period = 0;
    std::int64_t later = 0;
    std::size_t recorded = 0;
  };
  [[nodiscard]] const Piece& piece_of(std::int64_t k) const;
  [[nodiscard]] std::int64_t end_of(const Piece& piece) const;
  [[nodiscard]] bool recorded_as(const Stream& other, std::int64_t shift) const;
  [[nodiscard]] bool repeats_as(const Stream& other) const;

  std::int64_t size_ = 0;
  bool starts_waiting_ = false;
  bool keeps_times_ = true;
  std::vector<Piece> pieces_;
  std::vector<std::int64_t> times_;
};

/// Thrown where a run has more events than are worth to be kept.
struct TooManyEvents {};

struct Recorder {
  void add(std::uint32_t ordinal, std::int64_t time, bool waited) {
    Stream& stream = streams[ordinal];
    if (stream.keeps_times() && ++kept > most_kept) throw TooManyEvents{};
    stream.add(time, waited);
  }

  std::size_t most_kept = std::size_t{1} << 23;  ///< Times.
  std::size_t kept = 0;
  std::vector<Stream> streams;        ///< By PE, the ordinal.
  std::vector<std::int64_t> skipped;  ///< By queue: messages that were not simulated.
};

}  // namespace cyclotron::runtime::simulator
