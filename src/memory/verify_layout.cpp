// Checks a layout without the allocator; when slots live it learns where that one does, and tests ask the instructions.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/support/error.hpp>

#include <cyclotron/memory/lifetimes.hpp>

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;
using program::Slot;

[[noreturn]] void fail(const PeClass& pe_class, const std::string& what, std::vector<Note> notes = {}) {
  throw ProgramError({.code = "CYC613",
                      .span = {},
                      .message = fmt::format("{}: {}", pe_class.name, what),
                      .notes = std::move(notes),
                      .help = "compile the program again"});
}

/// A time during which a slot lives.
struct Stay {
  Interval live;
  std::size_t slot;
};

std::vector<Stay> by_begin(const std::vector<Lifetime>& lifetimes) {
  std::vector<Stay> stays;
  for (std::size_t s = 0; s < lifetimes.size(); ++s) {
    for (const Interval& live : lifetimes[s]) stays.push_back({live, s});
  }
  std::ranges::stable_sort(stays, {}, [](const Stay& stay) { return stay.live.first; });
  return stays;
}

/// Extent of a slot: bytes of the memory, or words of the registers.
struct Extent {
  std::string_view unit, where;
  std::int64_t first, size;
};

Extent extent_of(const Slot& slot) {
  if (slot.first_register) return {"words", "registers", *slot.first_register, slot.words()};
  return {"bytes", "memory", slot.address, size_bytes(slot)};
}

/// Sweeps over the code with the slots that are alive, those in registers or the others, ordered by place; they are
/// disjoint, so that a new one can only meet its two neighbours.
void check_sharing(const PeClass& pe_class, const std::vector<Lifetime>& live, bool in_registers) {
  std::map<std::int64_t, Stay> alive;             // By place.
  std::multimap<std::size_t, std::size_t> dying;  // Last instruction to slot.
  const auto clash = [&](const Stay& a, const Stay& b) {
    const auto note = [&](const Stay& stay) {
      const Slot& slot = pe_class.slots[stay.slot];
      const Extent extent = extent_of(slot);
      return Note{{},
                  fmt::format("`{}` has {} {} at {} during {} .. {}", slot.name, extent.size, extent.unit,
                              extent.first, stay.live.first, stay.live.last)};
    };
    fail(pe_class,
         fmt::format("slots `{}` and `{}` are live together and share {}", pe_class.slots[a.slot].name,
                     pe_class.slots[b.slot].name, extent_of(pe_class.slots[a.slot]).where),
         {note(a), note(b)});
  };
  for (const Stay& stay : by_begin(live)) {
    const Slot& slot = pe_class.slots[stay.slot];
    if (slot.first_register.has_value() != in_registers) continue;
    while (!dying.empty() && dying.begin()->first < stay.live.first) {
      alive.erase(extent_of(pe_class.slots[dying.begin()->second]).first);
      dying.erase(dying.begin());
    }
    const Extent extent = extent_of(slot);
    const auto next = alive.lower_bound(extent.first);
    if (next != alive.end() && next->first < extent.first + extent.size) clash(stay, next->second);
    if (next != alive.begin()) {
      const auto& [first, previous] = *std::prev(next);
      if (first + extent_of(pe_class.slots[previous.slot]).size > extent.first) clash(previous, stay);
    }
    alive.emplace(extent.first, stay);
    dying.emplace(stay.live.last, stay.slot);
  }
}

void verify_layout(const Program& program, const PeClass& pe_class) {
  const std::int64_t capacity = program.machine.pe.memory_bytes;
  if (pe_class.memory_bytes < 0 || pe_class.memory_bytes > capacity) {
    fail(pe_class, fmt::format("takes {} bytes of PE memory, but the machine has {} a PE",
                               pe_class.memory_bytes, capacity));
  }
  for (const auto& slot : pe_class.slots) {
    if (slot.first_register) {
      const std::int64_t registers = program.machine.pe.registers.value_or(0);
      if (slot.address == -1 && *slot.first_register >= 0 && slot.words() <= registers &&
          *slot.first_register <= registers - slot.words()) {
        continue;
      }
      fail(pe_class, fmt::format("slot `{}` has {} words at register {}, outside the machine's {}", slot.name,
                                 slot.words(), *slot.first_register, registers));
    }
    if (slot.address < 0) fail(pe_class, fmt::format("slot `{}` has no address", slot.name));
    const std::int64_t bytes = size_bytes(slot);
    if (bytes > pe_class.memory_bytes || slot.address > pe_class.memory_bytes - bytes) {
      fail(pe_class, fmt::format("slot `{}` has {} bytes at {}, outside the {} bytes of the class", slot.name,
                                 bytes, slot.address, pe_class.memory_bytes));
    }
    if (const auto alignment = operators::alignment_bytes(slot.dtype); slot.address % alignment != 0) {
      fail(pe_class,
           fmt::format("slot `{}` is at {}, not a multiple of {}", slot.name, slot.address, alignment));
    }
  }
  const auto live = lifetimes(pe_class);
  for (const bool in_registers : {false, true}) check_sharing(pe_class, live, in_registers);
}

}  // namespace

void verify_layout(const Program& program) {
  for (const auto& pe_class : program.classes) verify_layout(program, pe_class);
}

}  // namespace cyclotron::memory
