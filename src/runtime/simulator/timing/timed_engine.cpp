#include "timed_engine.hpp"

#include <algorithm>
#include <array>

#include "timed_lockstep.hpp"

namespace cyclotron::runtime::simulator {
TimedEngine::TimedEngine(TimedProgram program, const Progress& progress, const ControlledRun* control)
    : array_(std::move(program)),
      ticker_(progress),
      ready_(array_.count()),
      controller_(control, *array_.program().source, array_.grid_indices()) {
  for (std::uint32_t o = 0; o < array_.count(); ++o) ready_.insert(o);
}

/// A PE's turn: as many of its ops as it gets through. The clock is in registers, but for calls that work on it, as long
/// as no member but these sees the turn: so all are inlined.
template <TimedEngine::Mode mode>
class TimedEngine::Turn {
 public:
  /// `level`: of the loops whose iterations end a round.
  [[gnu::always_inline]] Turn(TimedEngine& engine, std::uint32_t ordinal, std::uint32_t level)
      : engine_(engine),
        ordinal_(ordinal),
        level_(level),
        state_(engine.array_.state()),
        pe_(state_.pes[ordinal]),
        code_(engine.array_.code(pe_)),
        op_(code_.ops.data() + pe_.counter),
        queues_(engine.array_.queues_of(pe_).data()),
        channels_(engine.array_.program().channels.data()),
        registers_(state_.registers.data() + pe_.registers),
        blocks_(registers_ + std::size_t{2} * code_.loops),
        now_(pe_.now),
        stall_full_(pe_.stall_full) {}

  [[gnu::always_inline]] Outcome run() {
    using Kind = TimedOp::Kind;
    for (;; ++op_) {
      bool goes_on = true;
      switch (op_->kind) {
        case Kind::receive: goes_on = receive(); break;
        case Kind::send: goes_on = send(); break;
        case Kind::compute: goes_on = compute(); break;
        case Kind::body:
          if (!run_iterations()) return leave(Outcome::turn_ends);
          break;
        case Kind::repeat: {
          count(*op_, 1);
          if (!next_iteration()) break;
          const bool round_ends = ends_round(*op_);
          op_ = code_.ops.data() + op_->target;
          if (round_ends) return leave(Outcome::round_ends);
          if (--turns_ <= 0) return leave(Outcome::turn_ends);
          --op_;
          break;
        }
        case Kind::fixed_loop: open_fixed_loop(); break;
        case Kind::loop: go_on_if(engine_.open_loop(ordinal_, *op_)); break;
        case Kind::branch: go_on_if(condition_holds()); break;
        case Kind::skip: count(*op_, 1); break;
        case Kind::receive_from: goes_on = call([&] { return engine_.receive_from(ordinal_, *op_); }); break;
        case Kind::broadcast: goes_on = call([&] { return broadcast(); }); break;
        case Kind::load:
        case Kind::store: goes_on = call([&] { return engine_.access(ordinal_, *op_); }); break;
        case Kind::call: goes_on = call([&] { return engine_.begin_call(ordinal_, *op_); }); break;
        case Kind::decide: goes_on = call([&] { return engine_.decide(ordinal_, *op_); }); break;
        case Kind::halt:
          if (!call([&] { return engine_.finish(ordinal_); })) return leave(Outcome::blocked);
          count(*op_, 1);
          return leave(Outcome::done);
      }
      if (!goes_on) return leave(Outcome::blocked);
    }
  }

 private:
  static constexpr bool is_round = mode == Mode::round, is_dealt = mode == Mode::dealt;

  // Each of these returns false where the PE has to wait.
  [[gnu::always_inline]] bool receive() {
    TimedQueue& queue = state_.queues[queues_[op_->port]];
    if (queue.received == queue.sent) {
      queue.receiver_waits = true;
      return false;
    }
    [[maybe_unused]] const std::int64_t before = now_;
    engine_.take(queue, channels_[op_->channel], now_);
    if constexpr (is_round) engine_.record(ordinal_, now_, now_ > before);
    return true;
  }

  [[gnu::always_inline]] bool send() {
    if (queues_[op_->port] == TimedArray::none) throw NeedsInterpreter{};
    const TimedChannel& channel = channels_[op_->channel];
    TimedQueue& queue = state_.queues[queues_[op_->port]];
    if (queue.sent == queue.stop && !engine_.make_room(queue, channel)) {
      queue.sender_waits = true;
      return false;
    }
    if constexpr (is_dealt) return call([&] { return engine_.send_in_turn(ordinal_, queue); });
    const std::int64_t sent = std::max({now_, engine_.place_free_at(queue, channel), queue.link_free});
    stall_full_ += sent - now_;
    now_ = sent;
    engine_.put(queue, channel, sent);
    if constexpr (is_round) engine_.record(ordinal_, now_, false);
    return true;
  }

  [[gnu::always_inline]] bool compute() {
    if constexpr (is_dealt) return call([&] { return engine_.compute_in_turn(ordinal_, *op_); });
    now_ += op_->cycles;
    return true;
  }

  [[gnu::always_inline]] bool broadcast() {
    return is_dealt ? engine_.broadcast_in_turn(ordinal_, *op_) : engine_.broadcast(ordinal_, *op_);
  }

  /// Of a body, as many as there are messages and places for; the others go step by step. False: the turn ends.
  [[gnu::always_inline]] bool run_iterations() {
    const TimedOp& end = code_.ops[op_->target];
    // Step by step where rounds may end, and where each send and receive is recorded.
    if (is_dealt || (is_round && (ends_round(end) || engine_.array_.recorder() != nullptr))) return true;
    std::int64_t* const loop = registers_ + std::size_t{2} * (op_->level - 1U);
    save();
    const std::int64_t ran = engine_.run_body(pe_, code_.bodies[op_->body], std::min(loop[1], turns_));
    restore();
    if (ran == 0) return true;  // step by step to where it has to wait
    count(end, ran);
    loop[0] += (ran - (ran == loop[1] ? 1 : 0)) * end.stride;
    loop[1] -= ran;
    turns_ -= ran;
    if (loop[1] == 0) {
      op_ = &end;
      return true;
    }
    if (turns_ <= 0) return false;
    --op_;  // the same again
    return true;
  }

  /// False where the loop is done.
  [[gnu::always_inline]] bool next_iteration() {
    std::int64_t* const loop = registers_ + std::size_t{2} * (op_->level - 1U);
    if (--loop[1] == 0) return false;
    loop[0] += op_->stride;
    return true;
  }

  [[gnu::always_inline]] void open_fixed_loop() {
    std::int64_t* const loop = registers_ + std::size_t{2} * op_->level;
    loop[0] = op_->first;
    loop[1] = op_->trips;
    go_on_if(op_->trips != 0);
  }

  [[gnu::always_inline]] bool condition_holds() {
    const Code& forms = engine_.array_.program().codes[pe_.pe_class];
    return holds(forms, forms.steps[op_->step].lower, engine_.array_.environment(ordinal_));
  }

  /// Into a block, or past it.
  [[gnu::always_inline]] void go_on_if(bool entered) {
    count(*op_, 1);
    if (!entered) op_ = code_.ops.data() + op_->target - 1;
  }

  [[gnu::always_inline]] void count(const TimedOp& control, std::int64_t times) {
    if (control.block != TimedOp::uncounted) blocks_[control.block] += times;
  }

  [[nodiscard, gnu::always_inline]] bool ends_round(const TimedOp& repeat) const {
    return is_round && ((repeat.rounds >> level_) & 1U) != 0;
  }

  /// Calls what works on the PE's clock; false where the PE has to wait, and its clock is as it was.
  template <class Call>
  [[gnu::always_inline]] bool call(Call work) {
    save();
    if (!work()) return false;
    restore();
    return true;
  }
  [[gnu::always_inline]] void save() {
    pe_.now = now_;
    pe_.stall_full = stall_full_;
  }
  [[gnu::always_inline]] void restore() {
    now_ = pe_.now;
    stall_full_ = pe_.stall_full;
  }
  [[gnu::always_inline]] Outcome leave(Outcome outcome) {
    save();
    pe_.counter = static_cast<std::uint32_t>(op_ - code_.ops.data());
    if (now_ > latest) too_long();
    return outcome;
  }

  TimedEngine& engine_;
  const std::uint32_t ordinal_;
  const std::uint32_t level_;
  TimedState& state_;
  TimedPe& pe_;
  const TimedCode& code_;
  const TimedOp* op_;
  const std::uint32_t* const queues_;
  const TimedChannel* const channels_;
  std::int64_t* const registers_;
  std::int64_t* const blocks_;
  std::int64_t now_, stall_full_;
  std::int64_t turns_ = iterations_a_turn;
};

template <TimedEngine::Mode mode>
void TimedEngine::run_ready(std::uint32_t level) {
  for (std::uint32_t ordinal = 0; ready_.take(ordinal) || go_on_with_paused(ordinal);) {
    const Outcome outcome = advance<mode>(ordinal, level);
    if (outcome == Outcome::done) {
      ++done_;
      controller_.finish(ordinal, array_.state().pes[ordinal].now,
                         [&](std::uint32_t other) { ready_.insert(other); });
    }
    if (outcome == Outcome::turn_ends) paused_.push_back(ordinal);
    if (outcome == Outcome::round_ends) waiting_.push_back(ordinal);
    ticker_.tick(iterations_a_turn, [&] { return fraction_done(); });
  }
}

/// Those whose turns ended come when all others have to wait, so that each finds what the one before it sends by then.
bool TimedEngine::go_on_with_paused(std::uint32_t& ordinal) {
  for (const std::uint32_t paused : paused_) ready_.insert(paused);
  paused_.clear();
  ready_.restart();
  return ready_.take(ordinal);
}

template <TimedEngine::Mode mode>
TimedEngine::Outcome TimedEngine::advance(std::uint32_t ordinal, std::uint32_t level) {
  Turn<mode> turn(*this, ordinal, level);
  return turn.run();
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

bool TimedEngine::run_in_lockstep() {
  if (!simulator::run_in_lockstep(array_, ticker_)) return false;
  done_ = array_.count();
  return true;
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
  if (outcomes_ != nullptr) return end_iteration(ordinal, op), true;
  return controller_.decide(ordinal, static_cast<std::uint32_t>(op.first), iteration, pe.now,
                            [&](std::uint32_t other) { ready_.insert(other); });
}

bool TimedEngine::begin_call(std::uint32_t ordinal, const TimedOp& op) {
  TimedPe& pe = array_.state().pes[ordinal];
  const Code& code = array_.program().codes[pe.pe_class];
  return controller_.call(ordinal, code.index, op.step, pe.now,
                          [&](std::uint32_t other) { ready_.insert(other); });
}

void TimedEngine::end_loops(const std::vector<program::ExitOutcome>& outcomes) {
  outcomes_ = &outcomes;
  runs_.assign(array_.count() * outcomes.size(), 0);
}

/// Leaves iterations out where the loop ends with this one.
void TimedEngine::end_iteration(std::uint32_t ordinal, const TimedOp& op) {
  const auto plan = static_cast<std::size_t>(op.first);
  std::int64_t& number = runs_[ordinal * outcomes_->size() + plan];
  std::int64_t* const loop = array_.state().registers.data() + array_.state().pes[ordinal].registers +
                             std::size_t{2} * (op.level - 1U);
  const auto* run = (*outcomes_)[plan].find(number);
  if (run != nullptr && run->at == loop[0]) {
    loop[0] += run->skipped;
    loop[1] -= run->skipped;
  }
  if (loop[1] == 1) ++number;
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
