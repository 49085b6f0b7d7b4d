// How messages enter and leave queues.
#include <algorithm>
#include <array>
#include <utility>

#include "timed_engine.hpp"

namespace cyclotron::runtime::simulator {

/// Messages are counted in 32 bits: before they overflow, the count starts anew and the channel keeps the rest. Rings
/// have fewer places, so each message keeps its own.
void TimedEngine::start_anew(TimedQueue& queue) {
  constexpr std::uint32_t half = std::uint32_t{1} << 31;
  if (queue.sent < half) return;
  for (std::uint32_t* count : {&queue.sent, &queue.received, &queue.stop, &queue.oldest}) *count -= half;
  array_.state().messages[queue.channel] += half;
}

/// Not where the queue holds `depth`. Makes the ring larger where times in it may still bind.
[[gnu::noinline]] bool TimedEngine::make_room(TimedQueue& queue, const TimedChannel& channel) {
  const std::uint32_t held = queue.sent - queue.received;
  start_anew(queue);
  if (held >= channel.depth) return false;
  for (;;) {
    const std::uint32_t places = queue.mask + 1;
    if (places >= channel.places) {
      queue.stop = queue.received + channel.depth;
      return true;
    }
    const std::int64_t* ring = array_.state().times.data() + queue.ring;
    const std::int64_t next = held > 0 ? ring[queue.received & queue.mask] - channel.delay : queue.link_free;
    const std::int64_t binds = std::max<std::int64_t>(1, channel.response);
    while (queue.oldest != queue.received && ring[queue.oldest & queue.mask] + binds <= next) ++queue.oldest;
    const std::uint32_t used = std::max(held + queue.peak, queue.sent - queue.oldest);
    if (used < places && places >= least_places_) {
      queue.stop = queue.sent + std::min(channel.depth - held, places - used);
      return true;
    }
    array_.grow(queue, std::max(2 * places, least_places_));
  }
}

/// All or nothing: the message enters every receiver's queue at once, when each has a place.
bool TimedEngine::broadcast(std::uint32_t ordinal, const TimedOp& op) {
  TimedState& state = array_.state();
  TimedPe& pe = state.pes[ordinal];
  const Code& code = array_.program().codes[pe.pe_class];
  const TimedChannel& channel = array_.program().channels[op.channel];
  const std::int64_t* environment = array_.environment(ordinal);
  const std::int64_t own = environment[channel.axis];
  const std::int64_t first = lower_limit(code, code.steps[op.step].lower, environment);
  const std::int64_t last = upper_limit(code, code.steps[op.step].upper, environment);
  if (first > last) return true;
  if (first < 0 || last >= array_.program().source->grid[channel.axis]) throw Irregular{};
  const std::uint32_t index = array_.grid_index(ordinal);
  const auto queue_to = [&](std::int64_t to) -> TimedQueue& {
    return state
        .queues[array_.network_queue(op.channel, index, array_.on_line(index, channel.axis, to), own)];
  };
  std::int64_t& port_free = state.port_free[pe.ports + op.port];
  std::int64_t sent = pe.now;
  bool any = false;
  for (std::int64_t to = first; to <= last; ++to) {
    if (to == own) continue;
    TimedQueue& queue = queue_to(to);
    if (queue.sent == queue.stop && !make_room(queue, channel)) {
      queue.sender_waits = true;
      return false;
    }
    sent = std::max({sent, place_free_at(queue, channel), port_free});
    any = true;
  }
  if (!any) return true;
  pe.stall_full += sent - pe.now;
  pe.now = sent;
  port_free = sent + channel.transfer;
  ++state.registers[pe.registers + std::size_t{2} * array_.code(pe).loops + op.block];
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own) put(queue_to(to), channel, sent);
  }
  return true;
}

bool TimedEngine::receive_from(std::uint32_t ordinal, const TimedOp& op) {
  TimedState& state = array_.state();
  const Code& code = array_.program().codes[state.pes[ordinal].pe_class];
  const TimedChannel& channel = array_.program().channels[op.channel];
  const std::int64_t sender = evaluate(code, code.steps[op.step].sender, array_.environment(ordinal));
  if (sender < 0 || sender >= array_.program().source->grid[channel.axis]) throw Irregular{};
  const std::uint32_t index = array_.grid_index(ordinal);
  TimedQueue& queue = state.queues[array_.network_queue(
      op.channel, array_.on_line(index, channel.axis, sender), index, sender)];
  if (queue.received == queue.sent) {
    queue.receiver_waits = true;
    return false;
  }
  take(queue, channel, state.pes[ordinal].now);
  return true;
}

/// Runs up to `most` iterations, as many as have their messages and places; returns how many. The times of a queue
/// stay in registers meanwhile, and its other end is woken once.
std::int64_t TimedEngine::run_body(TimedPe& pe, const TimedBody& body, std::int64_t most) {
  struct Lane {
    std::int64_t* ring;
    std::uint32_t mask;
    std::uint32_t at;
    std::uint32_t back;  ///< Of receives, the peak; of sends, the depth, or 0 where it binds nobody.
    std::int64_t link_free;
  };
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
      if (queue.sent == queue.stop) make_room(queue, channels[lane.channel]);
      messages = queue.stop - queue.sent;
    }
    if (lane.messages > 1) messages /= lane.messages;
    iterations = std::min<std::int64_t>(iterations, messages);
  }
  if (iterations == 0) return 0;
  std::array<Lane, TimedBody::most_lanes> lanes;
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    const TimedQueue& queue = state.queues[queues[body.lanes[n].port]];
    const std::uint32_t depth = channels[queue.channel].depth;
    const bool binds = depth <= queue.mask + 1;
    lanes[n] = {.ring = state.times.data() + queue.ring,
                .mask = queue.mask,
                .at = body.lanes[n].sends ? queue.sent : queue.received,
                .back = body.lanes[n].sends ? (binds ? depth : 0) : queue.peak,
                .link_free = queue.link_free};
  }
  std::int64_t clock = pe.now, stalled = pe.stall_full;
  for (std::int64_t left = iterations; left > 0; --left) {
    for (const TimedBody::Op& op : body.ops) {
      if (op.kind == TimedOp::Kind::compute) {
        clock += op.cycles;
        continue;
      }
      Lane& lane = lanes[op.lane];
      std::int64_t& place = lane.ring[lane.at & lane.mask];
      if (op.kind == TimedOp::Kind::receive) {  // as `take`
        const std::int64_t arrival = place;
        if (lane.ring[(lane.at - lane.back) & lane.mask] >= arrival - op.cycles) ++lane.back;
        place = clock = std::max(clock, arrival);
      } else {  // as `place_free_at` and `put`
        std::int64_t sent = std::max(clock, lane.link_free);
        if (lane.back > 0) sent = std::max(sent, lane.ring[(lane.at - lane.back) & lane.mask] + op.response);
        stalled += sent - clock;
        clock = sent;
        lane.link_free = sent + op.transfer;
        place = sent + op.cycles;
      }
      ++lane.at;
    }
  }
  pe.now = clock;
  pe.stall_full = stalled;
  for (std::size_t n = 0; n < body.lanes.size(); ++n) {
    TimedQueue& queue = state.queues[queues[body.lanes[n].port]];
    if (body.lanes[n].sends) {
      queue.sent = lanes[n].at;
      queue.link_free = lanes[n].link_free;
      if (std::exchange(queue.receiver_waits, false)) ready_.insert(queue.receiver);
    } else {
      queue.received = lanes[n].at;
      queue.peak = lanes[n].back;
      if (std::exchange(queue.sender_waits, false)) ready_.insert(queue.sender);
    }
  }
  return iterations;
}

}  // namespace cyclotron::runtime::simulator
