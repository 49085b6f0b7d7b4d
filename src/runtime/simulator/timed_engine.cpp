#include "timed_engine.hpp"

#include <algorithm>
#include <array>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime::simulator {
namespace {

// Iterations of a PE at a turn: enough to make the turn cheap, few enough that its messages stay in the cache.
constexpr int iterations_a_turn = 16;

}  // namespace

TimedEngine::TimedEngine(TimedProgram program, const Progress& progress)
    : array_(std::move(program)), pulse_(progress) {
  for (std::uint32_t o = 0; o < array_.count(); ++o) ready_.push(o);
}

bool TimedEngine::run() {
  for (const std::uint32_t ordinal : paused_) ready_.push(ordinal);
  paused_.clear();
  run_ready<false>(0);
  return finished();
}

bool TimedEngine::run_round(std::uint32_t level) {
  for (const std::uint32_t ordinal : paused_) ready_.push(ordinal);
  paused_.clear();
  run_ready<true>(level);
  return !paused_.empty();
}

template <bool is_round>
void TimedEngine::run_ready(std::uint32_t level) {
  while (!ready_.empty()) {
    const std::uint32_t ordinal = ready_.front();
    ready_.pop();
    const Outcome outcome = advance<is_round>(ordinal, level);
    if (outcome == Outcome::done) {
      ++done_;
    } else if (outcome == Outcome::paused) {
      if constexpr (is_round) {
        paused_.push_back(ordinal);
      } else {
        ready_.push(ordinal);
      }
    }
    pulse_.tick(iterations_a_turn, [&] { return fraction_done(); });
  }
}

/// Whether one more message may be sent: not where the queue holds `depth`. Finds out for as many as possible
/// at once, and makes the ring larger where times in it may still bind.
[[gnu::noinline]] bool TimedEngine::make_room(TimedQueue& queue) {
  const TimedChannel& channel = array_.program().channels[queue.channel];
  const std::uint32_t held = queue.sent - queue.received;
  if (held >= channel.depth) return false;
  for (;;) {
    const std::uint32_t places = queue.mask + 1;
    const std::uint32_t needs = channel.response == 0 ? 3 : 2;
    if (places / needs >= channel.depth) {
      queue.stop = queue.received + channel.depth;
      return true;
    }
    const std::int64_t* ring = array_.state().times.data() + queue.ring;
    const std::int64_t next = held > 0 ? ring[queue.received & queue.mask] - channel.delay : queue.link_free;
    const std::int64_t binds = std::max<std::int64_t>(1, channel.response);
    while (queue.oldest != queue.received && ring[queue.oldest & queue.mask] + binds <= next) ++queue.oldest;
    const std::uint32_t used = std::max(held + queue.peak, queue.sent - queue.oldest);
    if (used < places) {
      queue.stop = queue.sent + std::min(channel.depth - held, places - used);
      return true;
    }
    array_.grow(queue);
  }
}

/// The earliest time at which the next message may enter. Requires: make_room.
std::int64_t TimedEngine::place_free_at(const TimedQueue& queue) const {
  const TimedChannel& channel = array_.program().channels[queue.channel];
  if (channel.depth > queue.mask + 1) return TimedArray::never;  // departures that bind are in the ring
  const std::int64_t* ring = array_.state().times.data() + queue.ring;
  return ring[(queue.sent - channel.depth) & queue.mask] + channel.response;
}

inline void TimedEngine::put(TimedQueue& queue, std::int64_t sent) {
  const TimedChannel& channel = array_.program().channels[queue.channel];
  TimedState& state = array_.state();
  queue.link_free = sent + channel.transfer;
  state.times[queue.ring + (queue.sent & queue.mask)] = sent + channel.delay;
  ++queue.sent;
  ++state.messages[queue.channel];
  if (queue.receiver_waits) {
    queue.receiver_waits = false;
    ready_.push(queue.receiver);
  }
}

/// Requires: the queue holds a message.
inline void TimedEngine::take(TimedQueue& queue, std::int64_t& now) {
  const TimedChannel& channel = array_.program().channels[queue.channel];
  std::int64_t* ring = array_.state().times.data() + queue.ring;
  std::int64_t& place = ring[queue.received & queue.mask];
  const std::int64_t arrival = place;
  // The queue held more than ever when this message entered if the `peak` before it left then or later. Departures
  // and sends are in order, so one comparison tells, and the peak rises by one at most.
  if (ring[(queue.received - queue.peak) & queue.mask] >= arrival - channel.delay) ++queue.peak;
  place = now = std::max(now, arrival);
  ++queue.received;
  if (queue.sender_waits) {
    queue.sender_waits = false;
    ready_.push(queue.sender);
  }
}

template <bool is_round>
TimedEngine::Outcome TimedEngine::advance(std::uint32_t ordinal, std::uint32_t level) {
  TimedState& state = array_.state();
  TimedPe& pe = state.pes[ordinal];
  const TimedCode& code = array_.code(pe);
  const TimedOp* const ops = code.ops.data();
  const TimedOp* op = ops + pe.counter;
  const std::uint32_t* const queues = array_.queues_of(pe);
  std::int64_t* const registers = state.registers.data() + pe.registers;
  std::int64_t* const busy = registers + std::size_t{2} * code.loops;
  std::int64_t now = pe.now, stall_full = pe.stall_full, instructions = 0, computations = 0;
  int turns = iterations_a_turn;
  const auto leave = [&](Outcome outcome) {
    pe.now = now;
    pe.stall_full = stall_full;
    pe.counter = static_cast<std::uint32_t>(op - ops);
    state.instructions += instructions;
    state.computations += computations;
    if (now > latest) too_long();
    return outcome;
  };
  for (;; ++op) {
    switch (op->kind) {
      case TimedOp::Kind::receive: {
        TimedQueue& queue = state.queues[queues[op->port]];
        if (queue.received == queue.sent) {
          queue.receiver_waits = true;
          return leave(Outcome::blocked);
        }
        take(queue, now);
        break;
      }
      case TimedOp::Kind::send: {
        if (queues[op->port] == TimedArray::none) throw Irregular{};
        TimedQueue& queue = state.queues[queues[op->port]];
        if (queue.sent == queue.stop && !make_room(queue)) {
          queue.sender_waits = true;
          return leave(Outcome::blocked);
        }
        const std::int64_t sent = std::max({now, place_free_at(queue), queue.link_free});
        stall_full += sent - now;
        now = sent;
        put(queue, sent);
        break;
      }
      case TimedOp::Kind::compute:
        now += op->cycles;
        busy[op->operation] += op->cycles;
        ++computations;
        break;
      case TimedOp::Kind::repeat: {
        std::int64_t* const loop = registers + std::size_t{2} * (op->level - 1U);
        if (--loop[1] > 0) {
          loop[0] += op->stride;
          instructions += op->counts;
          const bool pause = is_round ? ((op->rounds >> level) & 1U) != 0 : --turns == 0;
          op = ops + op->target;
          if (pause) return leave(Outcome::paused);
          --op;
          continue;
        }
        break;
      }
      case TimedOp::Kind::fixed_loop: {
        std::int64_t* const loop = registers + std::size_t{2} * op->level;
        loop[0] = op->first;
        loop[1] = op->trips;
        if (op->trips > 0) break;
        instructions += op->counts;
        op = ops + op->target - 1;
        continue;
      }
      case TimedOp::Kind::loop:
        if (open_loop(ordinal, *op)) break;
        instructions += op->counts;
        op = ops + op->target - 1;
        continue;
      case TimedOp::Kind::branch: {
        const Code& forms = array_.program().codes[pe.pe_class];
        if (holds(forms, forms.steps[op->step].lower, array_.environment(ordinal))) break;
        instructions += op->counts;
        op = ops + op->target - 1;
        continue;
      }
      case TimedOp::Kind::skip: break;
      case TimedOp::Kind::receive_from:
        if (!receive_from(ordinal, *op, now)) return leave(Outcome::blocked);
        break;
      case TimedOp::Kind::broadcast: {
        std::int64_t sent = now;
        if (!broadcast(ordinal, *op, sent)) return leave(Outcome::blocked);
        stall_full += sent - now;
        now = sent;
        break;
      }
      case TimedOp::Kind::halt: instructions += op->counts; return leave(Outcome::done);
    }
    instructions += op->counts;
  }
}

bool TimedEngine::open_loop(std::uint32_t ordinal, const TimedOp& op) {
  const TimedPe& pe = array_.state().pes[ordinal];
  const Code& code = array_.program().codes[pe.pe_class];
  const Step& step = code.steps[op.step];
  const std::int64_t* environment = array_.environment(ordinal);
  std::int64_t* const loop = array_.state().registers.data() + pe.registers + std::size_t{2} * op.level;
  loop[0] = lower_limit(code, step.lower, environment);
  loop[1] = loop_trips(loop[0], upper_limit(code, step.upper, environment), step.step);
  return loop[1] > 0;
}

/// All or nothing: the message enters every receiver's queue at once, when each has a place.
bool TimedEngine::broadcast(std::uint32_t ordinal, const TimedOp& op, std::int64_t& now) {
  TimedState& state = array_.state();
  const TimedPe& pe = state.pes[ordinal];
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
  std::int64_t sent = now;
  bool any = false;
  for (std::int64_t to = first; to <= last; ++to) {
    if (to == own) continue;
    TimedQueue& queue = queue_to(to);
    if (queue.sent == queue.stop && !make_room(queue)) {
      queue.sender_waits = true;
      return false;
    }
    sent = std::max({sent, place_free_at(queue), port_free});
    any = true;
  }
  if (!any) return true;
  now = sent;
  port_free = sent + channel.transfer;
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own) put(queue_to(to), sent);
  }
  return true;
}

bool TimedEngine::receive_from(std::uint32_t ordinal, const TimedOp& op, std::int64_t& now) {
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
  take(queue, now);
  return true;
}

/// A guess from the outermost loops of some of the PEs.
double TimedEngine::fraction_done() const {
  const TimedState& state = array_.state();
  const std::size_t every = std::max<std::size_t>(1, state.pes.size() / 64);
  double sum = 0, samples = 0;
  for (std::size_t p = 0; p < state.pes.size(); p += every, ++samples) {
    const TimedPe& pe = state.pes[p];
    const auto& ops = array_.code(pe).ops;
    double at = pe.counter;
    for (std::uint32_t n = 0; n < pe.counter; ++n) {  // the outermost loop that it is in
      const bool loop = ops[n].kind == TimedOp::Kind::loop || ops[n].kind == TimedOp::Kind::fixed_loop;
      if (!loop || ops[n].target <= pe.counter) continue;
      const Step& step = array_.program().codes[pe.pe_class].steps[ops[n].step];
      const std::int64_t* registers = state.registers.data() + pe.registers;
      const auto left = static_cast<double>(registers[1]);
      const auto size = static_cast<double>(ops[n].target - n);
      const auto past = ops[n].kind == TimedOp::Kind::fixed_loop
                            ? static_cast<double>(ops[n].trips) - left
                            : static_cast<double>(registers[0]) / static_cast<double>(step.step);
      at = n + size * std::clamp(past / (past + left), 0.0, 1.0);
      break;
    }
    sum += at / static_cast<double>(std::max<std::size_t>(1, ops.size() - 1));
  }
  return samples == 0 ? 1 : std::clamp(sum / samples, 0.0, 1.0);
}

Timing TimedEngine::timing() const {
  const TimedState& state = array_.state();
  Timing result;
  for (const TimedPe& pe : state.pes) result.cycles = std::max(result.cycles, pe.now);
  result.pes.assign(array_.grid_size(), PeCycles{.idle = result.cycles});
  std::array<std::vector<std::int64_t>*, operators::operator_count> columns{};
  const auto column = [&](Op op) -> std::vector<std::int64_t>& {
    auto& found = columns[static_cast<std::size_t>(op)];
    if (found == nullptr) {
      found = &result.busy_by_operator[std::string(operators::info(op).name)];
      found->resize(array_.grid_size());
    }
    return *found;
  };
  for (std::uint32_t o = 0; o < array_.count(); ++o) {
    const TimedPe& pe = state.pes[o];
    const TimedCode& code = array_.code(pe);
    const std::int64_t* busy = state.registers.data() + pe.registers + std::size_t{2} * code.loops;
    PeCycles& cycles = result.pes[array_.grid_index(o)];
    for (std::size_t n = 0; n < code.operators.size(); ++n) {
      if (busy[n] == 0) continue;
      cycles.busy += busy[n];
      column(code.operators[n])[array_.grid_index(o)] = busy[n];
    }
    cycles.stall_full = pe.stall_full;
    cycles.stall_empty = pe.now - cycles.busy - pe.stall_full;
    cycles.idle = result.cycles - pe.now;
  }
  for (std::size_t c = 0; c < state.messages.size(); ++c) {
    const auto& channel = array_.program().source->channels[c];
    result.channels.push_back({.name = channel.name,
                               .messages = state.messages[c],
                               .words = state.messages[c] * array_.program().channels[c].words,
                               .peak_occupancy = 0});
  }
  for (const TimedQueue& queue : state.queues) {
    auto& peak = result.channels[queue.channel].peak_occupancy;
    peak = std::max<std::int64_t>({peak, queue.peak, queue.sent - queue.received});
  }
  result.instructions = state.instructions;
  result.events_dropped = state.computations;
  return result;
}

void too_long() {
  throw ExecutionError({.code = "CYC708",
                        .span = {},
                        .message = "the program runs for more than 2^61 cycles",
                        .notes = {},
                        .help = "give operators and links smaller costs"});
}

}  // namespace cyclotron::runtime::simulator
