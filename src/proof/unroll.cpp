#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/wires.hpp>
#include <cyclotron/proof/trace.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "bounds.hpp"
#include "poll.hpp"
#include "queues.hpp"
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

/// Runs the code of one PE after the other, with no data.
class Unroller {
 public:
  Unroller(const Program& program, std::int64_t limit)
      : program_(program),
        limit_(std::min(limit, hard_limit)),
        queues_(program, trace_, find_pes()),
        wires_(program) {
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
      poll_.tick();
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
    runs_.clear();
    const auto pe_class = trace_.pes[pe].pe_class;
    const auto& code = program_.classes[pe_class].code;
    const auto& ends = ends_[pe_class];
    std::vector<OpenLoop> open;
    for (std::size_t at = 0; at < code.size(); ++at) {
      poll_.tick();
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
          if (!branch->within.empty()) execute(code[at], static_cast<std::uint32_t>(at));
        }
      } else if (std::holds_alternative<End>(action)) {
        at = end(code, open, at);
      } else {
        execute(code[at], static_cast<std::uint32_t>(at));
      }
    }
  }

  /// Next instruction after the End at `at`.
  std::size_t end(const std::vector<Instruction>& code, std::vector<OpenLoop>& open, std::size_t at) {
    const OpenLoop& block = open.back();
    if (const auto* loop = std::get_if<Loop>(&code[block.at].action)) {
      if (environment_.back() <= block.last - loop->step) {
        environment_.back() += loop->step;
        return block.at;
      }
      environment_.pop_back();
    } else if (!std::get<If>(code[block.at].action).within.empty()) {
      execute(code[at], static_cast<std::uint32_t>(at));
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
  void resolve(const If& branch) {
    for (const auto& [number, form, last] : branch.within) {
      add(element(number));
      add(program::evaluate(form, environment_.data()));
    }
  }
  void resolve(const End&) {}  // of such an if
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
      const auto receiver = wires_.receiver(send.channel.index(), trace_.pes[pe_].coordinates);
      if (receiver == Wires::none) outside(fmt::format("a send on `{}` leaves the grid", channel.name));
      queue = queues_.link(send.channel.value, static_cast<std::int64_t>(receiver));
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
    const std::int64_t sender = program::evaluate(receive.sender.front(), environment_.data());
    require_on_line(sender, axis);
    const auto queue = queues_.network(receive.channel.value, queues_.index_of(here), sender);
    // A PE is never among the receivers of its own broadcast.
    if (sender != queues_.along(here, axis))
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
    const std::int64_t own = queues_.along(here, axis);
    for (std::int64_t to = first; to <= last; ++to) {
      const std::int64_t receiver = queues_.on_line(here, axis, to);
      if (to == own || !leads_to(broadcast.channel, receiver)) continue;
      if (++steps_ > limit_) too_large("more steps than are checked", limit_);
      const auto queue = queues_.network(broadcast.channel.value, receiver, own);
      trace_.queues[queue].sender = pe_;
      add(queue);
      ++trace_.arguments[count];
    }
  }
  void resolve(const Exit& exit) {
    add(element(exit.runs));
    add(environment_.back());
    LoopRun& last = runs_[exit.plan.value];
    if (environment_.back() <= std::exchange(last.iteration, environment_.back())) ++last.number;
    add(last.number);
  }
  void resolve(const Move& move) {
    add(element(move.destination));
    add(std::visit(
        Overloaded{[this](const SlotRef& reference) { return element(reference); },
                   [](const Constant&) { return std::int64_t{0}; },
                   [this](const Affine& form) { return program::evaluate(form, environment_.data()); }},
        move.source));
  }
  void resolve(const Compute& compute) {
    if (compute.indexed) return resolve_indexed(compute, *compute.indexed);
    add(element(compute.destination));
    for (const auto& operand : compute.operands) add(element(operand));
  }
  /// Of no numbers, the first element may be outside: nothing uses it.
  void resolve_indexed(const Compute& compute, const Indexed& at) {
    const std::int64_t first = program::evaluate(at.lower, environment_.data());
    const std::int64_t last = program::evaluate(at.upper, environment_.data());
    const bool uses = first <= last;
    add(uses || !at.scatters ? element(compute.destination)
                             : program::evaluate(compute.destination, environment_.data()));
    for (const auto& operand : compute.operands) add(uses ? element(operand) : 0);
    add(element(at.number));
    add(first);
    add(last);
    if (!uses) return;
    const auto* source = std::get_if<SlotRef>(&compute.operands.back());
    auto end = at.scatters || source == nullptr ? compute.destination : *source;
    if (last - first > limit_ - steps_) too_large("more steps than are checked", limit_);
    steps_ += last - first;
    end.index.constant += at.stride * (last - first);
    (void)element(end);
  }

  void add(std::int64_t value) { trace_.arguments.push_back(value); }

  std::int64_t element(const Operand& operand) {
    return std::visit(Overloaded{[this](const SlotRef& reference) { return element(reference); },
                                 [](const Constant&) { return std::int64_t{0}; }},
                      operand);
  }

  std::int64_t element(const SlotRef& reference) {
    const std::int64_t index = program::evaluate(reference, environment_.data());
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
      const std::int64_t index = program::evaluate(forms[d], environment_.data());
      inside = inside && index >= 0 && index < extent;
      linear = inside ? linear * extent + index : 0;
    }
    if (!inside) {
      std::vector<std::int64_t> index;
      for (const auto& form : forms) index.push_back(program::evaluate(form, environment_.data()));
      outside(fmt::format("`{}[{}]` is outside the tensor of {}", tensor.name, fmt::join(index, ", "),
                          fmt::join(tensor.extents(), " x ")));
    }
    return linear;
  }

  /// Tells whether a broadcast goes to a PE that is in its range.
  [[nodiscard]] bool leads_to(program::ChannelId channel, std::int64_t index) {
    const auto [found, is_new] = listeners_.try_emplace(channel.index());
    if (is_new) found->second = program_.listeners(channel.index());
    const std::uint32_t pe = queues_.pe_at(index);
    return found->second.empty() || (pe != none && found->second[trace_.pes[pe].pe_class]);
  }

  void require_on_line(std::int64_t coordinate, std::uint32_t axis) {
    if (coordinate >= 0 && coordinate < program_.line_extent(axis)) return;
    outside(fmt::format("a network along grid dimension {} has no PE at {}", axis, coordinate));
  }

  [[noreturn]] void outside(std::string message) {
    violation<ProgramError>("CYC660", program_, trace_, pe_, trace_.pes[pe_].events.size() - 1,
                            std::move(message));
  }

  const Program& program_;
  std::int64_t limit_;
  Poll poll_;
  Trace trace_;
  Queues queues_;
  std::map<std::size_t, std::vector<bool>> listeners_;  // By channel (`Program::listeners`).
  Wires wires_;
  std::vector<std::vector<std::size_t>> ends_;
  std::uint32_t pe_ = 0;
  std::vector<std::int64_t> environment_;
  std::vector<std::uint32_t> link_out_, link_in_;  // This PE's queues by channel, none until used.
  /// Of a loop that may end early: how many came before, and the iteration that was last.
  struct LoopRun {
    std::int64_t number = 0;
    std::int64_t iteration = INT64_MIN;
  };
  std::map<std::uint32_t, LoopRun> runs_;  // This PE's, by exit plan.
  std::int64_t steps_ = 0;
};

}  // namespace

std::string Trace::name(std::uint32_t pe) const {
  return fmt::format("PE ({})", fmt::join(pes[pe].coordinates, ", "));
}

Trace unroll(const Program& program, std::int64_t limit) { return Unroller(program, limit).run(); }

}  // namespace cyclotron::proof
