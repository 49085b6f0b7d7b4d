#include <cyclotron/program/sections.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include <cyclotron/program/procedures.hpp>

namespace cyclotron::program {
namespace {

template <class T>
void add_once(std::vector<T>& values, const T& value) {
  if (std::ranges::find(values, value) == values.end()) values.push_back(value);
}

/// The exit plan of each instruction's outermost loop, if that has one.
std::vector<std::optional<ExitPlanId>> plans_of(const PeClass& pe_class) {
  std::vector<std::optional<ExitPlanId>> result(pe_class.code.size());
  std::size_t depth = 0, begin = 0;
  std::optional<ExitPlanId> found;
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const Action& action = pe_class.code[at].action;
    if (opens(action) && depth++ == 0) begin = at;
    if (const auto* exit = std::get_if<Exit>(&action)) found = exit->plan;
    if (std::holds_alternative<End>(action) && --depth == 0) {
      std::fill(result.begin() + static_cast<std::ptrdiff_t>(begin),
                result.begin() + static_cast<std::ptrdiff_t>(at) + 1, std::exchange(found, std::nullopt));
    }
  }
  return result;
}

/// The slot that an action writes.
const SlotRef* destination(const Action& action) {
  if (const auto* compute = std::get_if<Compute>(&action)) return &compute->destination;
  if (const auto* move = std::get_if<Move>(&action)) return &move->destination;
  if (const auto* receive = std::get_if<Receive>(&action)) return &receive->destination;
  if (const auto* load = std::get_if<Load>(&action)) return &load->destination;
  return nullptr;
}

/// Place of each exit plan's loop among those of all: classes run theirs in one order, and have some of them.
std::vector<std::size_t> positions_of(const Program& program) {
  std::vector<std::size_t> before(program.exit_plans.size(), 0), order(before.size()), result(before.size());
  for (const PeClass& pe_class : program.classes) {
    std::size_t passed = 0;
    for (const Instruction& instruction : pe_class.code) {
      const auto* exit = std::get_if<Exit>(&instruction.action);
      if (exit == nullptr) continue;
      auto& most = before[exit->plan.index()];
      most = std::max(most, passed++);
    }
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t e) { return before[e]; });
  for (std::size_t p = 0; p < order.size(); ++p) result[order[p]] = p;
  return result;
}

struct Collected {
  const Program& program;
  std::vector<std::size_t> positions;
  /// Before, in and after each exit plan's loop: 2 p + 1 is the loop at position p.
  std::vector<Section> sections = std::vector<Section>(2 * program.exit_plans.size() + 1);
  std::vector<bool> computed =
      std::vector<bool>(sections.size());  ///< The flag's span is where it is computed.

  [[nodiscard]] std::size_t loop_of(ExitPlanId plan) const { return 2 * positions[plan.index()] + 1; }

  void add(std::uint32_t number) {
    const PeClass& pe_class = program.classes[number];
    const auto exit_plans = plans_of(pe_class);
    std::size_t section = 0, joined = 0;
    for (const Procedure& procedure : procedures(pe_class)) {
      const auto plan = exit_plans[procedure.first];
      const std::size_t before = section;
      if (plan) section = loop_of(*plan);
      if (!plan && section % 2 == 1) ++section;  // past the loop
      if (section != before) joined = 0;
      joined = join(sections[section].calls, joined, pe_class, procedure);
      sections[section].calls[joined++].classes.push_back(number);
    }
    for (const Instruction& instruction : pe_class.code) {
      if (const auto* exit = std::get_if<Exit>(&instruction.action)) tell_flag(pe_class, *exit);
    }
  }

 private:
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
    if (load != nullptr) add_once(call.arguments, program.tensors[load->tensor.index()].name);
    if (store != nullptr) add_once(call.arguments, program.tensors[store->tensor.index()].name);
  }

  /// Finds the flag that the loop's next iteration and the code after the loop wait for.
  void tell_flag(const PeClass& pe_class, const Exit& exit) {
    const std::size_t loop = loop_of(exit.plan);
    for (const std::size_t number : {loop, loop + 1}) {
      Section* const section = &sections[number];
      if (section->waits_for.empty()) section->waits_for = pe_class.slots[exit.runs.slot.index()].name;
      for (const Instruction& instruction : pe_class.code) {
        const SlotRef* written = destination(instruction.action);
        if (written == nullptr || written->slot != exit.runs.slot) continue;
        const bool computes = std::holds_alternative<Compute>(instruction.action);  // or others do
        if (section->flag_span.known() && (computed[number] || !computes)) continue;
        section->flag_span = instruction.span;
        computed[number] = computes;
      }
    }
  }
};

}  // namespace

std::vector<Section> sections(const Program& program) {
  Collected collected{program, positions_of(program)};
  for (std::size_t e = 0; e < program.exit_plans.size(); ++e)
    collected.sections[collected.loop_of(ExitPlanId(e))].loop = program.exit_plans[e].loop;
  for (std::uint32_t c = 0; c < program.classes.size(); ++c) collected.add(c);
  std::vector<Section> result = std::move(collected.sections);
  std::erase_if(result, [](const Section& section) { return section.calls.empty(); });
  for (Section& section : result) {
    for (Call& call : section.calls) std::ranges::stable_sort(call.spans);
  }
  return result;
}

}  // namespace cyclotron::program
