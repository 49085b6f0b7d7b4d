#include "lockstep.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "../engine/index_values.hpp"
#include "../engine/lockstep/wires.hpp"
#include "../engine/messages.hpp"
#include "../engine/progress_ticker.hpp"

namespace cyclotron::runtime::local {
namespace {

/// Messages of a stream: the n-th ones of all its PEs side by side.
struct Messages {
  std::size_t bytes = 0;  ///< Of the n-th messages.
  std::int64_t depth = 0;
  std::int64_t places = 0;  ///< A power of two, or none yet.
  std::vector<std::byte> kept{};

  [[nodiscard]] std::byte* at(std::int64_t n) {
    return kept.data() + static_cast<std::size_t>(n & (places - 1)) * bytes;
  }
};

/// Elements of a tensor that a step loads or stores in the PEs of a group.
struct Elements {
  std::vector<std::ptrdiff_t> offsets;  ///< In bytes, from that of the group's first PE.
  /// By dimension, how far indices lie below and above that of the first PE.
  std::vector<std::pair<std::int64_t, std::int64_t>> around;
  bool side_by_side = false;
};

struct Group {
  const Code* code = nullptr;
  std::vector<std::uint32_t> pes;                   ///< Ordinals.
  ZeroPages memory{};                               ///< As that of a PE, with each scalar `pes.size()` times.
  std::vector<std::int64_t> variables{}, limits{};  ///< The coordinates are those of the first PE.
  std::vector<std::optional<Elements>> elements{};  ///< By step.
  std::uint32_t counter = 0;
  bool done = false;
};

/// Steps of a class, prepared.
struct Kernels {
  std::vector<VectorKernel> of_step;              ///< Null where each PE computes by itself.
  std::vector<std::vector<std::byte>> constants;  ///< Repeated, one a PE.
};

template <std::size_t width>
void gather(std::byte* to, const std::byte* from, const std::vector<std::ptrdiff_t>& offsets) {
  for (const std::ptrdiff_t offset : offsets) {
    std::memcpy(to, from + offset, width);
    to += width;
  }
}
template <std::size_t width>
void scatter(std::byte* to, const std::byte* from, const std::vector<std::ptrdiff_t>& offsets) {
  for (const std::ptrdiff_t offset : offsets) {
    std::memcpy(to + offset, from, width);
    from += width;
  }
}
/// Calls use.operator()<bytes>().
template <class Use>
void with_width(std::size_t bytes, Use use) {
  switch (bytes) {
    case 1: return use.template operator()<1>();
    case 2: return use.template operator()<2>();
    case 4: return use.template operator()<4>();
    case 8: return use.template operator()<8>();
    default: return use.template operator()<16>();
  }
}

class Lockstep {
 public:
  Lockstep(const PeArray& array, const std::vector<TensorAccess>& tensors, std::size_t least_bytes,
           ProgressTicker& ticker, const LockstepGroups& groups)
      : array_(array),
        tensors_(tensors),
        ticker_(ticker),
        wires_(
            groups, array.links().size(),
            [&](std::uint32_t group) -> const Code& { return *array.pes()[groups[group].front()].code; },
            [&](std::uint32_t pe, std::size_t port) { return array.pes()[pe].queues[port]; }) {
    for (const auto& pes : groups) add_group(pes);
    for (const auto& stream : wires_.streams) add_messages(stream, least_bytes);
    for (const Code& code : array.codes()) prepare(code);
  }

  /// True once all PEs are done; false where they wait for each other, or a step fails.
  bool run() {
    try {
      while (remaining_ > 0) {
        bool moved = false;
        for (Group& group : groups_) moved |= !group.done && turn(group);
        if (!moved && !deepen()) return false;
      }
      return true;
    } catch (const KernelFailure&) {
      return false;
    }
  }

 private:
  static constexpr std::int64_t steps_a_turn = 1024;

  void add_group(const std::vector<std::uint32_t>& pes) {
    const Pe& first = array_.pes()[pes.front()];
    const Code& code = *first.code;
    Group& group = groups_.emplace_back(Group{.code = &code, .pes = pes});
    group.memory = ZeroPages(static_cast<std::size_t>(code.memory_bytes) * pes.size());
    group.variables.assign(code.variables, 0);
    group.limits.assign(code.variables, 0);
    std::copy_n(first.variables, code.dimensions, group.variables.begin());
    group.elements.resize(code.steps.size());
    ++remaining_;
    most_ = std::max(most_, pes.size());
  }

  void add_messages(const LockstepWires::Stream& stream, std::size_t least_bytes) {
    const Group& group = groups_[stream.group];
    const std::uint32_t channel = group.code->ports[stream.port].channel;
    const std::size_t width = message_bytes(array_.program().channels[channel]);
    auto depth = std::int64_t{1} << 62;
    for (const std::uint32_t pe : group.pes) depth = std::min(depth, array_.depth(channel, pe));
    depth = std::max(depth, static_cast<std::int64_t>(least_bytes / width));
    messages_.push_back({.bytes = width * group.pes.size(), .depth = depth});
  }

  void prepare(const Code& code) {
    Kernels& kernels = kernels_.emplace_back();
    for (const Step& step : code.steps) {
      const bool computes = step.kind == Step::Kind::compute;
      kernels.of_step.push_back(computes ? vector_kernel(step.op, step.flags, step.dtype) : nullptr);
    }
    kernels.constants.resize(code.constants.size());
    for (const Source& source : code.sources) {
      if (!source.constant || source.form) continue;
      auto& repeated = kernels.constants[source.index];
      repeated.resize(most_ * source.width);
      for (std::size_t n = 0; n < most_; ++n)
        std::memcpy(repeated.data() + n * source.width, code.constants[source.index].bytes.data(),
                    source.width);
    }
  }

  /// Lets messages wait that nobody could take yet, where they may. Few of them stay in the cache.
  bool deepen() {
    bool deeper = false;
    for (std::size_t s = 0; s < messages_.size(); ++s) {
      const auto& stream = wires_.streams[s];
      deeper |=
          messages_[s].depth > most_messages_ && stream.sent - wires_.first_left(stream) >= most_messages_;
    }
    most_messages_ *= 4;
    return deeper;
  }

  /// Runs steps of a group until one has to wait. False where the first one has.
  bool turn(Group& group) {
    std::int64_t steps = 0;
    const auto tell = [&] {
      ticker_.tick(steps * static_cast<std::int64_t>(group.pes.size()),
                   [&] { return PeArray::fraction_done(array_.pes()[group.pes.front()]); });
    };
    while (steps < steps_a_turn) {
      const Step& step = group.code->steps[group.counter];
      switch (step.kind) {
        case Step::Kind::loop: open_loop(group, step); break;
        case Step::Kind::repeat: next_iteration(group, step); break;
        case Step::Kind::branch:
          group.counter =
              holds(*group.code, step.lower, group.variables.data()) ? group.counter + 1 : step.target;
          break;
        case Step::Kind::halt:
          group.done = true;
          --remaining_;
          tell();
          return true;
        default:
          if (!apply(group, step)) {
            tell();
            return steps > 0;
          }
          ++group.counter;
      }
      ++steps;
    }
    tell();
    return true;
  }

  static void open_loop(Group& group, const Step& loop) {
    const std::int64_t first = lower_limit(*group.code, loop.lower, group.variables.data());
    const std::int64_t last = upper_limit(*group.code, loop.upper, group.variables.data());
    group.variables[loop.variable] = first;
    group.limits[loop.variable] = last;
    group.counter = first <= last ? group.counter + 1 : loop.target;
  }
  static void next_iteration(Group& group, const Step& repeat) {
    std::int64_t& variable = group.variables[repeat.variable];
    const auto left =
        static_cast<std::uint64_t>(group.limits[repeat.variable]) - static_cast<std::uint64_t>(variable);
    const bool goes_on = left >= static_cast<std::uint64_t>(repeat.step);
    if (goes_on) variable += repeat.step;
    group.counter = goes_on ? repeat.target : group.counter + 1;
  }

  /// Else another engine tells which PE fails, or does it.
  static void require(bool condition) {
    if (!condition) throw KernelFailure{};
  }

  /// False where the step has to wait. Throws KernelFailure where one of the PEs fails.
  bool apply(Group& group, const Step& step) {
    switch (step.kind) {
      case Step::Kind::load:
      case Step::Kind::store: move_elements(group, step); return true;
      case Step::Kind::send: return send(group, step);
      case Step::Kind::receive: return receive(group, step);
      case Step::Kind::move: move(group, step); return true;
      case Step::Kind::compute: compute(group, step); return true;
      default: return true;
    }
  }

  /// The scalars of an element of a slot, side by side.
  [[nodiscard]] static std::byte* scalars(const Group& group, const SlotAccess& access) {
    const std::int64_t at = evaluate(*group.code, access, group.variables.data());
    require(static_cast<std::uint64_t>(at) < static_cast<std::uint64_t>(access.count));
    return group.memory.data() +
           static_cast<std::size_t>(access.address + at * access.stride) * group.pes.size();
  }
  [[nodiscard]] const std::byte* scalars(const Group& group, const Source& source) const {
    return source.constant ? kernels_[group.code->index].constants[source.index].data()
                           : scalars(group, group.code->accesses[source.index]);
  }

  [[nodiscard]] std::uint32_t wire(const Group& group, const Step& step) const {
    const std::uint32_t result = wires_.ports[static_cast<std::size_t>(&group - groups_.data())][step.port];
    require(result != LockstepWires::none);
    return result;
  }

  bool send(Group& group, const Step& step) {
    const std::uint32_t number = wire(group, step);
    auto& stream = wires_.streams[number];
    Messages& messages = messages_[number];
    require(stream.unread == 0);
    const std::int64_t first = wires_.first_left(stream);
    if (stream.sent - first >= std::min(messages.depth, most_messages_)) return false;
    if (stream.sent - first == messages.places) add_places(messages, first, stream.sent);
    std::memcpy(messages.at(stream.sent), scalars(group, group.code->accesses[step.access]), messages.bytes);
    ++stream.sent;
    return true;
  }
  static void add_places(Messages& messages, std::int64_t first, std::int64_t end) {
    Messages larger = messages;
    larger.places = std::max<std::int64_t>(1, 2 * messages.places);
    larger.kept.resize(static_cast<std::size_t>(larger.places) * messages.bytes);
    for (std::int64_t n = first; n < end; ++n) std::memcpy(larger.at(n), messages.at(n), messages.bytes);
    messages = std::move(larger);
  }

  bool receive(Group& group, const Step& step) {
    auto& inlet = wires_.inlets[wire(group, step)];
    if (!wires_.has_messages(inlet)) return false;
    std::byte* const to = scalars(group, group.code->accesses[step.access]);
    with_width(step.element, [&]<std::size_t width>() {
      for (const auto& piece : inlet.pieces) {
        const std::byte* const from = messages_[piece.stream].at(inlet.received) + piece.from * width;
        if (piece.count == 1) {
          std::memcpy(to + piece.to * width, from, width);
        } else {
          std::memcpy(to + piece.to * width, from, piece.count * width);
        }
      }
    });
    ++inlet.received;
    return true;
  }

  void move(Group& group, const Step& step) {
    const std::size_t count = group.pes.size();
    std::byte* to = scalars(group, group.code->accesses[step.access]);
    const Source& source = group.code->sources[step.operands.first];
    if (!source.form) {
      std::memmove(to, scalars(group, source), count * step.element);
      return;
    }
    const Form& form = group.code->forms[source.index];
    const std::int64_t first = evaluate(*group.code, form, group.variables.data());
    for (const std::uint32_t pe : group.pes) {
      write_indices(step.dtype, first + distance(group, form, pe), 0, 1, to);
      to += step.element;
    }
  }
  /// The value of a form in a PE, from that in the group's first one.
  [[nodiscard]] std::int64_t distance(const Group& group, const Form& form, std::uint32_t pe) const {
    std::int64_t result = 0;
    for (std::uint32_t d = 0; d < group.code->dimensions; ++d) {
      result += coefficient(*group.code, form, d) * (array_.pes()[pe].variables[d] - group.variables[d]);
    }
    return result;
  }

  void compute(Group& group, const Step& step) {
    const Code& code = *group.code;
    const auto count = static_cast<std::int64_t>(group.pes.size());
    std::byte* const to = scalars(group, code.accesses[step.access]);
    std::array<const void*, 3> in{};
    std::array<std::ptrdiff_t, 3> advances{};
    for (std::uint32_t n = 0; n < step.operands.count; ++n) {
      const Source& source = code.sources[step.operands.first + n];
      in[n] = scalars(group, source);
      advances[n] = source.width;
    }
    if (const VectorKernel kernel = kernels_[code.index].of_step[group.counter]; kernel != nullptr) {
      kernel(to, step.element, in.data(), advances.data(), count);
      return;
    }
    for (std::int64_t pe = 0; pe < count; ++pe) {
      step.kernel(to + pe * step.element, in.data());
      for (std::uint32_t n = 0; n < step.operands.count; ++n)
        in[n] = static_cast<const std::byte*>(in[n]) + advances[n];
    }
  }

  /// Loads and stores.
  void move_elements(Group& group, const Step& step) {
    auto& found = group.elements[group.counter];
    if (!found) found = find_elements(group, step);
    const TensorAccess& tensor = tensors_[step.tensor];
    std::array<std::int64_t, 16> index{};
    for (std::uint32_t d = 0; d < step.operands.count; ++d) {
      index[d] = evaluate(*group.code, group.code->forms[step.operands.first + d], group.variables.data());
      const auto [below, above] = found->around[d];
      require(index[d] + below >= 0 && index[d] + above < tensor.extent(d));
    }
    std::byte* const element = tensor.scalar(index.data());
    std::byte* const own = scalars(group, group.code->accesses[step.access]);
    const bool loads = step.kind == Step::Kind::load;
    if (found->side_by_side) {
      std::memcpy(loads ? own : element, loads ? element : own, group.pes.size() * step.element);
      return;
    }
    with_width(step.element, [&]<std::size_t width>() {
      if (loads) return gather<width>(own, element, found->offsets);
      scatter<width>(element, own, found->offsets);
    });
  }
  [[nodiscard]] Elements find_elements(const Group& group, const Step& step) const {
    const TensorAccess& tensor = tensors_[step.tensor];
    Elements result;
    result.offsets.assign(group.pes.size(), 0);
    result.around.resize(step.operands.count);
    for (std::uint32_t d = 0; d < step.operands.count; ++d) {
      auto& [below, above] = result.around[d];
      for (std::size_t n = 0; n < group.pes.size(); ++n) {
        const std::int64_t away = distance(group, group.code->forms[step.operands.first + d], group.pes[n]);
        below = std::min(below, away);
        above = std::max(above, away);
        result.offsets[n] += away * tensor.stride(d);
      }
    }
    result.side_by_side = true;
    for (std::size_t n = 0; n < group.pes.size(); ++n) {
      result.side_by_side =
          result.side_by_side && result.offsets[n] == static_cast<std::ptrdiff_t>(n * step.element);
    }
    return result;
  }

  const PeArray& array_;
  const std::vector<TensorAccess>& tensors_;
  ProgressTicker& ticker_;
  std::vector<Group> groups_;
  LockstepWires wires_;
  std::vector<Messages> messages_;  ///< By stream.
  std::vector<Kernels> kernels_;    ///< By class.
  std::size_t remaining_ = 0;       ///< Groups.
  std::size_t most_ = 1;            ///< PEs of a group.
  std::int64_t most_messages_ = 2;  ///< That wait in a stream, where it may have more.
};

/// On average, of a group; fewer are as fast one by one.
constexpr std::size_t least_pes = 4;
/// Bytes of PE memory of a group, and its PEs: they stay in the cache from step to step.
constexpr std::size_t most_bytes = std::size_t{1} << 18, fewest_of_many = 256;

bool suits(const program::Program& program, const Code& code, const Step& step) {
  switch (step.kind) {
    case Step::Kind::loop:
    case Step::Kind::repeat: return step.operands.count == 0;
    case Step::Kind::branch: return step.upper.count == 0;
    case Step::Kind::skip:
    case Step::Kind::halt: return true;
    case Step::Kind::load:
    case Step::Kind::store:
    case Step::Kind::move:
    case Step::Kind::compute: return step.scalar && step.indexed == Step::not_indexed;
    case Step::Kind::send:
    case Step::Kind::receive: {
      const Port& port = code.ports[step.port];
      const bool link = port.kind == Port::Kind::link_in || port.kind == Port::Kind::link_out;
      return step.scalar && link && program.channels[port.channel].tile == Shape{};
    }
    case Step::Kind::broadcast:
    case Step::Kind::exit: return false;
  }
  return false;
}

bool suits(const program::Program& program, const Code& code) {
  return std::ranges::all_of(code.steps, [&](const Step& step) { return suits(program, code, step); });
}

/// True where what is stored is not loaded: a run that is given up may then begin anew.
bool stores_elsewhere(const PeArray& array, const std::vector<TensorAccess>& tensors) {
  std::vector<bool> loaded(tensors.size()), stored(tensors.size());
  for (const Code& code : array.codes()) {
    for (const Step& step : code.steps) {
      if (step.kind == Step::Kind::load) loaded[step.tensor] = true;
      if (step.kind == Step::Kind::store) stored[step.tensor] = true;
    }
  }
  for (std::size_t a = 0; a < tensors.size(); ++a) {
    for (std::size_t b = 0; b < tensors.size(); ++b) {
      const auto [first, end] = tensors[a].bytes();
      const auto [other, other_end] = tensors[b].bytes();
      if (loaded[a] && stored[b] && first < other_end && other < end) return false;
    }
  }
  return true;
}

std::vector<const program::Channel*> channels_of(const PeArray& array) {
  std::set<const program::Channel*> result;
  for (const Code& code : array.codes()) {
    for (const Port& port : code.ports) {
      if (port.kind == Port::Kind::link_out) result.insert(&array.program().channels[port.channel]);
    }
  }
  return {result.begin(), result.end()};
}

/// Iterations that a PE on its own runs at once, without messages: of the longest loop.
std::int64_t longest_body(const Code& code) {
  const std::vector<std::int64_t> variables(code.variables, 0);
  std::int64_t result = 0;
  for (const Step& step : code.steps) {
    if (step.kind != Step::Kind::loop || step.body == Step::no_body) continue;
    const Body& body = code.bodies[step.body];
    if (!body.vectors || !body.lanes.empty()) continue;
    const std::int64_t first = lower_limit(code, step.lower, variables.data());
    const std::int64_t last = upper_limit(code, step.upper, variables.data());
    if (first > last) continue;
    const auto span = static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first);
    const auto after = std::min<std::uint64_t>(span / static_cast<std::uint64_t>(step.step), PeArray::none);
    result = std::max(result, static_cast<std::int64_t>(after) + 1);
  }
  return result;
}

LockstepGroups groups_of(const PeArray& array, const std::vector<std::int64_t>& form) {
  LockstepGrouping grouping(array.codes(), true, form);
  for (const Pe& pe : array.pes()) {
    const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(1, pe.code->memory_bytes));
    grouping.add(pe.ordinal, pe.code->index, pe.variables, std::max(fewest_of_many, most_bytes / bytes));
  }
  return grouping.groups();
}

}  // namespace

bool run_in_lockstep(const PeArray& array, const std::vector<TensorAccess>& tensors, std::size_t least_bytes,
                     const Progress& progress) {
  const auto& program = array.program();
  if (!exchanges(program.machine, channels_of(array)) || !stores_elsewhere(array, tensors) ||
      !std::ranges::all_of(array.codes(), [&](const Code& code) { return suits(program, code); }))
    return false;
  std::vector<std::int64_t> longest;  // By class.
  for (const Code& code : array.codes()) longest.push_back(longest_body(code));
  const auto run_more_alone = [&](std::size_t together) {
    const auto count = std::ranges::count_if(array.pes(), [&](const Pe& pe) {
      return longest[pe.code->index] > static_cast<std::int64_t>(together);
    });
    return 2 * count > std::ssize(array.pes());
  };
  ProgressTicker ticker(progress);
  try {
    for (const auto& form : lockstep_lines(program.grid.size())) {
      const LockstepGroups groups = groups_of(array, form);
      const std::size_t together = array.count() / std::max<std::size_t>(1, groups.size());
      if (together < least_pes || run_more_alone(together)) continue;
      if (Lockstep(array, tensors, least_bytes, ticker, groups).run()) return true;
    }
  } catch (const std::bad_alloc&) {  // the PEs' own memory is there besides
  }
  return false;
}

}  // namespace cyclotron::runtime::local
