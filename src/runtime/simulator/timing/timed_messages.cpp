// Messages that enter and leave queues.
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
  std::int64_t& port_free = state.port_free[pe.ports + op.port];
  std::int64_t sent = pe.now;
  bool any = false, full = false;
  each_receiver(ordinal, op, [&](TimedQueue& queue, std::uint32_t) {
    const TimedChannel& to_it = array_.program().channels[queue.channel];
    full = queue.sent == queue.stop && !make_room(queue, to_it);
    if (full) {
      queue.sender_waits = true;
      return false;
    }
    sent = std::max({sent, place_free_at(queue, to_it), port_free});
    any = true;
    return true;
  });
  if (full || !any) return !full;
  pe.stall_full += sent - pe.now;
  pe.now = sent;
  record(ordinal, sent, false);
  port_free = sent + array_.program().channels[op.channel].transfer;
  ++state.registers[pe.registers + std::size_t{2} * array_.code(pe).loops + op.block];
  each_receiver(ordinal, op, [&](TimedQueue& queue, std::uint32_t) {
    put(queue, array_.program().channels[queue.channel], sent);
    return true;
  });
  return true;
}

std::uint32_t TimedEngine::queue_of(std::size_t channel) const {
  const auto& queues = array_.state().queues;
  const auto found = std::ranges::find_if(queues, [&](const TimedQueue& queue) {
    return array_.program().channels[queue.channel].source == channel;
  });
  return static_cast<std::uint32_t>(found - queues.begin());
}

std::int64_t TimedEngine::arrival(std::uint32_t queue, std::uint32_t message) const {
  const TimedQueue& of = array_.state().queues[queue];
  return array_.state().times[of.ring + ((of.received + message) & of.mask)];
}

std::optional<std::int64_t> TimedEngine::send_from_outside(std::uint32_t queue, std::int64_t time) {
  TimedQueue& to = array_.state().queues[queue];
  const TimedChannel& channel = array_.program().channels[to.channel];
  if (to.sent == to.stop && !make_room(to, channel)) return std::nullopt;
  const std::int64_t sent = std::max({time, place_free_at(to, channel), to.link_free});
  put(to, channel, sent);
  return sent;
}

void TimedEngine::take_from_outside(std::uint32_t queue, std::int64_t time) {
  TimedQueue& from = array_.state().queues[queue];
  take(from, array_.program().channels[from.channel], time);
}

std::uint32_t TimedEngine::sender_of(std::uint32_t ordinal, const TimedOp& op) {
  const Code& code = array_.program().codes[array_.state().pes[ordinal].pe_class];
  const std::uint32_t axis = array_.program().channels[op.channel].axis;
  const std::int64_t sender = evaluate(code, code.steps[op.step].sender, array_.environment(ordinal));
  if (sender < 0 || sender >= array_.line_extent(axis)) throw NeedsInterpreter{};
  return array_.on_line(array_.grid_index(ordinal), axis, sender);
}

TimedQueue& TimedEngine::queue_from(std::uint32_t ordinal, const TimedOp& op, std::uint32_t sender) {
  const std::uint32_t axis = array_.program().channels[op.channel].axis;
  return array_.state().queues[array_.network_queue(op.channel, sender, array_.grid_index(ordinal),
                                                    array_.coordinate(sender, axis))];
}

bool TimedEngine::receive_from(std::uint32_t ordinal, const TimedOp& op) {
  TimedQueue& queue = queue_from(ordinal, op, sender_of(ordinal, op));
  if (queue.received == queue.sent) {
    queue.receiver_waits = true;
    return false;
  }
  std::int64_t& now = array_.state().pes[ordinal].now;
  const std::int64_t before = now;
  take(queue, array_.program().channels[queue.channel], now);
  record(ordinal, now, now > before);
  return true;
}

std::vector<Wait> TimedEngine::waits() {
  std::vector<Wait> result;
  result.reserve(array_.count() - done_);
  const TimedState& state = array_.state();
  const auto grid_index = [&](std::uint32_t ordinal) {
    return ordinal == TimedArray::none ? PeArray::none : array_.grid_index(ordinal);
  };
  for (std::uint32_t o = 0; o < array_.count(); ++o) {
    const TimedPe& pe = state.pes[o];
    const TimedOp& op = array_.code(pe).ops[pe.counter];
    const auto add = [&](const TimedQueue& queue, std::uint32_t peer, bool full) {
      const TimedChannel& channel = array_.program().channels[queue.channel];
      result.push_back({.pe = array_.grid_index(o),
                        .peer = peer,
                        .channel = channel.source,
                        .instruction = op.step,
                        .depth = channel.depth,
                        .cycle = pe.now,
                        .full = full});
    };
    if (op.kind == TimedOp::Kind::send || op.kind == TimedOp::Kind::receive) {
      const bool full = op.kind == TimedOp::Kind::send;
      const TimedQueue& queue = state.queues[array_.queues_of(pe)[op.port]];
      add(queue, grid_index(full ? queue.receiver : queue.sender), full);
    } else if (op.kind == TimedOp::Kind::receive_from) {
      const std::uint32_t sender = sender_of(o, op);
      add(queue_from(o, op, sender), sender, false);
    } else if (op.kind == TimedOp::Kind::broadcast) {
      each_receiver(o, op, [&](const TimedQueue& queue, std::uint32_t receiver) {
        const bool full = queue.sent - queue.received >= array_.program().channels[queue.channel].depth;
        if (full) add(queue, receiver, true);
        return !full;
      });
    }
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
