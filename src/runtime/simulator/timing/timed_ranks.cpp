// PEs that share the processors and the networks of ranks.
#include <algorithm>
#include <bit>

#include "timed_engine.hpp"

namespace cyclotron::runtime::simulator {

bool TimedEngine::compute_in_turn(std::uint32_t ordinal, const TimedOp& op) {
  std::int64_t& now = array_.state().pes[ordinal].now;
  if (op.cycles == 0) return true;
  const auto start = ranks_->compute(ordinal, now, op.cycles);
  if (start) now = *start + op.cycles;
  return start.has_value();
}

/// Requires: make_room.
bool TimedEngine::send_in_turn(std::uint32_t ordinal, TimedQueue& queue) {
  TimedPe& pe = array_.state().pes[ordinal];
  const TimedChannel& channel = array_.program().channels[queue.channel];
  const std::int64_t free = std::max(pe.now, place_free_at(queue, channel));
  const std::uint32_t to =
      queue.receiver == TimedArray::none ? ranks_->of(ordinal) : ranks_->of(queue.receiver);
  if (to == ranks_->of(ordinal)) {
    pe.stall_full += free - pe.now;
    pe.now = free;
    put(queue, free, free);
    return true;
  }
  const auto sent = ranks_->send(ordinal, free, channel.transfer);
  if (!sent) return false;
  pe.stall_full += free - pe.now;
  pe.now = free;
  ranks_->count(ordinal, to, channel.words);
  put(queue, *sent + channel.transfer, *sent + channel.delay);
  return true;
}

bool TimedEngine::broadcast_in_turn(std::uint32_t ordinal, const TimedOp& op) {
  TimedState& state = array_.state();
  TimedPe& pe = state.pes[ordinal];
  std::int64_t free = pe.now;
  bool full = false, any = false;
  std::vector<std::uint32_t> others;  // ranks, in the order in which they come along the line
  each_receiver(ordinal, op, [&](TimedQueue& queue, std::uint32_t) {
    const TimedChannel& to_it = array_.program().channels[queue.channel];
    full = queue.sent == queue.stop && !make_room(queue, to_it);
    if (full) {
      queue.sender_waits = true;
      return false;
    }
    free = std::max(free, place_free_at(queue, to_it));
    const std::uint32_t to = ranks_->of(queue.receiver);
    if (to != ranks_->of(ordinal) && std::ranges::find(others, to) == others.end()) others.push_back(to);
    return any = true;
  });
  if (full || !any) return !full;
  const TimedChannel& channel = array_.program().channels[op.channel];
  std::int64_t sent = free;
  if (!others.empty()) {
    const auto levels = static_cast<std::int64_t>(std::bit_width(others.size()));
    const auto granted = ranks_->send(ordinal, free, levels * channel.transfer);
    if (!granted) return false;
    sent = *granted;
  }
  for (const std::uint32_t to : others) ranks_->count(ordinal, to, channel.words);
  pe.stall_full += free - pe.now;
  pe.now = free;
  ++state.registers[pe.registers + std::size_t{2} * array_.code(pe).loops + op.block];
  each_receiver(ordinal, op, [&](TimedQueue& queue, std::uint32_t) {
    const auto at = std::ranges::find(others, ranks_->of(queue.receiver));
    const auto hops =
        at == others.end() ? 0 : std::bit_width(static_cast<std::size_t>(at - others.begin()) + 1);
    put(queue, sent, hops == 0 ? free : sent + hops * array_.program().channels[queue.channel].delay);
    return true;
  });
  return true;
}

}  // namespace cyclotron::runtime::simulator
