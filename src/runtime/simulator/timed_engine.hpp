// The engine for time alone: runs PEs, in any order that messages allow (Kahn), and each as far as it gets.
// What it measures does not depend on that order: a PE's clock only follows from the times of its messages.
#pragma once
#include <cyclotron/runtime/runtime.hpp>

#include "../pulse.hpp"
#include "../ring.hpp"
#include "timed_array.hpp"

namespace cyclotron::runtime::simulator {

/// Thrown where a program does what no compiled one does (it sends over the edge of the grid); the interpreter
/// then says what and where.
struct Irregular {};

class TimedEngine {
 public:
  /// Throws ExecutionError CYC705 where the PEs do not fit this computer.
  TimedEngine(TimedProgram program, const Progress& progress);

  /// Runs to the end. False: no PE can go on. Throws Irregular, and ExecutionError CYC708 where cycles no longer
  /// fit 62 bits.
  bool run();
  /// Each PE that is not done or blocked runs on to the next iteration of its loop at the nesting level (0: the
  /// outermost), or of its innermost one where that is further out. False: none is left; `finished` says why.
  bool run_round(std::uint32_t level);
  [[nodiscard]] bool finished() const { return done_ == array_.count(); }

  [[nodiscard]] TimedArray& array() { return array_; }
  [[nodiscard]] const TimedArray& array() const { return array_; }
  /// Without events: all computations are counted as dropped.
  [[nodiscard]] Timing timing() const;

 private:
  enum class Outcome : std::uint8_t { blocked, done, paused };
  template <bool is_round>
  void run_ready(std::uint32_t level);
  template <bool is_round>
  Outcome advance(std::uint32_t ordinal, std::uint32_t level);
  bool make_room(TimedQueue& queue);
  [[nodiscard]] std::int64_t place_free_at(const TimedQueue& queue) const;
  void put(TimedQueue& queue, std::int64_t sent);
  void take(TimedQueue& queue, std::int64_t& now);
  bool open_loop(std::uint32_t ordinal, const TimedOp& op);
  bool broadcast(std::uint32_t ordinal, const TimedOp& op, std::int64_t& now);
  bool receive_from(std::uint32_t ordinal, const TimedOp& op, std::int64_t& now);
  [[nodiscard]] double fraction_done() const;

  TimedArray array_;
  Pulse pulse_;
  Ring<std::uint32_t> ready_;
  std::vector<std::uint32_t> paused_;  // In a round: those that have reached its end.
  std::uint32_t done_ = 0;
};

/// A time that leaves room for the sums of a step.
inline constexpr std::int64_t latest = std::int64_t{1} << 61;

/// ExecutionError CYC708.
[[noreturn]] void too_long();

}  // namespace cyclotron::runtime::simulator
