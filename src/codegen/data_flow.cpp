#include "data_flow.hpp"

#include <algorithm>
#include <variant>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/uses.hpp>

namespace cyclotron::codegen {

using program::Action;
using program::Compute;
using program::End;
using program::Load;
using program::Move;
using program::PeClass;
using program::Receive;
using program::Slot;
using program::SlotRef;
using program::Uses;

std::size_t block_end(const std::vector<program::Instruction>& code, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin;; ++at) {
    if (program::opens(code[at].action)) ++depth;
    if (std::holds_alternative<End>(code[at].action) && --depth == 0) return at;
  }
}

bool is_in_place(const Action& action) {
  const auto* move = std::get_if<Move>(&action);
  const auto* source = move == nullptr ? nullptr : std::get_if<SlotRef>(&move->source);
  return source != nullptr && *source == move->destination;
}

const SlotRef* destination(const Action& action) {
  if (const auto* compute = std::get_if<Compute>(&action)) return &compute->destination;
  if (const auto* move = std::get_if<Move>(&action)) return &move->destination;
  if (const auto* load = std::get_if<Load>(&action)) return &load->destination;
  if (const auto* receive = std::get_if<Receive>(&action)) return &receive->destination;
  return nullptr;
}

bool is_scalar(const PeClass& pe_class, const SlotRef& ref) {
  const Slot& slot = pe_class.slots[ref.slot.index()];
  return slot.count == 1 && slot.tile == operators::Shape{} && !slot.persistent;
}

bool is_copy(const PeClass& pe_class, const Action& action) {
  const auto* move = std::get_if<Move>(&action);
  if (move == nullptr || is_in_place(action) || !is_scalar(pe_class, move->destination)) return false;
  const auto* source = std::get_if<SlotRef>(&move->source);
  return source == nullptr || is_scalar(pe_class, *source);
}

namespace {

void merge(std::vector<Places>& into, const std::vector<Places>& from) {
  for (std::size_t s = 0; s < into.size(); ++s) into[s].insert(from[s].begin(), from[s].end());
}

}  // namespace

DataFlow::DataFlow(const PeClass& pe_class)
    : class_(pe_class), readers(pe_class.code.size()), writers(pe_class.code.size()) {
  State state(pe_class.slots.size());
  walk(0, pe_class.code.size(), state);
  for (std::vector<Places>* all : {&readers, &writers}) {
    const std::vector<Places> direct = *all;
    for (Places& one : *all) one = through_copies(direct, one);
  }
}

Places DataFlow::through_copies(const std::vector<Places>& direct, const Places& from) const {
  Places result, seen = from;
  std::vector<std::size_t> next(from.begin(), from.end());
  while (!next.empty()) {
    const std::size_t at = next.back();
    next.pop_back();
    if (!is_copy(class_, class_.code[at].action)) {
      result.insert(at);
      continue;
    }
    for (const std::size_t other : direct[at]) {
      if (seen.insert(other).second) next.push_back(other);
    }
  }
  return result;
}

void DataFlow::walk(std::size_t at, std::size_t end, State& state) {
  for (; at < end; ++at) {
    look(at, state);
    if (!program::opens(class_.code[at].action)) continue;
    const std::size_t past = block_end(class_.code, at);
    State before;
    do {
      before = state;
      State inside = state;
      walk(at + 1, past, inside);
      merge(state, inside);
    } while (state != before);
    at = past;
  }
}

void DataFlow::look(std::size_t at, State& state) {
  const Action& action = class_.code[at].action;
  if (is_in_place(action)) return;
  const Uses uses = program::uses_of(action);
  for (const std::size_t slot : uses.read) {
    for (const std::size_t writer : state[slot]) {
      readers[writer].insert(at);
      writers[at].insert(writer);
    }
  }
  for (const std::size_t slot : uses.written) {
    if (class_.slots[slot].count == 1) state[slot].clear();
    state[slot].insert(at);
  }
}

}  // namespace cyclotron::codegen
