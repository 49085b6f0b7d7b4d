// The code of a PE class as a tree of blocks, for the passes that change it.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <variant>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// An instruction; of a loop or an if what it holds, its End left out.
struct Node {
  program::Instruction instruction;
  std::vector<Node> held{};
  [[nodiscard]] bool is_control() const {
    return std::holds_alternative<program::Loop>(instruction.action) ||
           std::holds_alternative<program::If>(instruction.action);
  }
};
using Nodes = std::vector<Node>;

[[nodiscard]] Nodes tree_of(const std::vector<program::Instruction>& code);
[[nodiscard]] std::vector<program::Instruction> code_of(const Nodes& nodes);

/// Calls read(reference) and write(reference) for what an instruction reads and writes.
template <class Read, class Write>
void each_reference(const program::Instruction& instruction, Read read, Write write) {
  const auto& action = instruction.action;
  if (const auto* branch = std::get_if<program::If>(&action)) {
    for (const auto& bound : branch->within) read(bound.number);
  }
  if (const auto* load = std::get_if<program::Load>(&action)) write(load->destination);
  if (const auto* store = std::get_if<program::Store>(&action)) read(store->source);
  if (const auto* send = std::get_if<program::Send>(&action)) read(send->source);
  if (const auto* broadcast = std::get_if<program::Broadcast>(&action)) read(broadcast->source);
  if (const auto* receive = std::get_if<program::Receive>(&action)) write(receive->destination);
  if (const auto* exit = std::get_if<program::Exit>(&action)) read(exit->runs);
  if (const auto* move = std::get_if<program::Move>(&action)) {
    if (const auto* source = std::get_if<program::SlotRef>(&move->source)) read(*source);
    write(move->destination);
  }
  if (const auto* compute = std::get_if<program::Compute>(&action)) {
    for (const auto& operand : compute->operands) {
      if (const auto* source = std::get_if<program::SlotRef>(&operand)) read(*source);
    }
    if (compute->indexed) read(compute->indexed->number);
    write(compute->destination);
  }
}

[[nodiscard]] bool reads(const program::Instruction& instruction, program::SlotId slot);
[[nodiscard]] bool writes(const program::Instruction& instruction, program::SlotId slot);
/// The same of all that a node holds too.
[[nodiscard]] bool reads_inside(const Node& node, program::SlotId slot);
[[nodiscard]] bool writes_inside(const Node& node, program::SlotId slot);
[[nodiscard]] inline bool touches(const Node& node, program::SlotId slot) {
  return reads_inside(node, slot) || writes_inside(node, slot);
}

/// True of a node that, with all that it holds, loads, moves and computes: no other PE sees it.
[[nodiscard]] bool stays_inside(const Node& node);

/// The slots of one element that every block writes before it reads them: what is left there nobody sees.
[[nodiscard]] std::set<std::size_t> local_slots(const Nodes& nodes, const std::vector<program::Slot>& slots);

[[nodiscard]] inline std::int64_t coefficient(const program::Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() ? form.coefficients[variable] : 0;
}
[[nodiscard]] inline bool depends_on(const program::SlotRef& reference, std::size_t variable) {
  return coefficient(reference.index, variable) != 0 || coefficient(reference.wrap.form, variable) != 0;
}

}  // namespace cyclotron::codegen
