#include "code_tree.hpp"

#include <cmath>

#include <cyclotron/operators/operators.hpp>

namespace cyclotron::codegen {

namespace {

Nodes block_at(const std::vector<program::Instruction>& code, std::size_t& at) {
  Nodes result;
  for (; at < code.size() && !std::holds_alternative<program::End>(code[at].action); ++at) {
    result.push_back({code[at]});
    if (result.back().is_control()) result.back().held = block_at(code, ++at);
  }
  return result;
}

void append(const Nodes& nodes, std::vector<program::Instruction>& code) {
  for (const auto& node : nodes) {
    code.push_back(node.instruction);
    if (!node.is_control()) continue;
    append(node.held, code);
    code.push_back({program::End{}, {}});
  }
}

/// Takes those out of `local` that the block reads first. Returns all slots that it writes.
std::set<std::size_t> keep_local(const Nodes& nodes, std::set<std::size_t>& local) {
  std::set<std::size_t> written, by_blocks;
  for (const auto& node : nodes) {
    each_reference(
        node.instruction,
        [&](const program::SlotRef& one) {
          if (!written.contains(one.slot.index())) local.erase(one.slot.index());
        },
        [&](const program::SlotRef& one) { written.insert(one.slot.index()); });
    for (const auto slot : keep_local(node.held, local)) {  // what it leaves there is seen if it is read
      by_blocks.insert(slot);
      written.erase(slot);
    }
  }
  written.merge(by_blocks);
  return written;
}

}  // namespace

Nodes tree_of(const std::vector<program::Instruction>& code) {
  std::size_t at = 0;
  return block_at(code, at);
}

std::vector<program::Instruction> code_of(const Nodes& nodes) {
  std::vector<program::Instruction> result;
  append(nodes, result);
  return result;
}

bool reads(const program::Instruction& instruction, program::SlotId slot) {
  bool result = false;
  each_reference(
      instruction, [&](const program::SlotRef& one) { result = result || one.slot == slot; },
      [](const program::SlotRef&) {});
  return result;
}
bool writes(const program::Instruction& instruction, program::SlotId slot) {
  bool result = false;
  each_reference(
      instruction, [](const program::SlotRef&) {},
      [&](const program::SlotRef& one) { result = result || one.slot == slot; });
  return result;
}
bool reads_inside(const Node& node, program::SlotId slot) {
  return reads(node.instruction, slot) ||
         std::ranges::any_of(node.held, [&](const Node& held) { return reads_inside(held, slot); });
}
bool stays_inside(const Node& node) {
  const auto& action = node.instruction.action;
  const bool may = std::holds_alternative<program::Load>(action) ||
                   std::holds_alternative<program::Move>(action) ||
                   std::holds_alternative<program::Compute>(action) || node.is_control();
  return may && std::ranges::all_of(node.held, stays_inside);
}
bool writes_inside(const Node& node, program::SlotId slot) {
  return writes(node.instruction, slot) ||
         std::ranges::any_of(node.held, [&](const Node& held) { return writes_inside(held, slot); });
}

std::set<std::size_t> local_slots(const Nodes& nodes, const std::vector<program::Slot>& slots) {
  std::set<std::size_t> result;
  for (std::size_t s = 0; s < slots.size(); ++s) {
    if (slots[s].count == 1) result.insert(s);
  }
  keep_local(nodes, result);
  return result;
}

}  // namespace cyclotron::codegen
