// A loop of sends, receives and computes alone: many of its iterations at once.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "timed_engine.hpp"

// Eight bytes are compared four at a time where the processor can; sanitizers cannot start such a choice.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define CYC_VECTOR_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CYC_VECTOR_CLONES
#endif

namespace cyclotron::runtime::simulator {
namespace {

/// A queue while a PE uses one end of it. Counts wrap around.
struct Lane {
  std::int64_t* ring;
  std::uint32_t mask;
  std::uint32_t at;         ///< The next message.
  std::uint32_t other_end;  ///< Of sends, messages received; of receives, messages sent.
  std::uint32_t depth;
  std::uint32_t peak;
  std::int64_t link_free;
  bool sends;

  /// Of sends: how many from `at` on know when the message whose place they take left. The others run ahead.
  [[nodiscard]] std::int64_t known() const {
    if (depth > mask + 1) return 0;  // departures that bind are in the ring
    return std::int64_t{depth} - static_cast<std::int32_t>(at - other_end);
  }
  /// Of receives: how many from `at` on leave a place that a message has already taken, ahead of them.
  [[nodiscard]] std::int64_t taken() const {
    return std::int64_t{static_cast<std::int32_t>(other_end - at)} - depth;
  }
  [[nodiscard]] std::int64_t& time(std::uint32_t message) const { return ring[message & mask]; }
};
using Lanes = std::array<Lane, TimedBody::most_lanes>;

struct BodyClock {
  std::int64_t now;
  std::int64_t stall_full;
};

/// Operation by operation, iteration by iteration.
void run_in_order(const TimedBody& body, Lanes& lanes, BodyClock& pe, std::int64_t iterations) {
  std::int64_t clock = pe.now, stalled = pe.stall_full;
  for (std::int64_t left = iterations; left > 0; --left) {
    for (const TimedBody::Op& op : body.ops) {
      if (op.kind == TimedOp::Kind::compute) {
        clock += op.cycles;
        continue;
      }
      Lane& lane = lanes[op.lane];
      std::int64_t& place = lane.time(lane.at);
      if (op.kind == TimedOp::Kind::receive) {  // as `take`
        const std::int64_t arrival = place;
        if (lane.time(lane.at - lane.peak) >= arrival - op.cycles) ++lane.peak;
        place = clock = std::max(clock, arrival);
        if (lane.taken() > 0 && lane.time(lane.at + lane.depth) - op.cycles < clock + op.response)
          throw RanAheadTooFar{};
      } else {  // as `place_free_at` and `put`
        std::int64_t sent = std::max(clock, lane.link_free);
        if (lane.known() > 0) sent = std::max(sent, lane.time(lane.at - lane.depth) + op.response);
        stalled += sent - clock;
        clock = sent;
        lane.link_free = sent + op.transfer;
        place = sent + op.cycles;
      }
      ++lane.at;
    }
  }
  pe = {clock, stalled};
}

constexpr std::uint32_t batch = iterations_a_turn;
using Four = std::int64_t __attribute__((vector_size(32)));
constexpr std::uint32_t fours = batch / 4;
constexpr Four first_four{0, 1, 2, 3};

/// Times of a batch of messages, side by side.
struct alignas(32) Times {
  std::array<Four, fours> four;
  std::int64_t& operator[](std::uint32_t n) { return reinterpret_cast<std::int64_t*>(four.data())[n]; }
  void fill(std::int64_t time) { four.fill(Four{time, time, time, time}); }
};

[[gnu::always_inline]] inline void raise(Four& time, const Four& to) { time = time > to ? time : to; }
[[gnu::always_inline]] inline bool any(const Four& f) { return (f[0] | f[1] | f[2] | f[3]) != 0; }

/// The lane's times of the batch from message `first` on.
[[gnu::always_inline]] inline void read(const Lane& lane, std::uint32_t first, Times& to) {
  const std::uint32_t index = first & lane.mask;
  if (lane.mask - index >= batch - 1) [[likely]] {
    std::memcpy(to.four.data(), lane.ring + index, sizeof to.four);
  } else {
    for (std::uint32_t n = 0; n < batch; ++n) to[n] = lane.time(first + n);
  }
}

[[gnu::always_inline]] inline void write(const Lane& lane, Times& times) {
  const std::uint32_t index = lane.at & lane.mask;
  if (lane.mask - index >= batch - 1) [[likely]] {
    std::memcpy(lane.ring + index, times.four.data(), sizeof times.four);
  } else {
    for (std::uint32_t n = 0; n < batch; ++n) lane.time(lane.at + n) = times[n];
  }
}

/// No earlier than this does the operation end, in each iteration, with the cycles of the computes before it taken off.
[[gnu::always_inline]] inline void bound_below(const TimedBody::Op& op, const Lane& lane, Times& bounds) {
  if (!lane.sends) {
    read(lane, lane.at, bounds);
    for (Four& bound : bounds.four) bound -= op.before;
    return;
  }
  const std::int64_t known = lane.known();
  if (known >= batch) {
    read(lane, lane.at - lane.depth, bounds);
    for (Four& bound : bounds.four) bound += op.response - op.before;
  } else {
    bounds.fill(TimedArray::never);
    for (std::uint32_t n = 0; n < known; ++n)
      bounds[n] = lane.time(lane.at - lane.depth + n) + op.response - op.before;
  }
  raise(bounds.four[0],
        Four{lane.link_free - op.before, TimedArray::never, TimedArray::never, TimedArray::never});
}

/// As `take`. `arrivals`: as bounds; `starts`: when the operation before it ends, and after it, when it does.
[[gnu::always_inline]] inline void receive_batch(const TimedBody::Op& op, Lane& lane, Times& arrivals,
                                                 Times& starts) {
  Times departures, next;
  const std::int64_t taken = lane.taken();
  if (taken > 0) read(lane, lane.at + lane.depth, next);
  Four full{};
  for (std::uint32_t n = 0; n < fours; ++n) {
    raise(starts.four[n], arrivals.four[n]);
    departures.four[n] = starts.four[n] + op.before;
    if (taken > 0)
      full |= (next.four[n] < departures.four[n] + (op.response + op.cycles)) & (first_four + 4 * n < taken);
  }
  if (any(full)) throw RanAheadTooFar{};
  write(lane, departures);
  Times earlier;
  read(lane, lane.at - lane.peak, earlier);
  Four rises{};
  for (std::uint32_t n = 0; n < fours; ++n)
    rises |= earlier.four[n] >= arrivals.four[n] + (op.before - op.cycles);
  if (!any(rises)) return;
  for (std::uint32_t n = 0; n < batch; ++n)
    if (lane.time(lane.at + n - lane.peak) >= arrivals[n] + op.before - op.cycles) ++lane.peak;
}

/// As `put`. Returns the cycles stalled.
[[gnu::always_inline]] inline std::int64_t send_batch(const TimedBody::Op& op, Lane& lane,
                                                      const Times& bounds, Times& starts) {
  Times arrivals;
  Four stalled{};
  for (std::uint32_t n = 0; n < fours; ++n) {
    const Four before = starts.four[n];
    raise(starts.four[n], bounds.four[n]);
    stalled += starts.four[n] - before;
    arrivals.four[n] = starts.four[n] + (op.before + op.cycles);
  }
  write(lane, arrivals);
  lane.link_free = starts[batch - 1] + op.before + op.transfer;
  return stalled[0] + stalled[1] + stalled[2] + stalled[3];
}

/// A batch of iterations of a steady body, operation by operation. With the cycles of the computes before it taken off,
/// an operation ends at the later of the end of the one before it and its own bound (a message's arrival, a place's
/// departure); so an iteration starts at the later of the start of the one before it and all bounds of that, plus
/// the cycles of all computes. A link is free again by then.
CYC_VECTOR_CLONES void run_batch(const TimedBody& body, Lanes& lanes, BodyClock& pe) {
  std::array<Times, TimedBody::most_lanes> bounds;
  Times starts;
  starts.fill(TimedArray::never);
  for (const TimedBody::Op& op : body.ops) {
    if (op.kind == TimedOp::Kind::compute) continue;
    bound_below(op, lanes[op.lane], bounds[op.lane]);
    for (std::uint32_t n = 0; n < fours; ++n) raise(starts.four[n], bounds[op.lane].four[n]);
  }
  for (std::uint32_t n = 0; n < batch; ++n) {
    const std::int64_t next = std::max(pe.now, starts[n]) + body.cycles;
    starts[n] = std::exchange(pe.now, next);
  }
  for (const TimedBody::Op& op : body.ops) {
    if (op.kind == TimedOp::Kind::compute) continue;
    Lane& lane = lanes[op.lane];
    if (lane.sends) {
      pe.stall_full += send_batch(op, lane, bounds[op.lane], starts);
    } else {
      receive_batch(op, lane, bounds[op.lane], starts);
    }
    lane.at += batch;
  }
}

}  // namespace

/// Runs up to `most` iterations, as many as have their messages and places; returns how many. The times of a queue
/// stay in registers meanwhile, and its other end is woken once.
std::int64_t TimedEngine::run_body(TimedPe& pe, const TimedBody& body, std::int64_t most) {
  TimedState& state = array_.state();
  const std::uint32_t* const queues = array_.queues_of(pe).data();
  const TimedChannel* const channels = array_.program().channels.data();
  std::int64_t iterations = most;
  for (const auto& lane : body.lanes) {
    const std::uint32_t number = queues[lane.port];
    if (number == TimedArray::none) return 0;
    TimedQueue& queue = state.queues[number];
    if (queue.sender == queue.receiver) return 0;  // it feeds itself
    std::uint32_t messages = queue.sent - queue.received;
    if (lane.sends) {
      if (queue.stop - queue.sent < iterations * lane.messages) make_room(queue, channels[lane.channel]);
      messages = queue.stop - queue.sent;
    }
    if (lane.messages > 1) messages /= lane.messages;
    iterations = std::min<std::int64_t>(iterations, messages);
  }
  if (iterations == 0) return 0;
  Lanes lanes;
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    const bool sends = body.lanes[n].sends;
    const TimedQueue& queue = state.queues[queues[body.lanes[n].port]];
    lanes[n] = {.ring = state.times.data() + queue.ring,
                .mask = queue.mask,
                .at = sends ? queue.sent : queue.received,
                .other_end = sends ? queue.received : queue.sent,
                .depth = channels[queue.channel].depth,
                .peak = queue.peak,
                .link_free = queue.link_free,
                .sends = sends};
  }
  BodyClock clock{pe.now, pe.stall_full};
  std::int64_t left = iterations;
  if (body.steady) {
    for (; left >= batch; left -= batch) run_batch(body, lanes, clock);
  }
  run_in_order(body, lanes, clock, left);
  pe.now = clock.now;
  pe.stall_full = clock.stall_full;
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    TimedQueue& queue = state.queues[queues[body.lanes[n].port]];
    if (body.lanes[n].sends) {
      queue.sent = lanes[n].at;
      queue.link_free = lanes[n].link_free;
      if (std::exchange(queue.receiver_waits, false)) ready_.insert(queue.receiver);
    } else {
      queue.received = lanes[n].at;
      queue.peak = lanes[n].peak;
      if (std::exchange(queue.sender_waits, false)) ready_.insert(queue.sender);
    }
  }
  return iterations;
}

}  // namespace cyclotron::runtime::simulator
