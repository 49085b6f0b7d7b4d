#include "timed_lockstep.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <set>
#include <utility>
#include <vector>

#include "../../engine/cycles.hpp"
#include "../../engine/lockstep/wires.hpp"
#include "clock_vectors.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// On average, of a group; fewer are as fast one by one.
constexpr std::size_t least_pes = 4;
/// Of a group: their clocks stay in the cache.
constexpr std::size_t most_pes = 4096;
/// Of all messages' times.
constexpr std::size_t most_bytes_of_times = std::size_t{1} << 31;

/// Thrown where the engine has to run the array.
struct GivenUp {};

struct Group {
  const TimedCode* code = nullptr;
  const Code* forms = nullptr;
  std::vector<std::uint32_t> pes;             ///< Ordinals.
  std::vector<std::int64_t> now{}, stalls{};  ///< Of sends.
  std::int64_t ahead = 0;                     ///< Cycles of all clocks since the last message.
  std::vector<std::int64_t> environment{};    ///< Coordinates of the first PE, then loop variables.
  std::vector<std::int64_t> left{};           ///< Iterations, by level.
  std::vector<std::int64_t> blocks{};         ///< MessageTimes that each was done.
  std::uint32_t counter = 0;
  bool done = false;
};

/// MessageTimes of a stream's messages: arrivals, of those received departures.
struct MessageTimes {
  const TimedChannel* channel = nullptr;
  std::vector<std::int64_t> link_free;
  std::int64_t most_peak = 0;
  std::int64_t oldest = 0;  ///< Departures before that of this message bind nobody.
  std::int64_t places = 0;  ///< A power of two, or none yet.
  std::vector<std::int64_t> ring{};

  [[nodiscard]] std::int64_t* at(std::int64_t message) {
    return ring.data() + static_cast<std::size_t>(message & (places - 1)) * link_free.size();
  }
};

/// Most messages that the queues of an inlet's piece held when one entered: the same of all, or of each.
struct Peaks {
  std::int64_t all = 0;
  std::vector<std::int64_t> each{};
};

class TimedLockstep {
 public:
  TimedLockstep(TimedArray& array, ProgressTicker& ticker, const LockstepGroups& groups)
      : array_(array),
        ticker_(ticker),
        wires_(
            groups, array.state().queues.size(),
            [&](std::uint32_t group) -> const Code& { return forms(groups[group].front()); },
            [&](std::uint32_t pe, std::size_t port) {
              return array.queues_of(array.state().pes[pe])[port];
            }) {
    for (const auto& pes : groups) add_group(pes);
    for (const auto& stream : wires_.streams) {
      const Group& group = groups_[stream.group];
      const auto channel = group.forms->ports[stream.port].channel;
      times_.push_back({.channel = &array.program().channels[channel],
                        .link_free = std::vector<std::int64_t>(group.pes.size(), 0)});
    }
    for (const auto& inlet : wires_.inlets) peaks_.emplace_back(inlet.pieces.size());
  }

  /// Iterations of the longest of the loops that are in no other, as far as they do not depend on it.
  [[nodiscard]] std::int64_t longest_loop() const {
    std::int64_t result = 0;
    for (const Group& group : groups_) {
      for (const TimedOp& op : group.code->ops) {
        if (op.level > 0) continue;
        if (op.kind == TimedOp::Kind::fixed_loop) result = std::max(result, op.trips);
        if (op.kind == TimedOp::Kind::loop) result = std::max(result, trips(group, op).second);
      }
    }
    return result;
  }

  /// False where PEs wait for each other.
  bool run() {
    while (remaining_ > 0) {
      bool moved = false;
      for (Group& group : groups_) moved |= !group.done && turn(group);
      if (!moved && !deepen()) return false;
    }
    return true;
  }

  /// Requires: run() returned true.
  void write_back() {
    TimedState& state = array_.state();
    for (const Group& group : groups_) {
      for (std::size_t n = 0; n < group.pes.size(); ++n) {
        TimedPe& pe = state.pes[group.pes[n]];
        pe.now = group.now[n] + group.ahead;
        pe.stall_full = group.stalls[n];
        pe.counter = group.counter;
        std::ranges::copy(group.blocks, state.registers.begin() + pe.registers + 2 * group.code->loops);
      }
    }
    for (std::size_t s = 0; s < times_.size(); ++s) {
      const auto& stream = wires_.streams[s];
      for (std::size_t n = 0; n < times_[s].link_free.size(); ++n) {
        TimedQueue& queue = queue_of(stream.group, n, stream.port);
        constexpr std::int64_t counted = std::int64_t{1} << 31;  // in the queue itself
        queue.sent = static_cast<std::uint32_t>(stream.sent % counted);
        state.messages[queue.channel] += stream.sent / counted * counted;
        queue.received = queue.sent;  // a lane of the receivers below
        queue.link_free = times_[s].link_free[n];
      }
    }
    for (std::uint32_t g = 0; g < groups_.size(); ++g) {
      for (std::uint32_t p = 0; p < wires_.ports[g].size(); ++p) {
        if (groups_[g].forms->ports[p].kind != Port::Kind::link_in ||
            wires_.ports[g][p] == LockstepWires::none)
          continue;
        tell_received(g, p, wires_.ports[g][p]);
      }
    }
  }

 private:
  static constexpr std::int64_t ops_a_turn = 1024;
  static constexpr std::int64_t ops_of_work = 4;  ///< That take as long as one of the engine's.

  [[nodiscard]] const Code& forms(std::uint32_t pe) const {
    return array_.program().codes[array_.state().pes[pe].pe_class];
  }
  [[nodiscard]] TimedQueue& queue_of(std::uint32_t group, std::size_t n, std::uint32_t port) {
    const TimedPe& pe = array_.state().pes[groups_[group].pes[n]];
    return array_.state().queues[array_.queues_of(pe)[port]];
  }

  void tell_received(std::uint32_t group, std::uint32_t port, std::uint32_t number) {
    const auto& inlet = wires_.inlets[number];
    for (std::size_t p = 0; p < inlet.pieces.size(); ++p) {
      const auto& [stream, from, to, count] = inlet.pieces[p];
      const std::int64_t held = wires_.streams[stream].sent - inlet.received;
      const Peaks& peaks = peaks_[number][p];
      for (std::size_t n = 0; n < count; ++n) {
        TimedQueue& queue = queue_of(group, to + n, port);
        queue.received = queue.sent - static_cast<std::uint32_t>(held);
        queue.peak = static_cast<std::uint32_t>(peaks.each.empty() ? peaks.all : peaks.each[n]);
      }
    }
  }

  void add_group(const std::vector<std::uint32_t>& pes) {
    const TimedPe& first = array_.state().pes[pes.front()];
    Group& group =
        groups_.emplace_back(Group{.code = &array_.code(first), .forms = &forms(pes.front()), .pes = pes});
    group.now.assign(pes.size(), 0);
    group.stalls.assign(pes.size(), 0);
    const std::int64_t* environment = array_.environment(pes.front());
    group.environment.assign(environment, environment + group.forms->variables);
    group.left.assign(group.code->loops, 0);
    group.blocks.assign(group.code->blocks.size(), 0);
    ++remaining_;
  }

  /// Lets messages wait that nobody could take yet, where they may. Few of them stay in the cache.
  bool deepen() {
    bool deeper = false;
    for (std::size_t s = 0; s < times_.size(); ++s) {
      const auto& stream = wires_.streams[s];
      deeper |= times_[s].channel->depth > most_messages_ &&
                stream.sent - wires_.first_left(stream) >= most_messages_;
    }
    most_messages_ *= 4;
    return deeper;
  }

  /// Runs ops of a group until one has to wait. False where the first one has.
  bool turn(Group& group) {
    std::int64_t ops = 0;
    for (bool goes_on = true; goes_on && ops < ops_a_turn && !group.done; ops += goes_on ? 1 : 0)
      goes_on = step(group);
    ticker_.tick(ops * static_cast<std::int64_t>(group.pes.size()) / ops_of_work, [&] {
      return static_cast<double>(groups_.size() - remaining_) / static_cast<double>(groups_.size());
    });
    const std::int64_t last = *std::ranges::max_element(group.now);
    if (last > latest - group.ahead) too_long();
    return ops > 0;
  }

  /// False where the op has to wait.
  bool step(Group& group) {
    using Kind = TimedOp::Kind;
    const TimedOp& op = group.code->ops[group.counter];
    switch (op.kind) {
      case Kind::send:
        if (!send(group, op)) return false;
        break;
      case Kind::receive:
        if (!receive(group, op)) return false;
        break;
      case Kind::compute: group.ahead += op.cycles; break;
      case Kind::fixed_loop: return enter(group, op, {op.first, op.trips});
      case Kind::loop: return enter(group, op, trips(group, op));
      case Kind::branch:
        return go_on(group, op,
                     holds(*group.forms, group.forms->steps[op.step].lower, group.environment.data()));
      case Kind::repeat:
        count(group, op);
        if (--group.left[op.level - 1U] == 0) break;
        group.environment[group.forms->dimensions + op.level - 1U] += op.stride;
        group.counter = op.target;
        return true;
      case Kind::skip: count(group, op); break;
      case Kind::halt:
        count(group, op);
        group.done = true;
        --remaining_;
        return true;
      case Kind::body: break;  // its ops follow
      default: throw GivenUp{};
    }
    ++group.counter;
    return true;
  }

  static void count(Group& group, const TimedOp& control) {
    if (control.block != TimedOp::uncounted) ++group.blocks[control.block];
  }
  static bool go_on(Group& group, const TimedOp& op, bool entered) {
    count(group, op);
    group.counter = entered ? group.counter + 1 : op.target;
    return true;
  }
  /// First value of a loop's variable, and its iterations.
  [[nodiscard]] static std::pair<std::int64_t, std::int64_t> trips(const Group& group, const TimedOp& op) {
    const Step& step = group.forms->steps[op.step];
    const std::int64_t first = lower_limit(*group.forms, step.lower, group.environment.data());
    const std::int64_t last = upper_limit(*group.forms, step.upper, group.environment.data());
    return {first, loop_trips(first, last, step.step)};
  }
  static bool enter(Group& group, const TimedOp& op, std::pair<std::int64_t, std::int64_t> loop) {
    group.environment[group.forms->dimensions + op.level] = loop.first;
    group.left[op.level] = loop.second;
    return go_on(group, op, loop.second != 0);
  }

  [[nodiscard]] std::uint32_t wire(const Group& group, const TimedOp& op) const {
    const std::uint32_t result = wires_.ports[static_cast<std::size_t>(&group - groups_.data())][op.port];
    if (result == LockstepWires::none) throw GivenUp{};
    return result;
  }
  static Clocks clocks(Group& group) { return {group.now.data(), group.ahead, group.pes.size()}; }

  bool send(Group& group, const TimedOp& op) {
    const std::uint32_t number = wire(group, op);
    auto& stream = wires_.streams[number];
    MessageTimes& times = times_[number];
    if (stream.unread > 0) throw GivenUp{};
    const std::int64_t depth = times.channel->depth, first = wires_.first_left(stream);
    if (stream.sent - first >= std::min(depth, most_messages_)) return false;
    forget(times, first, stream.sent - depth);
    add_place(times, std::min(first - times.most_peak, times.oldest), stream.sent);
    const bool binds = stream.sent - depth >= times.oldest;
    const std::int64_t* left = binds ? times.at(stream.sent - depth) : nullptr;
    simulator::send(clocks(group), *times.channel, left, group.stalls.data(), times.link_free.data(),
                    times.at(stream.sent));
    group.ahead = 0;
    ++stream.sent;
    return true;
  }

  /// Drops departures that bind no message any more: of queues whose depth is many, those that all senders have seen.
  static void forget(MessageTimes& times, std::int64_t received, std::int64_t next) {
    constexpr std::uint32_t many = 16;
    if (times.channel->depth == machine::unbounded_depth) times.oldest = received;
    times.oldest = std::max(times.oldest, std::min(next, received));
    const std::size_t count = times.link_free.size();
    while (times.channel->depth > many && times.oldest < received &&
           have_seen(times.at(times.oldest), times.channel->response, times.link_free.data(), count))
      ++times.oldest;
  }

  /// Room for one more message, besides those from `first` on, whose times may still matter.
  void add_place(MessageTimes& times, std::int64_t first, std::int64_t end) {
    first = std::max<std::int64_t>(first, 0);
    if (end - first < times.places) return;
    const auto needed = static_cast<std::uint64_t>(end - first + 1);
    const auto places = static_cast<std::int64_t>(std::bit_ceil(std::max<std::uint64_t>(2, needed)));
    const auto numbers = static_cast<std::size_t>(places) * times.link_free.size();
    bytes_ += numbers * sizeof(std::int64_t) / 2;
    if (bytes_ > most_bytes_of_times) throw GivenUp{};
    MessageTimes before = std::exchange(times, {.channel = times.channel,
                                                .link_free = times.link_free,
                                                .most_peak = times.most_peak,
                                                .oldest = times.oldest});
    times.places = places;
    times.ring.resize(numbers);
    for (std::int64_t n = std::max(first, end - before.places); n < end; ++n)
      std::copy_n(before.at(n), times.link_free.size(), times.at(n));
  }

  bool receive(Group& group, const TimedOp& op) {
    const std::uint32_t number = wire(group, op);
    auto& inlet = wires_.inlets[number];
    if (!wires_.has_messages(inlet)) return false;
    Clocks all = clocks(group);
    for (std::size_t p = 0; p < inlet.pieces.size(); ++p) {
      const auto& [stream, from, to, count] = inlet.pieces[p];
      MessageTimes& times = times_[stream];
      raise(times, peaks_[number][p], from, count, inlet.received);
      simulator::receive({all.now + to, all.ahead, count}, times.at(inlet.received) + from);
    }
    group.ahead = 0;
    ++inlet.received;
    return true;
  }

  /// A queue held more than ever when this message entered if the `peak` before it left then or later (`TimedEngine::take`).
  static void raise(MessageTimes& times, Peaks& peaks, std::size_t from, std::size_t count,
                    std::int64_t message) {
    const std::int64_t* const arrivals = times.at(message) + from;
    const std::int64_t delay = times.channel->delay;
    if (peaks.each.empty()) {
      const std::int64_t* const earlier = times.at(message - peaks.all) + from;
      const std::size_t rises = count_rises(earlier, arrivals, delay, count);
      if (rises == 0) return;
      if (rises == count) {
        times.most_peak = std::max(times.most_peak, ++peaks.all);
        return;
      }
      peaks.each.assign(count, peaks.all);
    }
    for (std::size_t n = 0; n < count; ++n) {
      std::int64_t& peak = peaks.each[n];
      if (times.at(message - peak)[from + n] < arrivals[n] - delay) continue;
      times.most_peak = std::max(times.most_peak, ++peak);
    }
  }

  TimedArray& array_;
  ProgressTicker& ticker_;
  LockstepWires wires_;
  std::vector<Group> groups_;
  std::vector<MessageTimes> times_;        ///< By stream.
  std::vector<std::vector<Peaks>> peaks_;  ///< By inlet and piece.
  std::size_t remaining_ = 0;              ///< Groups.
  std::size_t bytes_ = 0;                  ///< Of times.
  std::int64_t most_messages_ = 2;         ///< That wait in a stream, where it may have more.
};

bool suits(const TimedProgram& program, const TimedCode& code) {
  return std::ranges::all_of(code.ops, [&](const TimedOp& op) {
    switch (op.kind) {
      case TimedOp::Kind::receive_from:
      case TimedOp::Kind::broadcast:
      case TimedOp::Kind::load:
      case TimedOp::Kind::store:
      case TimedOp::Kind::call:
      case TimedOp::Kind::decide: return false;
      case TimedOp::Kind::send:
        return program.channels[op.channel].window <= program.channels[op.channel].depth;
      default: return true;
    }
  });
}

std::vector<const program::Channel*> channels_of(const TimedProgram& program) {
  std::set<const program::Channel*> result;
  for (const Code& code : program.codes) {
    for (const Port& port : code.ports) {
      if (port.kind == Port::Kind::link_out)
        result.insert(&program.source->channels[program.channels[port.channel].source]);
    }
  }
  return {result.begin(), result.end()};
}

LockstepGroups groups_of(TimedArray& array, const std::vector<std::int64_t>& form) {
  LockstepGrouping grouping(array.program().codes, false, form);
  for (std::uint32_t o = 0; o < array.count(); ++o)
    grouping.add(o, array.state().pes[o].pe_class, array.environment(o), most_pes);
  return grouping.groups();
}

/// Rounds after which a run may repeat itself all over the array, and be skipped through, several times over.
std::int64_t rounds_to_skip(const TimedProgram& program) {
  std::int64_t result = 16;
  for (const std::int64_t extent : program.grid) result += extent;
  return 8 * result;
}

}  // namespace

bool run_in_lockstep(TimedArray& array, ProgressTicker& ticker) {
  const TimedProgram& program = array.program();
  if (!exchanges(program.source->machine, channels_of(program)) ||
      !std::ranges::all_of(program.classes, [&](const TimedCode& code) { return suits(program, code); }))
    return false;
  try {
    for (const auto& form : lockstep_lines(program.grid.size())) {
      const LockstepGroups groups = groups_of(array, form);
      if (array.count() < least_pes * groups.size()) continue;
      TimedLockstep lockstep(array, ticker, groups);
      if (lockstep.longest_loop() > rounds_to_skip(program)) return false;
      if (!lockstep.run()) continue;
      lockstep.write_back();
      return true;
    }
  } catch (const GivenUp&) {
  } catch (const std::bad_alloc&) {  // the array is there besides
  }
  return false;
}

}  // namespace cyclotron::runtime::simulator
