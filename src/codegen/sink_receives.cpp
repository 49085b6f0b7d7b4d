#include <cyclotron/codegen/sink_receives.hpp>

#include <algorithm>
#include <vector>

namespace cyclotron::codegen {

namespace {

template <class Source>
bool is_in(const Source& source, program::SlotId slot) {
  const auto* ref = std::get_if<program::SlotRef>(&source);
  return ref != nullptr && ref->slot == slot;
}

/// True where the instruction computes without the slot.
bool computes_beside(const program::Instruction& instruction, program::SlotId slot) {
  if (const auto* move = std::get_if<program::Move>(&instruction.action))
    return move->destination.slot != slot && !is_in(move->source, slot);
  const auto* compute = std::get_if<program::Compute>(&instruction.action);
  return compute != nullptr && compute->destination.slot != slot &&
         std::ranges::none_of(compute->operands,
                              [slot](const auto& operand) { return is_in(operand, slot); });
}

/// True where the instruction combines the value of the slot with something, in place.
bool accumulates(const program::Instruction& instruction, program::SlotId slot) {
  const auto* compute = std::get_if<program::Compute>(&instruction.action);
  return compute != nullptr && compute->destination.slot == slot &&
         std::ranges::any_of(compute->operands, [slot](const auto& operand) { return is_in(operand, slot); });
}

void sink_receives(std::vector<program::Instruction>& code) {
  for (auto at = code.end(); at != code.begin();) {
    --at;
    const auto* receive = std::get_if<program::Receive>(&at->action);
    if (receive == nullptr) continue;
    const auto slot = receive->destination.slot;
    const auto beside = [slot](const auto& instruction) { return computes_beside(instruction, slot); };
    const auto use = std::find_if_not(at + 1, code.end(), beside);
    if (use != code.end() && accumulates(*use, slot)) std::rotate(at, at + 1, use);
  }
}

}  // namespace

program::Program sink_receives(const program::Program& program) {
  auto result = program;
  for (auto& pe_class : result.classes) sink_receives(pe_class.code);
  return result;
}

}  // namespace cyclotron::codegen
