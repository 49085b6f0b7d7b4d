// How messages enter and leave queues.
#include <algorithm>
#include <bit>
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

/// Not where the queue holds all that it may. Makes the ring larger where times in it may still bind.
[[gnu::noinline]] bool TimedEngine::make_room(TimedQueue& queue, const TimedChannel& channel) {
  const std::uint32_t held = queue.sent - queue.received;
  start_anew(queue);
  if (held >= channel.window) return false;
  for (;;) {
    const std::uint32_t places = queue.mask + 1;
    if (places >= channel.places) {
      queue.stop = queue.received + channel.window;
      return true;
    }
    const std::int64_t* ring = array_.state().times.data() + queue.ring;
    const std::int64_t next = held > 0 ? ring[queue.received & queue.mask] - channel.delay : queue.link_free;
    const std::int64_t binds = std::max<std::int64_t>(1, channel.response);
    if (channel.depth == machine::unbounded_depth) queue.oldest = queue.received;  // none binds
    while (queue.oldest != queue.received && ring[queue.oldest & queue.mask] + binds <= next) ++queue.oldest;
    const std::uint32_t used = std::max(held + queue.peak, queue.sent - queue.oldest);
    if (used + least_room_ <= places) {
      queue.stop = queue.sent + std::min(channel.window - held, places - used);
      return true;
    }
    array_.grow(queue, std::max(2 * places, std::bit_ceil(used + least_room_)));
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
  if (first < 0 || last >= array_.program().grid[channel.axis]) throw Irregular{};
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
    const TimedChannel& to_it = array_.program().channels[queue.channel];
    if (queue.sent == queue.stop && !make_room(queue, to_it)) {
      queue.sender_waits = true;
      return false;
    }
    sent = std::max({sent, place_free_at(queue, to_it), port_free});
    any = true;
  }
  if (!any) return true;
  pe.stall_full += sent - pe.now;
  pe.now = sent;
  record(ordinal, sent, false);
  port_free = sent + channel.transfer;
  ++state.registers[pe.registers + std::size_t{2} * array_.code(pe).loops + op.block];
  for (std::int64_t to = first; to <= last; ++to) {
    if (to == own) continue;
    TimedQueue& queue = queue_to(to);
    put(queue, array_.program().channels[queue.channel], sent);
  }
  return true;
}

bool TimedEngine::receive_from(std::uint32_t ordinal, const TimedOp& op) {
  TimedState& state = array_.state();
  const Code& code = array_.program().codes[state.pes[ordinal].pe_class];
  const TimedChannel& channel = array_.program().channels[op.channel];
  const std::int64_t sender = evaluate(code, code.steps[op.step].sender, array_.environment(ordinal));
  if (sender < 0 || sender >= array_.program().grid[channel.axis]) throw Irregular{};
  const std::uint32_t index = array_.grid_index(ordinal);
  TimedQueue& queue = state.queues[array_.network_queue(
      op.channel, array_.on_line(index, channel.axis, sender), index, sender)];
  if (queue.received == queue.sent) {
    queue.receiver_waits = true;
    return false;
  }
  std::int64_t& now = state.pes[ordinal].now;
  const std::int64_t before = now;
  take(queue, array_.program().channels[queue.channel], now);
  record(ordinal, now, now > before);
  return true;
}

}  // namespace cyclotron::runtime::simulator
