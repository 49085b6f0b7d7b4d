#include "timed_program.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/wires.hpp>

#include "../../engine/cycles.hpp"
#include "../../engine/pe_array.hpp"
#include "../../engine/control.hpp"
#include "tile_sizes.hpp"
#include "timed_wires.hpp"
#include "work.hpp"

namespace cyclotron::runtime::simulator {
namespace {

class Compactor {
 public:
  /// `served`: by a memory, some of the class's PEs.
  Compactor(const TimedProgram& program, const Code& code, const std::vector<TileSize>& slots, bool served)
      : program_(program), code_(code), slots_(slots), served_(served) {}

  std::optional<TimedCode> run() {
    result_.loops = code_.variables - code_.dimensions;
    result_.ports = static_cast<std::uint32_t>(code_.ports.size());
    if (result_.ports > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
    place_.resize(code_.steps.size());
    for (std::uint32_t at = 0; at < code_.steps.size(); ++at) {
      place_[at] = static_cast<std::uint32_t>(result_.ops.size()) - (after_body_ ? 1U : 0U);
      after_body_ = false;
      add(at);
    }
    for (TimedOp& op : result_.ops) op.target = place_[op.target];
    return std::move(result_);
  }

 private:
  TimedOp& push(TimedOp::Kind kind, std::uint32_t at) {
    TimedOp& op = result_.ops.emplace_back();
    op.kind = kind;
    op.level = static_cast<std::uint8_t>(open_.size());
    op.uniform = open_.empty() ? std::uint8_t{0} : open_.back().uniform;
    op.step = at;
    op.target = code_.steps[at].target;
    return op;
  }

  TimedOp& push_control(TimedOp::Kind kind, std::uint32_t at) {
    TimedOp& op = push(kind, at);
    op.block = end_block();
    return op;
  }

  /// Counter of the instructions since the last control.
  std::uint32_t end_block() {
    if (!in_block_) return TimedOp::uncounted;
    in_block_ = false;
    if (open_.empty() && branches_ == 0) {  // every PE comes here once, and has to, to finish
      const TimedBlock block = std::exchange(block_, {});
      add_work(result_.once.work, block.work);
      result_.once.busy.insert(result_.once.busy.end(), block.busy.begin(), block.busy.end());
      return TimedOp::uncounted;
    }
    result_.blocks.push_back(std::exchange(block_, {}));
    return static_cast<std::uint32_t>(result_.blocks.size() - 1);
  }

  void add(std::uint32_t at) {
    const Step& step = code_.steps[at];
    if (step.begins_call) push(TimedOp::Kind::call, at);
    switch (step.kind) {
      case Step::Kind::loop: return open(at);
      case Step::Kind::repeat: return close(at);
      case Step::Kind::branch:
        push_control(TimedOp::Kind::branch, at);
        ++branches_;
        return;
      case Step::Kind::skip:
        if (in_block_) push_control(TimedOp::Kind::skip, at);
        --branches_;
        return;
      case Step::Kind::exit:
        if (program::uses_controller(*program_.source)) push(TimedOp::Kind::decide, at).first = step.plan;
        return;
      case Step::Kind::load: return add_access(TimedOp::Kind::load, at);
      case Step::Kind::store: return add_access(TimedOp::Kind::store, at);
      case Step::Kind::move: return count(step);
      case Step::Kind::send: return push_port(TimedOp::Kind::send, at);
      case Step::Kind::broadcast: return push_port(TimedOp::Kind::broadcast, at);
      case Step::Kind::receive: {
        const bool network = code_.ports[step.port].kind == Port::Kind::network_in;
        return push_port(network ? TimedOp::Kind::receive_from : TimedOp::Kind::receive, at);
      }
      case Step::Kind::compute: return compute(at);
      case Step::Kind::halt: push_control(TimedOp::Kind::halt, at); return;
    }
  }

  void open(std::uint32_t at) {
    const Step& step = code_.steps[at];
    const auto constant = [&](Range limits) {
      return limits.count == 1 && code_.limits[limits.first].numerator.count == 0;
    };
    const bool fixed = constant(step.lower) && constant(step.upper);
    TimedOp& op = push_control(fixed ? TimedOp::Kind::fixed_loop : TimedOp::Kind::loop, at);
    if (fixed) {
      op.first = lower_limit(code_, step.lower, nullptr);
      op.trips = loop_trips(op.first, upper_limit(code_, step.upper, nullptr), step.step);
    }
    const auto first = code_.steps.begin() + at + 1, last = code_.steps.begin() + step.target;
    const bool varies =
        std::any_of(first, last, [&](const Step& s) { return depends_on(code_, s, step.variable); });
    const bool innermost =
        std::none_of(first, last, [](const Step& s) { return s.kind == Step::Kind::loop; });
    const std::uint32_t uniform = (open_.empty() ? 0U : open_.back().uniform) |  // that of the loops around
                                  (varies ? 0U : 1U << open_.size());
    open_.push_back({static_cast<std::uint8_t>(uniform), innermost});
    if (innermost && std::none_of(first, last, [&](const Step& s) { return is_general(s); })) push_body(at);
  }

  void close(std::uint32_t at) {
    TimedOp& op = push_control(TimedOp::Kind::repeat, at);
    op.rounds = static_cast<std::uint8_t>((open_.back().innermost ? 0xffU : 1U) << (open_.size() - 1));
    op.stride = code_.steps[at].step;
    open_.pop_back();
  }

  void add_access(TimedOp::Kind kind, std::uint32_t at) {
    const Step& step = code_.steps[at];
    const SlotAccess& access = code_.accesses[step.access];
    if (served_ && !step.resident) push(kind, at).words = access.scalar ? 1 : slots_[access.slot].words();
    count(step);
  }

  void push_port(TimedOp::Kind kind, std::uint32_t at) {
    TimedOp& op = push(kind, at);
    op.port = static_cast<std::uint16_t>(code_.steps[at].port);
    op.channel = static_cast<std::uint16_t>(code_.ports[op.port].channel);
    count(code_.steps[at]);
    if (kind != TimedOp::Kind::broadcast) return;
    TimedBlock message;
    const std::int64_t words = program_.channels[op.channel].words;
    message.work.on(program_.channels[op.channel].source).sent = words;
    add_amounts(message.work, code_, code_.steps[at], {}, words, 1);
    op.block = static_cast<std::uint32_t>(result_.blocks.size());
    result_.blocks.push_back(std::move(message));
  }

  /// Of a broadcast, its message not.
  void count(const Step& step) {
    in_block_ = true;
    add_step(block_.work, code_, step, slots_, program_.channels);
  }

  void compute(std::uint32_t at) {
    TimedOp& op = push(TimedOp::Kind::compute, at);
    op.cycles = cycles(code_.steps[at]);
    count(code_.steps[at]);
    if (op.cycles > 0) block_.busy.emplace_back(code_.steps[at].op, op.cycles);
  }

  [[nodiscard]] std::int64_t cycles(const Step& step) const {
    return operator_cycles(*program_.source, code_, step, operand_shapes(code_, step, slots_));
  }

  [[nodiscard]] bool is_general(const Step& step) const {
    const bool network =
        step.kind == Step::Kind::receive && code_.ports[step.port].kind == Port::Kind::network_in;
    const bool memory = (step.kind == Step::Kind::load || step.kind == Step::Kind::store) && !step.resident;
    const bool decides = step.kind == Step::Kind::exit && program::uses_controller(*program_.source);
    return network || (memory && served_) || decides || step.begins_call || step.kind == Step::Kind::branch ||
           step.kind == Step::Kind::broadcast;
  }

  /// The steps after `at`, up to the loop's end, as one body, if it does not use too many ports and its queues
  /// are deep enough for several iterations: fewer run faster step by step.
  void push_body(std::uint32_t at) {
    TimedBody body;
    for (std::uint32_t n = at + 1; code_.steps[n].kind != Step::Kind::repeat; ++n) {
      const Step& step = code_.steps[n];
      if (step.kind == Step::Kind::compute) {
        body.ops.push_back({.cycles = cycles(step)});
        body.cycles += cycles(step);
      } else if (step.kind == Step::Kind::send || step.kind == Step::Kind::receive) {
        add_message(body, step);
      }
    }
    const auto shallow = [&](const TimedBody::Lane& lane) {
      return program_.channels[lane.channel].window < std::uint64_t{4} * lane.messages;
    };
    if (body.lanes.empty() || body.lanes.size() > TimedBody::most_lanes ||
        std::any_of(body.lanes.begin(), body.lanes.end(), shallow)) {
      return;
    }
    body.steady = std::all_of(body.lanes.begin(), body.lanes.end(), [&](const TimedBody::Lane& lane) {
      return lane.messages == 1 && (!lane.sends || program_.channels[lane.channel].transfer <= body.cycles);
    });
    TimedOp& op = push(TimedOp::Kind::body, at);
    op.body = static_cast<std::uint32_t>(result_.bodies.size());
    op.target = code_.steps[at].target - 1;
    result_.bodies.push_back(std::move(body));
    after_body_ = true;
  }

  void add_message(TimedBody& body, const Step& step) {
    const bool sends = step.kind == Step::Kind::send;
    const auto lane =
        static_cast<std::size_t>(std::find_if(body.lanes.begin(), body.lanes.end(),
                                              [&](const auto& l) { return l.port == step.port; }) -
                                 body.lanes.begin());
    const auto number = static_cast<std::uint16_t>(code_.ports[step.port].channel);
    if (lane == body.lanes.size())
      body.lanes.push_back({static_cast<std::uint16_t>(step.port), number, sends, 0});
    ++body.lanes[lane].messages;
    const TimedChannel& channel = program_.channels[number];
    body.ops.push_back({.kind = sends ? TimedOp::Kind::send : TimedOp::Kind::receive,
                        .lane = static_cast<std::uint8_t>(std::min<std::size_t>(lane, 0xff)),
                        .cycles = channel.delay,
                        .before = body.cycles,
                        .transfer = channel.transfer,
                        .response = channel.response});
  }

  struct Open {
    std::uint8_t uniform;
    bool innermost;
  };
  const TimedProgram& program_;
  const Code& code_;
  const std::vector<TileSize>& slots_;
  bool served_;
  TimedCode result_;
  std::vector<std::uint32_t> place_;  // Of each step, the first op at or after it.
  TimedBlock block_;                  // Since the last control.
  bool in_block_ = false;             // There is anything in it.
  std::uint32_t branches_ = 0;        // Around.
  bool after_body_ = false;           // The loop's first step is its body's.
  std::vector<Open> open_;
};

/// By class, whether a memory serves any of its PEs.
std::vector<bool> served_classes(const program::Program& program) {
  std::vector<bool> result(program.classes.size(), false);
  std::int64_t size = 1;
  for (const std::int64_t extent : program.grid) {
    if (__builtin_mul_overflow(size, extent, &size) || size > pe_limit)
      return result;  // `TimedArray` refuses it
  }
  const auto ports = machine::attach(program.machine.memories, program.grid).of_pe;
  if (ports.empty()) return result;
  const auto classes = program.class_map();
  for (std::size_t index = 0; index < ports.size(); ++index) {
    if (ports[index] != machine::Attachment::none && classes[index] != program::Program::unmapped)
      result[classes[index]] = true;
  }
  return result;
}

TimedChannel time_channel(const program::Program& program, const TimedWires::Channel& wire, TileSize size,
                          Senders senders) {
  const std::size_t number = wire.source;
  const machine::Link& link = *wire.link;
  const auto& channel = program.channels[number];
  TimedChannel result;
  result.source = static_cast<std::uint32_t>(number);
  result.transfer = transfer_cycles(size, link);
  result.delay = wire.latency_cycles + result.transfer - 1;
  result.response = link.response_latency_cycles;
  result.words = size.words();
  result.words_per_cycle = link.words_per_cycle;
  const std::int64_t depth = channel.depth > 0 ? channel.depth : link.depth;
  result.depth = static_cast<std::uint32_t>(std::min(depth, machine::unbounded_depth));
  result.network = channel.kind == program::Channel::Kind::network;
  const bool ahead = senders == Senders::ahead && !result.network && result.depth < iterations_a_turn;
  result.window = ahead ? iterations_a_turn : result.depth;
  result.places = result.window + std::uint64_t{result.depth} * (result.response == 0 ? 2 : 1);
  result.axis = channel.axis;
  return result;
}

}  // namespace

std::int64_t loop_trips(std::int64_t first, std::int64_t last, std::int64_t step) {
  if (first > last) return 0;
  const auto span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
  return static_cast<std::int64_t>(
      std::min<std::uint64_t>(span / static_cast<std::uint64_t>(step), std::uint64_t{1} << 62) + 1);
}

bool may_run_ahead(const program::Program& program) {
  constexpr double most_bytes = 16 << 20;  // about what stays in a cache
  const program::Wires wires(program);
  double queues = 0;
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    for (const machine::Link* link : wires.links(c)) {
      if (link->response_latency_cycles == 0) return false;
    }
    if (program.channels[c].kind == program::Channel::Kind::link) ++queues;
  }
  for (const std::int64_t extent : program.grid) queues *= static_cast<double>(extent);
  return queues * 2 * iterations_a_turn * sizeof(std::int64_t) <= most_bytes;
}

std::optional<TimedProgram> time_program(const program::Program& program, Senders senders) {
  if (machine::has_hazards(program.machine)) return std::nullopt;
  std::vector<Code> codes;
  for (std::size_t c = 0; c < program.classes.size(); ++c) codes.push_back(decode(program, c));
  const auto sizes = constant_tile_sizes(program, codes);
  if (!sizes) return std::nullopt;
  TimedWires wires = time_wires(program, std::move(codes));
  if (wires.channels.size() > std::numeric_limits<std::uint16_t>::max()) return std::nullopt;
  TimedProgram result{.source = &program,
                      .grid = program.grid,
                      .class_map = std::move(wires.class_map),
                      .codes = std::move(wires.codes),
                      .classes = {},
                      .channels = {},
                      .by_distance = std::move(wires.by_distance)};
  for (const auto& wire : wires.channels)
    result.channels.push_back(time_channel(program, wire, sizes->channels[wire.source], senders));
  const auto served = served_classes(program);
  for (const Code& code : result.codes) {
    auto timed = Compactor(result, code, sizes->slots[code.index], served[code.index]).run();
    if (!timed) return std::nullopt;
    result.classes.push_back(std::move(*timed));
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
