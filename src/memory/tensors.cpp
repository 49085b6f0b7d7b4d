#include <cyclotron/memory/tensors.hpp>

#include <algorithm>
#include <numeric>
#include <optional>
#include <ranges>
#include <utility>

#include <cyclotron/support/division.hpp>

#include "boxes.hpp"
#include "space.hpp"

namespace cyclotron::memory {
namespace {

using namespace program;

constexpr std::int64_t word_alignment = 2;  // bytes: even words of 16 bits

/// Of a class: where a tensor is loaded first and last, or stored.
struct Accesses {
  std::optional<Interval> code;
  bool in_slots = true;  ///< Persistent ones, all of it.
};

/// By tensor; loops count as a whole.
std::vector<Accesses> accesses(const Program& program, const PeClass& pe_class) {
  std::vector<Accesses> result(program.tensors.size());
  std::vector<std::size_t> end_of(pe_class.code.size()), open, begin_of;
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const Action& action = pe_class.code[at].action;
    if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) open.push_back(at);
    if (!std::holds_alternative<End>(action)) continue;
    end_of[open.front()] = at;  // the last time: of the outermost
    open.pop_back();
  }
  std::size_t first = 0, blocks = 0;
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const Action& action = pe_class.code[at].action;
    if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) {
      if (blocks++ == 0) first = at;
    } else if (std::holds_alternative<End>(action)) {
      --blocks;
    }
    const Interval whole = blocks > 0 ? Interval{first, end_of[first]} : Interval{at, at};
    const auto add = [&](TensorId tensor, bool in_slot) {
      Accesses& own = result[tensor.index()];
      own.code = own.code ? Interval{own.code->first, whole.last} : whole;
      own.in_slots = own.in_slots && in_slot;
    };
    if (const auto* load = std::get_if<Load>(&action))
      add(load->tensor, pe_class.slots[load->destination.slot.index()].persistent);
    if (const auto* store = std::get_if<Store>(&action)) add(store->tensor, false);
  }
  return result;
}

/// The places that slots and blocks take while a block lives, in order.
std::vector<Gap> gaps(const Program& program, const std::vector<std::vector<Lifetime>>& slots,
                      const std::vector<TensorBlock>& placed, const TensorBlock& block) {
  std::vector<Gap> taken;
  for (std::size_t c = 0; c < slots.size(); ++c) {
    for (std::size_t s = 0; s < slots[c].size(); ++s) {
      const Slot& slot = program.classes[c].slots[s];
      if (slot.address >= 0 && meet(slots[c][s], block.live[c]))
        taken.push_back({slot.address, slot.address + size_bytes(slot)});
    }
  }
  for (const TensorBlock& other : placed) {
    const bool together =
        std::ranges::any_of(std::views::iota(std::size_t{0}, slots.size()),
                            [&](std::size_t c) { return meet(other.live[c], block.live[c]); });
    if (together) taken.push_back({other.address, other.address + other.bytes});
  }
  std::ranges::sort(taken, {}, &Gap::first);
  std::vector<Gap> result;
  std::int64_t free = 0;
  for (const Gap& gap : taken) {
    if (gap.first > free) result.push_back({free, gap.first});
    free = std::max(free, gap.end);
  }
  result.push_back({free, 2 * beyond});
  return result;
}

}  // namespace

std::vector<TensorBlock> place_tensors(const Program& program) {
  if (!machine::holds(program.machine.pe, machine::held_tensors)) return {};
  std::vector<std::vector<std::vector<std::int64_t>>> pes;  // by class, that load and store by themselves
  for (const PeClass& pe_class : program.classes) {
    std::erase_if(pes.emplace_back(some_pes(pe_class.region, program.grid)), [&](const auto& at) {
      return machine::is_served(program.machine.memories, program.grid, at);
    });
  }
  std::vector<TensorBlock> blocks;
  for (std::size_t t = 0; t < program.tensors.size(); ++t)
    blocks.push_back({.tensor = TensorId(t), .live = std::vector<Lifetime>(pes.size())});
  std::vector<std::vector<Lifetime>> slots;
  for (std::size_t c = 0; c < pes.size(); ++c) {
    const PeClass& pe_class = program.classes[c];
    slots.push_back(lifetimes(pe_class));
    if (pes[c].empty()) continue;
    const auto own = accesses(program, pe_class);
    for (std::size_t t = 0; t < own.size(); ++t) {
      if (!own[t].code || own[t].in_slots) continue;
      const bool given = program.tensors[t].role != Role::output;
      blocks[t].live[c] = {given ? Interval{0, own[t].code->last}
                                 : Interval{own[t].code->first, pe_class.code.size() - 1}};
    }
    for (const auto& at : pes[c]) {
      const auto tiles = tiles_used(program, pe_class, at);
      for (std::size_t t = 0; t < tiles.size(); ++t) {
        const Tensor& tensor = program.tensors[t];
        std::int64_t bytes = static_cast<std::int64_t>(operators::size_bytes(tensor.dtype));
        for (const std::int64_t extent : tensor.tile) bytes = std::min(bytes * extent, beyond);
        if (!blocks[t].live[c].empty())
          blocks[t].bytes =
              std::max(blocks[t].bytes,
                       bytes > beyond / std::max<std::int64_t>(1, tiles[t]) ? beyond : bytes * tiles[t]);
      }
    }
  }
  std::erase_if(blocks, [](const TensorBlock& block) { return block.bytes == 0; });
  std::ranges::stable_sort(blocks, std::ranges::greater{}, &TensorBlock::bytes);
  std::vector<TensorBlock> placed;
  for (TensorBlock& block : blocks) {
    const auto alignment =
        std::max(word_alignment, operators::alignment_bytes(program.tensors[block.tensor.index()].dtype));
    block.address = best_fit(gaps(program, slots, placed, block), block.bytes, alignment);
    placed.push_back(std::move(block));
  }
  std::ranges::sort(placed, {}, [](const TensorBlock& block) { return block.tensor.index(); });
  return placed;
}

std::vector<std::int64_t> argument_words(const Program& program) {
  std::vector<std::int64_t> result(program.tensors.size());
  std::iota(result.begin(), result.end(), 1);
  for (const TensorBlock& block : place_tensors(program))
    result[block.tensor.index()] = block.address / word_alignment;
  return result;
}

}  // namespace cyclotron::memory
