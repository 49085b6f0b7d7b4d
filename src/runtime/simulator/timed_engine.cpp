#include "timed_engine.hpp"

#include <algorithm>
#include <array>

namespace cyclotron::runtime::simulator {
TimedEngine::TimedEngine(TimedProgram program, const Progress& progress)
    : array_(std::move(program)),
      pulse_(progress),
      ready_(array_.count()),
      controller_(*array_.program().source, array_.grid_indices()) {
  for (std::uint32_t o = 0; o < array_.count(); ++o) ready_.insert(o);
}

bool TimedEngine::run() {
  for (const std::uint32_t ordinal : waiting_) ready_.insert(ordinal);
  waiting_.clear();
  least_room_ = iterations_a_turn;
  do {
    if (ranks_) {
      run_ready<Mode::dealt>(0);
    } else {
      run_ready<Mode::whole>(0);
    }
  } while (grant(MemoryPorts::never) ||
           (ranks_ && ranks_->grant([&](std::uint32_t ordinal) { ready_.insert(ordinal); })));
  return finished();
}

bool TimedEngine::within_depths() const {
  const auto& channels = array_.program().channels;
  return std::ranges::all_of(array_.state().queues, [&](const TimedQueue& queue) {
    return queue.sent - queue.received <= channels[queue.channel].depth;
  });
}

bool TimedEngine::run_round(std::uint32_t level) {
  for (const std::uint32_t ordinal : waiting_) ready_.insert(ordinal);
  waiting_.clear();
  std::size_t seen = 0;
  std::int64_t limit = MemoryPorts::never;  // what PEs of the next round ask for is not earlier
  do {
    run_ready<Mode::round>(level);
    for (; seen < waiting_.size(); ++seen) limit = std::min(limit, array_.state().pes[waiting_[seen]].now);
  } while (grant(limit));
  return !waiting_.empty();
}

template <TimedEngine::Mode mode>
void TimedEngine::run_ready(std::uint32_t level) {
  for (std::uint32_t ordinal = 0; ready_.take(ordinal);) {
    const Outcome outcome = advance<mode>(ordinal, level);
    if (outcome == Outcome::done) ++done_;
    if (outcome == Outcome::turn_ends) ready_.insert(ordinal);
    if (outcome == Outcome::round_ends) waiting_.push_back(ordinal);
    pulse_.tick(iterations_a_turn, [&] { return fraction_done(); });
  }
}

template <TimedEngine::Mode mode>
TimedEngine::Outcome TimedEngine::advance(std::uint32_t ordinal, [[maybe_unused]] std::uint32_t level) {
  constexpr bool is_round = mode == Mode::round, is_dealt = mode == Mode::dealt;
  TimedState& state = array_.state();
  TimedPe& pe = state.pes[ordinal];
  const TimedCode& code = array_.code(pe);
  const TimedOp* const ops = code.ops.data();
  const TimedOp* op = ops + pe.counter;
  const std::uint32_t* const queues = array_.queues_of(pe).data();
  const TimedChannel* const channels = array_.program().channels.data();
  std::int64_t* const registers = state.registers.data() + pe.registers;
  std::int64_t* const blocks = registers + std::size_t{2} * code.loops;
  std::int64_t now = pe.now, stall_full = pe.stall_full;
  std::int64_t turns = iterations_a_turn;
  const auto count = [&](const TimedOp& control, std::int64_t times) {
    if (control.block != TimedOp::uncounted) blocks[control.block] += times;
  };
  [[maybe_unused]] const auto ends_round = [&](const TimedOp& repeat) {
    return ((repeat.rounds >> level) & 1U) != 0;
  };
  // The clock is in registers, but for calls that work on it.
  const auto save = [&] {
    pe.now = now;
    pe.stall_full = stall_full;
  };
  const auto restore = [&] {
    now = pe.now;
    stall_full = pe.stall_full;
  };
  const auto leave = [&](Outcome outcome) {
    save();
    pe.counter = static_cast<std::uint32_t>(op - ops);
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
        [[maybe_unused]] const std::int64_t before = now;
        take(queue, channels[op->channel], now);
        if constexpr (is_round) record(ordinal, now, now > before);
        break;
      }
      case TimedOp::Kind::send: {
        if (queues[op->port] == TimedArray::none) throw Irregular{};
        const TimedChannel& channel = channels[op->channel];
        TimedQueue& queue = state.queues[queues[op->port]];
        if (queue.sent == queue.stop && !make_room(queue, channel)) {
          queue.sender_waits = true;
          return leave(Outcome::blocked);
        }
        if constexpr (is_dealt) {
          save();
          if (!send_in_turn(ordinal, queue)) return leave(Outcome::blocked);
          restore();
          break;
        }
        const std::int64_t sent = std::max({now, place_free_at(queue, channel), queue.link_free});
        stall_full += sent - now;
        now = sent;
        put(queue, channel, sent);
        if constexpr (is_round) record(ordinal, now, false);
        break;
      }
      case TimedOp::Kind::compute:
        if constexpr (is_dealt) {
          save();
          if (!compute_in_turn(ordinal, *op)) return leave(Outcome::blocked);
          restore();
        } else {
          now += op->cycles;
        }
        break;
      case TimedOp::Kind::body: {
        const TimedOp& end = ops[op->target];
        // Step by step where rounds may end, and where each send and receive is recorded.
        if (is_dealt || (is_round && (ends_round(end) || array_.recorder() != nullptr))) break;
        std::int64_t* const loop = registers + std::size_t{2} * (op->level - 1U);
        save();
        const std::int64_t ran = run_body(pe, code.bodies[op->body], std::min(loop[1], turns));
        restore();
        if (ran == 0) break;  // step by step to where it has to wait
        count(end, ran);
        loop[0] += (ran - (ran == loop[1] ? 1 : 0)) * end.stride;
        loop[1] -= ran;
        turns -= ran;
        if (loop[1] == 0) {
          op = &end;
        } else if (turns <= 0) {
          return leave(Outcome::turn_ends);
        } else {
          --op;
        }
        break;
      }
      case TimedOp::Kind::repeat: {
        count(*op, 1);
        std::int64_t* const loop = registers + std::size_t{2} * (op->level - 1U);
        if (--loop[1] == 0) break;
        loop[0] += op->stride;
        const bool round_ends = is_round && ends_round(*op);
        op = ops + op->target;
        if (round_ends) return leave(Outcome::round_ends);
        if (--turns <= 0) return leave(Outcome::turn_ends);
        --op;
        break;
      }
      case TimedOp::Kind::fixed_loop: {
        count(*op, 1);
        std::int64_t* const loop = registers + std::size_t{2} * op->level;
        loop[0] = op->first;
        loop[1] = op->trips;
        if (op->trips == 0) op = ops + op->target - 1;
        break;
      }
      case TimedOp::Kind::loop:
        count(*op, 1);
        if (!open_loop(ordinal, *op)) op = ops + op->target - 1;
        break;
      case TimedOp::Kind::branch: {
        count(*op, 1);
        const Code& forms = array_.program().codes[pe.pe_class];
        const Range conditions = forms.steps[op->step].lower;
        if (!holds(forms, conditions, array_.environment(ordinal))) op = ops + op->target - 1;
        break;
      }
      case TimedOp::Kind::skip: count(*op, 1); break;
      case TimedOp::Kind::receive_from:
        save();
        if (!receive_from(ordinal, *op)) return leave(Outcome::blocked);
        restore();
        break;
      case TimedOp::Kind::broadcast:
        save();
        if (!(is_dealt ? broadcast_in_turn(ordinal, *op) : broadcast(ordinal, *op)))
          return leave(Outcome::blocked);
        restore();
        break;
      case TimedOp::Kind::load:
      case TimedOp::Kind::store:
        save();
        if (!access(ordinal, *op)) return leave(Outcome::blocked);
        restore();
        break;
      case TimedOp::Kind::call: controller_.call(ordinal, now); break;
      case TimedOp::Kind::decide:
        save();
        if (!decide(ordinal, *op)) return leave(Outcome::blocked);
        restore();
        break;
      case TimedOp::Kind::halt:
        save();
        if (!finish(ordinal)) return leave(Outcome::blocked);
        restore();
        count(*op, 1);
        return leave(Outcome::done);
    }
  }
}

bool TimedEngine::access(std::uint32_t ordinal, const TimedOp& op) {
  MemoryPorts& memory = array_.memory();
  if (!memory.serves(ordinal)) return true;
  std::int64_t& now = array_.state().pes[ordinal].now;
  const auto passed = op.kind == TimedOp::Kind::load ? memory.load(ordinal, op.words, now)
                                                     : memory.store(ordinal, op.words, now);
  if (passed) now = *passed;
  return passed.has_value();
}

bool TimedEngine::finish(std::uint32_t ordinal) {
  if (!array_.memory().serves(ordinal)) return true;
  std::int64_t& now = array_.state().pes[ordinal].now;
  const auto done = array_.memory().finish(ordinal, now);
  if (done) now = *done;
  return done.has_value();
}

bool TimedEngine::decide(std::uint32_t ordinal, const TimedOp& op) {
  TimedPe& pe = array_.state().pes[ordinal];
  const std::int64_t iteration = array_.state().registers[pe.registers + std::size_t{2} * (op.level - 1U)];
  return controller_.pass(ordinal, static_cast<std::uint32_t>(op.first), iteration, pe.now,
                          [&](std::uint32_t other) { ready_.insert(other); });
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

}  // namespace cyclotron::runtime::simulator
