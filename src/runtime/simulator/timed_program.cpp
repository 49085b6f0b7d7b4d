#include "timed_program.hpp"

#include <algorithm>
#include <limits>

#include "simulation.hpp"
#include "tile_sizes.hpp"

namespace cyclotron::runtime::simulator {
namespace {

constexpr std::uint32_t most_levels = 8;  // bits of TimedOp::uniform

bool names(const Code& code, const Form& form, std::uint32_t variable) {
  const auto* first = code.terms.data() + form.first;
  return std::any_of(first, first + form.count, [&](const Term& t) { return t.variable == variable; });
}

bool names(const Code& code, Range limits, std::uint32_t variable) {
  const auto* first = code.limits.data() + limits.first;
  return std::any_of(first, first + limits.count,
                     [&](const Limit& limit) { return names(code, limit.numerator, variable); });
}

/// Whether what the step does next, or with whom, depends on the variable.
bool depends_on(const Code& code, const Step& step, std::uint32_t variable) {
  if (step.kind == Step::Kind::branch) {
    for (std::uint32_t c = 0; c < step.lower.count; ++c) {
      const Range tests = code.conjunctions[step.lower.first + c];
      for (std::uint32_t t = 0; t < tests.count; ++t) {
        if (names(code, code.tests[tests.first + t].form, variable)) return true;
      }
    }
    return false;
  }
  if (step.kind == Step::Kind::receive) return names(code, step.sender, variable);
  const bool limited = step.kind == Step::Kind::loop || step.kind == Step::Kind::broadcast;
  return limited && (names(code, step.lower, variable) || names(code, step.upper, variable));
}

class Compactor {
 public:
  Compactor(const machine::Pe& pe, const Code& code, const std::vector<TileSize>& slots)
      : pe_(pe), code_(code), slots_(slots) {}

  std::optional<TimedCode> run() {
    result_.loops = code_.variables - code_.dimensions;
    if (result_.loops > most_levels || code_.ports.size() > std::numeric_limits<std::uint16_t>::max())
      return std::nullopt;
    place_.resize(code_.steps.size());
    for (std::uint32_t at = 0; at < code_.steps.size(); ++at) {
      place_[at] = static_cast<std::uint32_t>(result_.ops.size());
      add(at);
    }
    for (TimedOp& op : result_.ops) op.target = place_[op.target];
    return std::move(result_);
  }

 private:
  /// `counts`: instructions, control excepted.
  TimedOp& push(TimedOp::Kind kind, std::uint32_t at, std::uint32_t counts) {
    const Step& step = code_.steps[at];
    TimedOp& op = result_.ops.emplace_back();
    op.kind = kind;
    op.level = static_cast<std::uint8_t>(open_.size());
    op.uniform = uniform_.empty() ? std::uint8_t{0} : uniform_.back();
    op.step = at;
    op.target = step.target;
    op.counts = pending_ + counts;
    pending_ = 0;
    return op;
  }

  void add(std::uint32_t at) {
    const Step& step = code_.steps[at];
    switch (step.kind) {
      case Step::Kind::loop: return open(at);
      case Step::Kind::repeat: return close(at);
      case Step::Kind::branch: push(TimedOp::Kind::branch, at, 0); return;
      case Step::Kind::skip:
        if (pending_ > 0) push(TimedOp::Kind::skip, at, 0);
        return;
      case Step::Kind::load:
      case Step::Kind::store:
      case Step::Kind::move: ++pending_; return;
      case Step::Kind::send: return push_port(TimedOp::Kind::send, at);
      case Step::Kind::broadcast: return push_port(TimedOp::Kind::broadcast, at);
      case Step::Kind::receive: {
        const bool network = code_.ports[step.port].kind == Port::Kind::network_in;
        return push_port(network ? TimedOp::Kind::receive_from : TimedOp::Kind::receive, at);
      }
      case Step::Kind::compute: return compute(at);
      case Step::Kind::halt: push(TimedOp::Kind::halt, at, 0); return;
    }
  }

  void open(std::uint32_t at) {
    const Step& step = code_.steps[at];
    const auto constant = [&](Range limits) {
      return limits.count == 1 && code_.limits[limits.first].numerator.count == 0;
    };
    const bool fixed = constant(step.lower) && constant(step.upper);
    TimedOp& op = push(fixed ? TimedOp::Kind::fixed_loop : TimedOp::Kind::loop, at, 0);
    if (fixed) {
      op.first = lower_limit(code_, step.lower, nullptr);
      op.trips = loop_trips(op.first, upper_limit(code_, step.upper, nullptr), step.step);
    }
    const bool varies =
        std::any_of(code_.steps.begin() + at + 1, code_.steps.begin() + step.target,
                    [&](const Step& inner) { return depends_on(code_, inner, step.variable); });
    const std::uint32_t mine = varies ? 0U : 1U << open_.size();
    uniform_.push_back(static_cast<std::uint8_t>((uniform_.empty() ? 0U : uniform_.back()) | mine));
    if (!open_.empty()) holds_loop_.back() = true;
    open_.push_back(at);
    holds_loop_.push_back(false);
  }

  void close(std::uint32_t at) {
    TimedOp& op = push(TimedOp::Kind::repeat, at, 0);
    const auto level = open_.size() - 1;
    op.rounds = static_cast<std::uint8_t>((holds_loop_.back() ? 1U : 0xffU) << level);
    op.stride = code_.steps[at].step;
    open_.pop_back();
    holds_loop_.pop_back();
    uniform_.pop_back();
  }

  void push_port(TimedOp::Kind kind, std::uint32_t at) {
    TimedOp& op = push(kind, at, 1);
    op.port = static_cast<std::uint16_t>(code_.steps[at].port);
    op.channel = static_cast<std::uint16_t>(code_.ports[op.port].channel);
  }

  void compute(std::uint32_t at) {
    const Step& step = code_.steps[at];
    TimedOp& op = push(TimedOp::Kind::compute, at, 1);
    op.cycles = operator_cycles(pe_, step, operand_shapes(code_, step, slots_));
    const auto found = std::find(result_.operators.begin(), result_.operators.end(), step.op);
    op.operation = static_cast<std::uint32_t>(found - result_.operators.begin());
    if (found == result_.operators.end()) result_.operators.push_back(step.op);
  }

  const machine::Pe& pe_;
  const Code& code_;
  const std::vector<TileSize>& slots_;
  TimedCode result_;
  std::vector<std::uint32_t> place_;  // Of each step, the first op at or after it.
  std::uint32_t pending_ = 0;         // Instructions that take no time, to be counted with the next op.
  std::vector<std::uint32_t> open_;
  std::vector<std::uint8_t> uniform_;
  std::vector<bool> holds_loop_;
};

TimedChannel time_channel(const program::Program& program, std::size_t number, TileSize size) {
  const auto& channel = program.channels[number];
  const bool network = channel.kind == program::Channel::Kind::network;
  const machine::Link& link = network ? program.machine.broadcast : program.machine.link;
  TimedChannel result;
  result.transfer = transfer_cycles(size, link);
  result.delay = link.latency_cycles + result.transfer - 1;
  result.response = link.response_latency_cycles;
  result.words = size.words();
  const std::int64_t depth = channel.depth > 0 ? channel.depth : link.depth;
  result.depth = static_cast<std::uint32_t>(std::min(depth, machine::unbounded_depth));
  result.axis = channel.axis;
  result.network = network;
  return result;
}

}  // namespace

std::int64_t loop_trips(std::int64_t first, std::int64_t last, std::int64_t step) {
  if (first > last) return 0;
  const auto span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(span / static_cast<std::uint64_t>(step), std::uint64_t{1} << 62) + 1);
}

std::optional<TimedProgram> time_program(const program::Program& program) {
  TimedProgram result{.source = &program, .codes = {}, .classes = {}, .channels = {}};
  if (program.channels.size() > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  for (std::size_t c = 0; c < program.classes.size(); ++c) result.codes.push_back(decode(program, c));
  const auto sizes = constant_tile_sizes(program, result.codes);
  if (!sizes) return std::nullopt;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    auto code = Compactor(program.machine.pe, result.codes[c], sizes->slots[c]).run();
    if (!code) return std::nullopt;
    result.classes.push_back(std::move(*code));
  }
  for (std::size_t n = 0; n < program.channels.size(); ++n)
    result.channels.push_back(time_channel(program, n, sizes->channels[n]));
  return result;
}

}  // namespace cyclotron::runtime::simulator
