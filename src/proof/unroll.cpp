#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/proof/trace.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "violations.hpp"

namespace cyclotron::proof {
namespace {

using namespace program;

constexpr std::int64_t hard_limit = std::int64_t{1} << 28;  // Numbers of events and arguments have 32 bits.

[[noreturn]] void too_large(const std::string& what, std::int64_t limit) {
  throw CapacityError({.code = "CYC669",
                       .span = {},
                       .message = fmt::format("the program has {}; the limit is {}", what, limit),
                       .notes = {},
                       .help = "check it exhaustively with a larger limit, or compile a smaller size"});
}

std::int64_t floor_divide(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
std::int64_t ceil_divide(std::int64_t a, std::int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

std::int64_t largest_lower(const std::vector<Bound>& bounds, const std::int64_t* environment) {
  std::int64_t result = std::numeric_limits<std::int64_t>::min();
  for (const auto& bound : bounds)
    result = std::max(result, ceil_divide(evaluate(bound.numerator, environment), bound.divisor));
  return result;
}

std::int64_t smallest_upper(const std::vector<Bound>& bounds, const std::int64_t* environment) {
  std::int64_t result = std::numeric_limits<std::int64_t>::max();
  for (const auto& bound : bounds)
    result = std::min(result, floor_divide(evaluate(bound.numerator, environment), bound.divisor));
  return result;
}

/// For each Loop and If, the index of its End.
std::vector<std::size_t> matching_ends(const std::vector<Instruction>& code) {
  std::vector<std::size_t> ends(code.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto& action = code[at].action;
    if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) {
      open.push_back(at);
    } else if (std::holds_alternative<End>(action)) {
      ends[open.back()] = at;
      open.pop_back();
    }
  }
  return ends;
}

/// Finds queues by who receives, numbering them as they are met.
class Queues {
 public:
  Queues(const Program& program, Trace& trace, std::vector<std::uint32_t> pe_at)
      : program_(program), trace_(trace), pe_at_(std::move(pe_at)) {
    stride_.assign(program.grid.size(), 1);
    for (std::size_t d = program.grid.size(); d-- > 1;) stride_[d - 1] = stride_[d] * program.grid[d];
  }

  [[nodiscard]] std::uint32_t pe_at(std::int64_t index) const {
    return pe_at_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::int64_t index_of(const std::vector<std::int64_t>& coordinates) const {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < stride_.size(); ++d) index += coordinates[d] * stride_[d];
    return index;
  }
  /// The PE at the end of a link, or none off the grid.
  [[nodiscard]] std::optional<std::int64_t> neighbour(const std::vector<std::int64_t>& from,
                                                      const Channel& channel) const {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < stride_.size(); ++d) {
      const std::int64_t extent = program_.grid[d];
      std::int64_t x = from[d] + channel.offset[d];
      if (program_.machine.topology == machine::Topology::torus) x = (x % extent + extent) % extent;
      if (x < 0 || x >= extent) return std::nullopt;
      index += x * stride_[d];
    }
    return index;
  }
  [[nodiscard]] std::int64_t on_line(const std::vector<std::int64_t>& from, std::uint32_t axis,
                                     std::int64_t coordinate) const {
    return index_of(from) + (coordinate - from[axis]) * stride_[axis];
  }

  /// A link's queue, by its receiver.
  std::uint32_t link(std::uint32_t channel, std::int64_t receiver) { return find(channel, receiver, 0); }
  /// A network's, by receiver and the sender's coordinate along the axis.
  std::uint32_t network(std::uint32_t channel, std::int64_t receiver, std::int64_t coordinate) {
    return find(channel, receiver, coordinate);
  }

 private:
  std::uint32_t find(std::uint32_t channel, std::int64_t receiver, std::int64_t coordinate) {
    auto& of_channel = numbers_[channel];
    const auto key = static_cast<std::uint64_t>(receiver) << 32U | static_cast<std::uint64_t>(coordinate);
    const auto [place, is_new] = of_channel.emplace(key, static_cast<std::uint32_t>(trace_.queues.size()));
    if (is_new) trace_.queues.push_back({channel, none, pe_at(receiver)});
    return place->second;
  }

  const Program& program_;
  Trace& trace_;
  std::vector<std::uint32_t> pe_at_;
  std::vector<std::int64_t> stride_;
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint32_t>> numbers_;
};

/// Runs the code of one PE after the other, with no data.
class Unroller {
 public:
  Unroller(const Program& program, std::int64_t limit)
      : program_(program), limit_(std::min(limit, hard_limit)), queues_(program, trace_, find_pes()) {
    for (const auto& pe_class : program.classes) ends_.push_back(matching_ends(pe_class.code));
  }

  Trace run() {
    for (std::uint32_t pe = 0; pe < trace_.pes.size(); ++pe) run(pe);
    return std::move(trace_);
  }

 private:
  struct OpenLoop {
    std::size_t at;
    std::int64_t last;
  };

  std::vector<std::uint32_t> find_pes() {
    std::int64_t size = 1;
    for (const auto extent : program_.grid) {
      if (extent > limit_ / size) {
        too_large(fmt::format("a grid of {} PEs", fmt::join(program_.grid, " x ")), limit_);
      }
      size *= extent;
    }
    std::vector<std::uint32_t> pe_at(static_cast<std::size_t>(size), none);
    std::vector<std::int64_t> coordinates(program_.grid.size(), 0);
    for (auto& found : pe_at) {
      const std::size_t pe_class = program_.class_of(coordinates);
      if (pe_class != Program::no_class) {
        found = static_cast<std::uint32_t>(trace_.pes.size());
        trace_.pes.push_back({static_cast<std::uint32_t>(pe_class), coordinates, {}});
      }
      for (std::size_t d = coordinates.size(); d-- > 0;) {
        if (++coordinates[d] < program_.grid[d]) break;
        coordinates[d] = 0;
      }
    }
    return pe_at;
  }

  void run(std::uint32_t pe) {
    pe_ = pe;
    environment_ = trace_.pes[pe].coordinates;
    link_out_.assign(program_.channels.size(), none);
    link_in_.assign(program_.channels.size(), none);
    const auto pe_class = trace_.pes[pe].pe_class;
    const auto& code = program_.classes[pe_class].code;
    const auto& ends = ends_[pe_class];
    std::vector<OpenLoop> open;
    for (std::size_t at = 0; at < code.size(); ++at) {
      if (++steps_ > limit_) too_large("more steps than are checked", limit_);
      const auto& action = code[at].action;
      if (const auto* loop = std::get_if<Loop>(&action)) {
        const std::int64_t first = largest_lower(loop->lower, environment_.data());
        const std::int64_t last = smallest_upper(loop->upper, environment_.data());
        if (first > last) {
          at = ends[at];
          continue;
        }
        environment_.push_back(first);
        open.push_back({at, last});
      } else if (const auto* branch = std::get_if<If>(&action)) {
        if (!holds(branch->condition, environment_.data())) {
          at = ends[at];
        } else {
          open.push_back({at, 0});
        }
      } else if (std::holds_alternative<End>(action)) {
        at = end(code, open, at);
      } else {
        execute(code[at], static_cast<std::uint32_t>(at));
      }
    }
  }

  /// Where to go on after the End at `at`.
  std::size_t end(const std::vector<Instruction>& code, std::vector<OpenLoop>& open, std::size_t at) {
    const OpenLoop& block = open.back();
    if (const auto* loop = std::get_if<Loop>(&code[block.at].action)) {
      if (environment_.back() <= block.last - loop->step) {
        environment_.back() += loop->step;
        return block.at;
      }
      environment_.pop_back();
    }
    open.pop_back();
    return at;
  }

  void execute(const Instruction& instruction, std::uint32_t at) {
    trace_.pes[pe_].events.push_back({at, static_cast<std::uint32_t>(trace_.arguments.size())});
    ++trace_.events;
    std::visit([this](const auto& action) { resolve(action); }, instruction.action);
  }

  void resolve(const Loop&) {}
  void resolve(const If&) {}
  void resolve(const End&) {}
  void resolve(const Load& load) {
    add(element(load.destination));
    add(element(load.tensor, load.index));
  }
  void resolve(const Store& store) {
    add(element(store.source));
    add(element(store.tensor, store.index));
  }
  void resolve(const Send& send) {
    add(element(send.source));
    auto& queue = link_out_[send.channel.index()];
    if (queue == none) {
      const auto& channel = program_.channels[send.channel.index()];
      const auto receiver = queues_.neighbour(trace_.pes[pe_].coordinates, channel);
      if (!receiver) outside(fmt::format("a send on `{}` leaves the grid", channel.name));
      queue = queues_.link(send.channel.value, *receiver);
      trace_.queues[queue].sender = pe_;
    }
    add(queue);
  }
  void resolve(const Receive& receive) {
    add(element(receive.destination));
    const auto& here = trace_.pes[pe_].coordinates;
    if (receive.sender.empty()) {
      auto& queue = link_in_[receive.channel.index()];
      if (queue == none) queue = queues_.link(receive.channel.value, queues_.index_of(here));
      add(queue);
      return;
    }
    const auto axis = program_.channels[receive.channel.index()].axis;
    const std::int64_t sender = evaluate(receive.sender.front(), environment_.data());
    require_on_line(sender, axis);
    const auto queue = queues_.network(receive.channel.value, queues_.index_of(here), sender);
    // A PE is never among the receivers of its own broadcast.
    if (sender != here[axis])
      trace_.queues[queue].sender = queues_.pe_at(queues_.on_line(here, axis, sender));
    add(queue);
  }
  void resolve(const Broadcast& broadcast) {
    add(element(broadcast.source));
    const std::size_t count = trace_.arguments.size();
    add(0);
    const auto& here = trace_.pes[pe_].coordinates;
    const auto axis = program_.channels[broadcast.channel.index()].axis;
    const std::int64_t first = largest_lower(broadcast.lower, environment_.data());
    const std::int64_t last = smallest_upper(broadcast.upper, environment_.data());
    if (first > last) return;
    require_on_line(first, axis);
    require_on_line(last, axis);
    for (std::int64_t to = first; to <= last; ++to) {
      if (to == here[axis]) continue;
      if (++steps_ > limit_) too_large("more steps than are checked", limit_);
      const auto queue =
          queues_.network(broadcast.channel.value, queues_.on_line(here, axis, to), here[axis]);
      trace_.queues[queue].sender = pe_;
      add(queue);
      ++trace_.arguments[count];
    }
  }
  void resolve(const Move& move) {
    add(element(move.destination));
    add(element(move.source));
  }
  void resolve(const Compute& compute) {
    add(element(compute.destination));
    for (const auto& operand : compute.operands) add(element(operand));
  }

  void add(std::int64_t value) { trace_.arguments.push_back(value); }

  std::int64_t element(const Operand& operand) {
    return std::visit(Overloaded{[this](const SlotRef& reference) { return element(reference); },
                                 [](const Constant&) { return std::int64_t{0}; }},
                      operand);
  }

  std::int64_t element(const SlotRef& reference) {
    const std::int64_t index = evaluate(reference.index, environment_.data());
    const auto& slot = program_.classes[trace_.pes[pe_].pe_class].slots[reference.slot.index()];
    if (index < 0 || index >= slot.count) {
      outside(fmt::format("element {} of slot `{}` is used, which has {}", index, slot.name, slot.count));
    }
    return index;
  }

  std::int64_t element(TensorId id, const std::vector<Affine>& forms) {
    const auto& tensor = program_.tensors[id.index()];
    std::int64_t linear = 0;
    bool inside = true;
    for (std::size_t d = 0; d < forms.size(); ++d) {
      const std::int64_t extent =
          tensor.tile[d] == 1 ? tensor.shape[d] : ceil_divide(tensor.shape[d], tensor.tile[d]);
      const std::int64_t index = evaluate(forms[d], environment_.data());
      inside = inside && index >= 0 && index < extent;
      linear = inside ? linear * extent + index : 0;
    }
    if (!inside) {
      std::vector<std::int64_t> index;
      for (const auto& form : forms) index.push_back(evaluate(form, environment_.data()));
      outside(fmt::format("`{}[{}]` is outside the tensor of {}", tensor.name, fmt::join(index, ", "),
                          fmt::join(tensor.extents(), " x ")));
    }
    return linear;
  }

  void require_on_line(std::int64_t coordinate, std::uint32_t axis) {
    if (coordinate >= 0 && coordinate < program_.grid[axis]) return;
    outside(fmt::format("a network along grid dimension {} has no PE at {}", axis, coordinate));
  }

  [[noreturn]] void outside(std::string message) {
    violation<ProgramError>("CYC660", program_, trace_, pe_, trace_.pes[pe_].events.size() - 1,
                            std::move(message));
  }

  const Program& program_;
  std::int64_t limit_;
  Trace trace_;
  Queues queues_;
  std::vector<std::vector<std::size_t>> ends_;
  std::uint32_t pe_ = 0;
  std::vector<std::int64_t> environment_;
  std::vector<std::uint32_t> link_out_, link_in_;  // This PE's queues by channel, none until used.
  std::int64_t steps_ = 0;
};

/// Counts the events of one PE to find the values of the loops around one of them.
class Replay {
 public:
  Replay(const PeClass& pe_class, std::vector<std::int64_t> coordinates)
      : code_(pe_class.code), ends_(matching_ends(code_)), environment_(std::move(coordinates)) {}

  std::string loops_at(std::size_t event) {
    left_ = event;
    (void)block(0, code_.size());
    return fmt::format("{}", fmt::join(names_, ", "));
  }

 private:
  /// True once the event is reached.
  bool block(std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to; ++at) {
      const auto& action = code_[at].action;
      if (const auto* loop = std::get_if<Loop>(&action)) {
        const std::int64_t first = largest_lower(loop->lower, environment_.data());
        const std::int64_t last = smallest_upper(loop->upper, environment_.data());
        for (std::int64_t value = first; value <= last; value += loop->step) {
          environment_.push_back(value);
          if (block(at + 1, ends_[at])) {
            names_.insert(names_.begin(), fmt::format("{} = {}", loop->name, value));
            return true;
          }
          environment_.pop_back();
        }
        at = ends_[at];
      } else if (const auto* branch = std::get_if<If>(&action)) {
        if (holds(branch->condition, environment_.data()) && block(at + 1, ends_[at])) return true;
        at = ends_[at];
      } else if (left_-- == 0) {
        return true;
      }
    }
    return false;
  }

  const std::vector<Instruction>& code_;
  std::vector<std::size_t> ends_;
  std::vector<std::int64_t> environment_;
  std::vector<std::string> names_;
  std::size_t left_ = 0;
};

}  // namespace

std::string Trace::name(std::uint32_t pe) const {
  return fmt::format("PE ({})", fmt::join(pes[pe].coordinates, ", "));
}

Trace unroll(const Program& program, std::int64_t limit) { return Unroller(program, limit).run(); }

std::string loops_text(const Program& program, const Trace& trace, std::uint32_t pe, std::size_t event) {
  const PeTrace& at = trace.pes[pe];
  return Replay(program.classes[at.pe_class], at.coordinates).loops_at(event);
}

}  // namespace cyclotron::proof
