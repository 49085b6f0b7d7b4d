// The engine of timing-only runs: runs PEs, in any order that messages allow (Kahn), and each as far as it gets.
// Measurements do not depend on that order: a PE's clock only follows from the times of its messages.
#pragma once
#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/runtime/runtime.hpp>

#include "../../engine/cycles.hpp"
#include "../../engine/progress_ticker.hpp"
#include "../../engine/ready_set.hpp"
#include "controller.hpp"
#include "row_replicas.hpp"
#include "ranks.hpp"
#include "timed_array.hpp"
#include "wait_cycle.hpp"

namespace cyclotron::runtime::simulator {

/// Thrown where a program does what no compiled one does (it sends over the edge of the grid); the interpreter
/// then says what and where.
struct NeedsInterpreter {};

/// Thrown where a sender that had run ahead would have had to wait for a place.
struct RanAheadTooFar {};

class TimedEngine {
 public:
  /// To the end, round by round, or to the end on ranks that share what they have.
  enum class Mode : std::uint8_t { whole, round, dealt };

  /// Throws ExecutionError CYC705 where the PEs do not fit this computer.
  TimedEngine(TimedProgram program, const Progress& progress, const ControlledRun* control = nullptr);

  /// Has loops end so, by exit plan, which outlive the engine (`run` alone).
  void end_loops(const std::vector<program::ExitOutcome>& outcomes);
  // The ends of a link at a PE without instructions belong to who runs the engine.
  /// The number of the queue of a channel of the program that joins two PEs alone.
  [[nodiscard]] std::uint32_t queue_of(std::size_t channel) const;
  [[nodiscard]] std::uint32_t messages_in(std::uint32_t queue) const {
    return array_.state().queues[queue].sent - array_.state().queues[queue].received;
  }
  /// Of one of these, the first is 0.
  [[nodiscard]] std::int64_t arrival(std::uint32_t queue, std::uint32_t message) const;
  /// Sends at `time` or later; the cycle, or none where there is no place.
  std::optional<std::int64_t> send_from_outside(std::uint32_t queue, std::int64_t time);
  void take_from_outside(std::uint32_t queue, std::int64_t time);

  /// Has PEs share the processors and networks of ranks, from the start of a run to its end (`run` alone).
  void deal(Ranks ranks) { ranks_.emplace(std::move(ranks)); }
  [[nodiscard]] const Ranks& ranks() const { return *ranks_; }

  /// Runs to the end. False: no PE can go on. Throws NeedsInterpreter, RanAheadTooFar where senders run ahead, and ExecutionError CYC708
  /// where cycles no longer fit 62 bits.
  bool run();
  /// The same from the start, on vectors of PEs, where that is faster; false, and nothing has changed, where it is not.
  bool run_in_lockstep();
  /// Each PE that is not done or blocked runs on to the next iteration of its loop at the nesting level (0: the
  /// outermost), or of its innermost one where that is further out. False: none is left; `finished` says why.
  bool run_round(std::uint32_t level);
  [[nodiscard]] bool finished() const { return done_ == array_.count(); }
  /// Tells whether no queue holds more than its depth, which at the end is so unless a sender ran ahead.
  [[nodiscard]] bool within_depths() const;
  /// After `run` returned false: one entry a PE that is not done, in order. Requires: no sender ran ahead.
  [[nodiscard]] std::vector<Wait> waits();

  [[nodiscard]] TimedArray& array() { return array_; }
  [[nodiscard]] const TimedArray& array() const { return array_; }
  /// Without events: all computations are counted as dropped. Of the larger array, if one is given. Ends the engine: its
  /// queues and the results of its PEs need not be there at once.
  [[nodiscard]] Timing timing(const RowReplicas& replicas = {}) &&;

 private:
  enum class Outcome : std::uint8_t { blocked, done, turn_ends, round_ends };
  template <Mode mode>
  class Turn;
  template <Mode mode>
  void run_ready(std::uint32_t level);
  bool go_on_with_paused(std::uint32_t& ordinal);
  template <Mode mode>
  Outcome advance(std::uint32_t ordinal, std::uint32_t level);
  // The ops of a PE that shares a rank with others; false where it has to wait. Times are in its clock.
  bool compute_in_turn(std::uint32_t ordinal, const TimedOp& op);
  bool send_in_turn(std::uint32_t ordinal, TimedQueue& queue);
  bool broadcast_in_turn(std::uint32_t ordinal, const TimedOp& op);
  /// Serves the earliest requests for memory, where they were asked for before `limit`.
  bool grant(std::int64_t limit) {
    return array_.memory().grant(limit, [&](std::uint32_t ordinal) { ready_.insert(ordinal); });
  }
  /// Tells whether one more message may be sent; finds out for as many as possible at once.
  bool make_room(TimedQueue& queue, const TimedChannel& channel);
  void start_anew(TimedQueue& queue);
  /// The earliest time at which the next message may enter. Requires: make_room.
  [[nodiscard]] std::int64_t place_free_at(const TimedQueue& queue, const TimedChannel& channel) const;
  void put(TimedQueue& queue, const TimedChannel& channel, std::int64_t sent) {
    put(queue, sent + channel.transfer, sent + channel.delay);
  }
  void put(TimedQueue& queue, std::int64_t link_free, std::int64_t arrival);
  /// A send or a receive of the PE.
  void record(std::uint32_t ordinal, std::int64_t time, bool waited) {
    if (Recorder* const recorder = array_.recorder()) recorder->add(ordinal, time, waited);
  }
  /// Requires: the queue holds a message.
  void take(TimedQueue& queue, const TimedChannel& channel, std::int64_t& now);
  std::int64_t run_body(TimedPe& pe, const TimedBody& body, std::int64_t most);
  bool open_loop(std::uint32_t ordinal, const TimedOp& op);
  bool broadcast(std::uint32_t ordinal, const TimedOp& op);
  /// A load or store; false where the PE has to wait. Where there is a memory, is left out of the loop over the ops.
  [[gnu::noinline]] bool access(std::uint32_t ordinal, const TimedOp& op);
  /// The end of the program; the same.
  [[gnu::noinline]] bool finish(std::uint32_t ordinal);
  /// The beginning of a procedure, and the end of an iteration in which a loop may end; the same.
  [[gnu::noinline]] bool begin_call(std::uint32_t ordinal, const TimedOp& op);
  [[gnu::noinline]] bool decide(std::uint32_t ordinal, const TimedOp& op);
  void end_iteration(std::uint32_t ordinal, const TimedOp& op);
  /// Calls visit(queue, receiver's grid index) for each receiver of a broadcast, while that returns true. Throws
  /// NeedsInterpreter where there is none on the grid.
  template <class Visit>
  void each_receiver(std::uint32_t ordinal, const TimedOp& op, Visit visit);
  bool receive_from(std::uint32_t ordinal, const TimedOp& op);
  /// The grid index of the PE that a message comes from on a network. Throws NeedsInterpreter where there is none.
  [[nodiscard]] std::uint32_t sender_of(std::uint32_t ordinal, const TimedOp& op);
  [[nodiscard]] TimedQueue& queue_from(std::uint32_t ordinal, const TimedOp& op, std::uint32_t sender);
  [[nodiscard]] double fraction_done() const;

  TimedArray array_;
  ProgressTicker ticker_;
  ReadySet ready_;
  std::vector<std::uint32_t> paused_;   // Whose turns ended.
  std::uint32_t least_room_ = 1;        // Of a deep queue: for the messages of a turn.
  std::vector<std::uint32_t> waiting_;  // For the next round.
  std::uint32_t done_ = 0;
  std::optional<Ranks> ranks_;
  Controller controller_;
  const std::vector<program::ExitOutcome>* outcomes_ = nullptr;
  std::vector<std::int64_t> runs_;  // By ordinal and exit plan: of its loops, so far.
};

inline std::int64_t TimedEngine::place_free_at(const TimedQueue& queue, const TimedChannel& channel) const {
  if (queue.sent - queue.received >= channel.depth) return TimedArray::never;  // `take` will see
  if (channel.depth > queue.mask + 1) return TimedArray::never;  // departures that bind are in the ring
  const std::int64_t* ring = array_.state().times.data() + queue.ring;
  return ring[(queue.sent - channel.depth) & queue.mask] + channel.response;
}

inline void TimedEngine::put(TimedQueue& queue, std::int64_t link_free, std::int64_t arrival) {
  queue.link_free = link_free;
  array_.state().times[queue.ring + (queue.sent & queue.mask)] = arrival;
  ++queue.sent;
  if (queue.receiver_waits) {
    queue.receiver_waits = false;
    ready_.insert(queue.receiver);
  }
}

inline void TimedEngine::take(TimedQueue& queue, const TimedChannel& channel, std::int64_t& now) {
  std::int64_t* ring = array_.state().times.data() + queue.ring;
  std::int64_t& place = ring[queue.received & queue.mask];
  const std::int64_t arrival = place;
  // The queue held more than ever when this message entered if the `peak` before it left then or later. Departures
  // and sends are in order, so one comparison tells, and the peak rises by one at most.
  if (ring[(queue.received - queue.peak) & queue.mask] >= arrival - channel.delay) ++queue.peak;
  place = now = std::max(now, arrival);
  if (queue.sent - queue.received > channel.depth) {  // the message that takes its place went ahead
    const std::int64_t sent = ring[(queue.received + channel.depth) & queue.mask] - channel.delay;
    if (sent < now + channel.response) throw RanAheadTooFar{};
  }
  ++queue.received;
  if (queue.sender_waits) {
    queue.sender_waits = false;
    ready_.insert(queue.sender);
  }
}

template <class Visit>
void TimedEngine::each_receiver(std::uint32_t ordinal, const TimedOp& op, Visit visit) {
  const Code& code = array_.program().codes[array_.state().pes[ordinal].pe_class];
  const std::uint32_t axis = array_.program().channels[op.channel].axis;
  const std::int64_t* environment = array_.environment(ordinal);
  const std::int64_t own = array_.coordinate(array_.grid_index(ordinal), axis);
  const std::int64_t first = lower_limit(code, code.steps[op.step].lower, environment);
  const std::int64_t last = upper_limit(code, code.steps[op.step].upper, environment);
  if (first > last) return;
  if (first < 0 || last >= array_.line_extent(axis)) throw NeedsInterpreter{};
  const std::uint32_t index = array_.grid_index(ordinal);
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver = array_.on_line(index, axis, to);
    if (to == own || !array_.leads_to(op.channel, receiver)) continue;
    if (!visit(array_.state().queues[array_.network_queue(op.channel, index, receiver, own)], receiver))
      return;
  }
}

}  // namespace cyclotron::runtime::simulator
