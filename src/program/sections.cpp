#include <cyclotron/program/sections.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/support/division.hpp>

namespace cyclotron::program {
namespace {

template <class T>
void add_once(std::vector<T>& values, const T& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// The slot that an action writes.
const SlotRef* destination(const Action& action) {
  if (const auto* compute = std::get_if<Compute>(&action)) return &compute->destination;
  if (const auto* move = std::get_if<Move>(&action)) return &move->destination;
  if (const auto* receive = std::get_if<Receive>(&action)) return &receive->destination;
  if (const auto* load = std::get_if<Load>(&action)) return &load->destination;
  return nullptr;
}

using Code = std::vector<Instruction>;

/// Past an instruction, with its block if it opens one.
std::size_t past(const Code& code, std::size_t at) {
  std::size_t depth = 0;
  do {
    if (opens(code[at].action)) ++depth;
    if (std::holds_alternative<End>(code[at].action)) --depth;
    ++at;
  } while (depth > 0);
  return at;
}

/// The exit plans of instructions [at, end), in order.
std::vector<ExitPlanId> plans_in(const Code& code, std::size_t at, std::size_t end) {
  std::vector<ExitPlanId> result;
  for (; at < end; ++at) {
    if (const auto* exit = std::get_if<Exit>(&code[at].action)) result.push_back(exit->plan);
  }
  return result;
}
std::vector<ExitPlanId> plans_in(const ControlLoop& loop) {
  std::vector<ExitPlanId> result;
  for (const ControlLoop& inner : loop.body.loops) {
    const auto plans = plans_in(inner);
    result.insert(result.end(), plans.begin(), plans.end());
  }
  if (loop.plan) result.push_back(*loop.plan);
  return result;
}

/// Requires: its bounds are constants, as those of all loops with EXITs and around them.
ControlLoop limits_of(const Loop& loop) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  ControlLoop result{.name = loop.name, .first = -most, .last = most, .plan = {}, .body = {}};
  for (const Bound& bound : loop.lower)
    result.first = std::max(result.first, ceil_divide(bound.numerator.constant, bound.divisor));
  for (const Bound& bound : loop.upper)
    result.last = std::min(result.last, floor_divide(bound.numerator.constant, bound.divisor));
  return result;
}

class Collected {
 public:
  explicit Collected(const Program& program) : program_(program) {}

  ControlFlow run() {
    const auto exits = [](const PeClass& one) { return plans_in(one.code, 0, one.code.size()).size(); };
    const auto most = std::ranges::max_element(program_.classes, {}, exits);
    const Code none;
    const Code& code = most == program_.classes.end() ? none : most->code;
    result_.program = block(code, 0, code.size(), {}, {});
    for (std::uint32_t c = 0; c < program_.classes.size(); ++c) add(c);
    for (Section& section : result_.sections) {
      for (Call& call : section.calls) std::ranges::stable_sort(call.spans);
    }
    return std::move(result_);
  }

 private:
  /// A new section, of an iteration of a loop and sent by the flag of an exit plan.
  std::size_t section(const std::string& loop, std::optional<ExitPlanId> by) {
    result_.sections.push_back({.loop = loop, .calls = {}, .waits_for = {}, .flag_span = {}});
    sent_by_.push_back(by);
    computed_.push_back(false);
    return result_.sections.size() - 1;
  }

  ControlBlock block(const Code& code, std::size_t at, std::size_t end, const std::string& name,
                     std::optional<ExitPlanId> by) {
    ControlBlock result;
    result.sections.push_back(section(name, by));
    while (at < end) {
      const std::size_t next = past(code, at);
      const auto plans = plans_in(code, at, next);
      const auto* loop = std::get_if<Loop>(&code[at].action);
      if (loop != nullptr && !plans.empty()) {
        ControlLoop inner = limits_of(*loop);
        const auto* exit = std::get_if<Exit>(&code[next - 2].action);
        if (exit != nullptr) {
          inner.plan = exit->plan;
          inner.name = program_.exit_plans[exit->plan.index()].loop;
        }
        inner.body = block(code, at + 1, next - 1, inner.name, plans.back());
        result.loops.push_back(std::move(inner));
        result.sections.push_back(section(name, plans.back()));
      }
      at = next;
    }
    return result;
  }

  void add(std::uint32_t number) {
    const PeClass& pe_class = program_.classes[number];
    if (!pe_class.executive) {  // that calls, and is not called
      const std::vector<Procedure> all = procedures(pe_class);
      std::span<const Procedure> left = all;
      add(number, 0, pe_class.code.size(), result_.program, left);
    }
    std::vector<Exit> exits;  // copies of a loop's code have the same
    for (const Instruction& instruction : pe_class.code) {
      if (const auto* exit = std::get_if<Exit>(&instruction.action)) add_once(exits, *exit);
    }
    for (const Exit& exit : exits) tell_flag(pe_class, exit);
  }

  /// The loop of a block, from `place` on, that ends by these plans; else the first that has one of them.
  static std::vector<ControlLoop>::iterator find_loop(std::vector<ControlLoop>& loops, std::size_t place,
                                                      const std::vector<ExitPlanId>& plans) {
    const auto from = loops.begin() + static_cast<std::ptrdiff_t>(std::min(place, loops.size()));
    const auto alike =
        std::find_if(from, loops.end(), [&](const ControlLoop& loop) { return plans_in(loop) == plans; });
    if (alike != loops.end()) return alike;
    return std::find_if(from, loops.end(), [&](const ControlLoop& loop) {
      return std::ranges::any_of(
          plans_in(loop), [&](ExitPlanId plan) { return std::ranges::find(plans, plan) != plans.end(); });
    });
  }

  /// Adds the procedures of instructions [at, end), which `left` begins with, to the sections of a block.
  void add(std::uint32_t number, std::size_t at, std::size_t end, ControlBlock& to,
           std::span<const Procedure>& left) {
    const PeClass& pe_class = program_.classes[number];
    std::size_t place = 0, joined = 0;
    while (at < end) {
      const bool loops = std::holds_alternative<Loop>(pe_class.code[at].action);
      const auto plans =
          loops ? plans_in(pe_class.code, at, past(pe_class.code, at)) : std::vector<ExitPlanId>{};
      if (!plans.empty()) {
        const auto found = find_loop(to.loops, place, plans);
        const std::size_t past_it = past(pe_class.code, at);
        if (found != to.loops.end()) {
          const ControlLoop own = limits_of(std::get<Loop>(pe_class.code[at].action));
          if (own.first <= own.last && found->body.loops.empty()) {
            found->first = std::min(found->first, own.first);
            found->last = std::max(found->last, own.last);
          }
          add(number, at + 1, past_it - 1, found->body, left);
          place = static_cast<std::size_t>(found - to.loops.begin()) + 1;
        }
        while (!left.empty() && left.front().first < past_it) left = left.subspan(1);  // of a loop passed by
        joined = 0;
        at = past_it;
      } else if (!left.empty() && left.front().first == at) {
        auto& calls = result_.sections[to.sections[place]].calls;
        joined = join(calls, joined, pe_class, left.front());
        calls[joined].classes.push_back(number);
        calls[joined++].begins.push_back(at);
        at = left.front().end;
        left = left.subspan(1);
      } else {
        ++at;
      }
    }
  }

  static bool is_control(const Action& action) {
    return opens(action) || std::holds_alternative<End>(action) || std::holds_alternative<Exit>(action);
  }
  static bool is_of(const Call& call, const Span& span) {
    return std::ranges::any_of(call.spans,
                               [&](const Span& other) { return unit_of(other) == unit_of(span); });
  }

  /// Adds a class's procedure to the first call, not before `from`, that has a unit of it; else to a new one there.
  /// Returns that call.
  std::size_t join(std::vector<Call>& calls, std::size_t from, const PeClass& pe_class,
                   const Procedure& procedure) const {
    Call own;
    for (std::size_t at = procedure.first; at < procedure.end; ++at) {
      if (is_control(pe_class.code[at].action)) continue;
      ++own.instructions;
      look(own, pe_class.code[at]);
    }
    const auto found =
        std::find_if(calls.begin() + static_cast<std::ptrdiff_t>(from), calls.end(), [&](const Call& call) {
          return std::ranges::any_of(own.spans, [&](const Span& span) { return is_of(call, span); });
        });
    if (found == calls.end()) {
      calls.insert(calls.begin() + static_cast<std::ptrdiff_t>(from), std::move(own));
      return from;
    }
    for (const Span& span : own.spans) add_once(found->spans, span);
    for (const auto& name : own.operators) add_once(found->operators, name);
    for (const auto& name : own.arguments) add_once(found->arguments, name);
    found->instructions = std::max(found->instructions, own.instructions);
    return static_cast<std::size_t>(found - calls.begin());
  }

  void look(Call& call, const Instruction& instruction) const {
    if (instruction.span.known()) add_once(call.spans, instruction.span);
    if (const auto* compute = std::get_if<Compute>(&instruction.action))
      add_once(call.operators, std::string(operators::info(compute->op).name));
    const auto* load = std::get_if<Load>(&instruction.action);
    const auto* store = std::get_if<Store>(&instruction.action);
    if (load != nullptr) add_once(call.arguments, program_.tensors[load->tensor.index()].name);
    if (store != nullptr) add_once(call.arguments, program_.tensors[store->tensor.index()].name);
  }

  /// Finds the flag that the sections wait for which are sent by it.
  void tell_flag(const PeClass& pe_class, const Exit& exit) {
    for (std::size_t number = 0; number < result_.sections.size(); ++number) {
      if (sent_by_[number] != exit.plan) continue;
      Section& section = result_.sections[number];
      if (section.waits_for.empty()) section.waits_for = pe_class.slots[exit.runs.slot.index()].name;
      for (const Instruction& instruction : pe_class.code) {
        const SlotRef* written = destination(instruction.action);
        if (written == nullptr || written->slot != exit.runs.slot) continue;
        const bool computes = std::holds_alternative<Compute>(instruction.action);  // or others do
        if (section.flag_span.known() && (computed_[number] || !computes)) continue;
        section.flag_span = instruction.span;
        computed_[number] = computes;
      }
    }
  }

  const Program& program_;
  ControlFlow result_;
  std::vector<std::optional<ExitPlanId>> sent_by_;  // By section.
  std::vector<bool> computed_;                      // By section: the flag's span is where it is computed.
};

}  // namespace

ControlFlow control_flow(const Program& program) { return Collected(program).run(); }

std::vector<Section> sections(const Program& program) {
  std::vector<Section> result = control_flow(program).sections;
  std::erase_if(result, [](const Section& section) { return section.calls.empty(); });
  return result;
}

}  // namespace cyclotron::program
