// Checks a layout without the allocator, and prints it.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/support/error.hpp>

#include "lifetimes.hpp"

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

std::string lifetime_text(const Lifetime& live) { return fmt::format("{} .. {}", live.first, live.last); }

std::vector<std::size_t> by_birth(const std::vector<Lifetime>& live) {
  std::vector<std::size_t> order(live.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return live[a].first < live[b].first; });
  return order;
}

/// Sweeps over the code with the slots that are alive, ordered by address; they are disjoint, so that a new
/// one can only meet its two neighbours.
void check_sharing(const PeClass& pe_class, const std::vector<Lifetime>& live) {
  std::map<std::int64_t, std::size_t> alive;      // Address to slot.
  std::multimap<std::size_t, std::size_t> dying;  // Last instruction to slot.
  const auto clash = [&](std::size_t a, std::size_t b) {
    const Slot& first = pe_class.slots[a];
    const Slot& second = pe_class.slots[b];
    fail(pe_class,
         fmt::format("slots `{}` and `{}` are live together and share memory", first.name, second.name),
         {{{},
           fmt::format("`{}` has {} bytes at {} during {}", first.name, size_bytes(first), first.address,
                       lifetime_text(live[a]))},
          {{},
           fmt::format("`{}` has {} bytes at {} during {}", second.name, size_bytes(second), second.address,
                       lifetime_text(live[b]))}});
  };
  for (const auto s : by_birth(live)) {
    while (!dying.empty() && dying.begin()->first < live[s].first) {
      alive.erase(pe_class.slots[dying.begin()->second].address);
      dying.erase(dying.begin());
    }
    const Slot& slot = pe_class.slots[s];
    const auto next = alive.lower_bound(slot.address);
    if (next != alive.end() && next->first < slot.address + size_bytes(slot)) clash(s, next->second);
    if (next != alive.begin()) {
      const auto [address, previous] = *std::prev(next);
      if (address + size_bytes(pe_class.slots[previous]) > slot.address) clash(previous, s);
    }
    alive.emplace(slot.address, s);
    dying.emplace(live[s].last, s);
  }
}

void verify_layout(const Program& program, const PeClass& pe_class) {
  const std::int64_t capacity = program.machine.pe.memory_bytes;
  if (pe_class.memory_bytes < 0 || pe_class.memory_bytes > capacity) {
    fail(pe_class, fmt::format("takes {} bytes of PE memory, but the machine has {} a PE",
                               pe_class.memory_bytes, capacity));
  }
  for (const auto& slot : pe_class.slots) {
    if (slot.address < 0) fail(pe_class, fmt::format("slot `{}` has no address", slot.name));
    const std::int64_t bytes = size_bytes(slot);
    if (bytes > pe_class.memory_bytes || slot.address > pe_class.memory_bytes - bytes) {
      fail(pe_class, fmt::format("slot `{}` has {} bytes at {}, outside the {} bytes of the class", slot.name,
                                 bytes, slot.address, pe_class.memory_bytes));
    }
    if (slot.address % alignment_bytes != 0) {
      fail(pe_class,
           fmt::format("slot `{}` is at {}, not a multiple of {}", slot.name, slot.address, alignment_bytes));
    }
  }
  check_sharing(pe_class, lifetimes(pe_class));
}

}  // namespace

void verify_layout(const Program& program) {
  for (const auto& pe_class : program.classes) verify_layout(program, pe_class);
}

std::string memory_map(const Program& program, const PeClass& pe_class) {
  const std::vector<Lifetime> live = lifetimes(pe_class);
  std::vector<std::size_t> order = by_birth(live);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return pe_class.slots[a].address < pe_class.slots[b].address;
  });
  std::string text = fmt::format("{}: {} of {} bytes\n", pe_class.name, pe_class.memory_bytes,
                                 program.machine.pe.memory_bytes);
  text += fmt::format("{:>10} {:>10}  {:<14}  {}\n", "address", "bytes", "live", "slot");
  for (const auto s : order) {
    const Slot& slot = pe_class.slots[s];
    text += fmt::format("{:>10} {:>10}  {:<14}  {}{}\n",
                        slot.address < 0 ? "-" : std::to_string(slot.address), size_bytes(slot),
                        lifetime_text(live[s]), slot.name, slot.persistent ? " (persistent)" : "");
  }
  return text;
}

}  // namespace cyclotron::memory
