// Best fit over a list of free blocks, in the order in which slots come to life.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/support/error.hpp>

#include "lifetimes.hpp"
#include "place_in_banks.hpp"

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;
using program::Slot;

/// Beyond any machine. Sizes stop growing here, so that sums never overflow.
constexpr std::int64_t beyond = std::int64_t{1} << 61;

std::int64_t padded(const Slot& slot) {
  const std::int64_t bytes = std::min(size_bytes(slot), beyond);
  return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

/// Memory that grows at its top; free blocks below the top are kept coalesced.
class Heap {
 public:
  std::int64_t take(std::int64_t bytes) {
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->second >= bytes && (best == free_.end() || block->second < best->second)) best = block;
    }
    if (best == free_.end()) return grow(bytes);
    const auto [address, size] = *best;
    free_.erase(best);
    if (size > bytes) free_.emplace(address + bytes, size - bytes);
    return address;
  }

  void give(std::int64_t address, std::int64_t bytes) {
    auto next = free_.lower_bound(address);
    if (next != free_.end() && next->first == address + bytes) {
      bytes += next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin()) {
      const auto previous = std::prev(next);
      if (previous->first + previous->second == address) {
        previous->second += bytes;
        return;
      }
    }
    free_.emplace(address, bytes);
  }

  [[nodiscard]] std::int64_t top() const { return top_; }

 private:
  /// Extends the memory; a free block that ends at the top is used up first.
  std::int64_t grow(std::int64_t bytes) {
    std::int64_t address = top_;
    if (!free_.empty()) {
      const auto last = std::prev(free_.end());
      if (last->first + last->second == top_) {
        address = last->first;
        free_.erase(last);
      }
    }
    top_ = std::min(address + bytes, beyond);
    return address;
  }

  std::map<std::int64_t, std::int64_t> free_;  // Address to bytes.
  std::int64_t top_ = 0;
};

/// Gives addresses to these slots.
void place_best_fit(PeClass& pe_class, const std::vector<Lifetime>& live, std::vector<std::size_t> order) {
  // Persistent slots first; then by birth, larger ones first among equals.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const Slot& left = pe_class.slots[a];
    const Slot& right = pe_class.slots[b];
    if (left.persistent != right.persistent) return left.persistent;
    if (live[a].first != live[b].first) return live[a].first < live[b].first;
    return padded(left) > padded(right);
  });
  Heap heap;
  std::multimap<std::size_t, std::size_t> dying;  // Last instruction to slot.
  for (const auto s : order) {
    Slot& slot = pe_class.slots[s];
    while (!slot.persistent && !dying.empty() && dying.begin()->first < live[s].first) {
      const Slot& dead = pe_class.slots[dying.begin()->second];
      heap.give(dead.address, padded(dead));
      dying.erase(dying.begin());
    }
    slot.address = heap.take(padded(slot));
    if (!slot.persistent) dying.emplace(live[s].last, s);
  }
  pe_class.memory_bytes = heap.top();
}

/// The better of two choices of what lies in registers.
void place_with_banks(const Program& program, PeClass& pe_class, const std::vector<Lifetime>& live,
                      const std::vector<std::size_t>& all) {
  const machine::Pe& pe = program.machine.pe;
  const Traffic traffic = count_traffic(program, pe_class);
  std::vector<Slot> best;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t best_bytes = 0;
  for (const Preference preference : {Preference::uses_a_register, Preference::words}) {
    place_in_registers(pe, pe_class, live, traffic, preference);
    std::vector<std::size_t> slots = all;
    std::erase_if(slots, [&](std::size_t s) { return pe_class.slots[s].first_register.has_value(); });
    for (Slot& slot : pe_class.slots) slot.address = -1;
    if (!place_in_banks(pe, pe_class, live, traffic, slots)) place_best_fit(pe_class, live, slots);
    const bool fits = pe_class.memory_bytes <= pe.memory_bytes;
    const double cycles = fits ? bank_cycles(pe, pe_class, traffic) : std::numeric_limits<double>::infinity();
    if (!best.empty() && cycles >= least) continue;
    best = pe_class.slots;
    best_bytes = pe_class.memory_bytes;
    least = cycles;
  }
  if (std::isfinite(least)) {
    pe_class.slots = std::move(best);
    pe_class.memory_bytes = best_bytes;
    return;
  }
  // Best fit may need more for fewer slots.
  for (Slot& slot : pe_class.slots) slot.first_register.reset();
  place_best_fit(pe_class, live, all);
}

void allocate(const Program& program, PeClass& pe_class) {
  const std::vector<Lifetime> live = lifetimes(pe_class);
  std::vector<std::size_t> slots(pe_class.slots.size());
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  if (machine::has_banks(program.machine.pe)) return place_with_banks(program, pe_class, live, slots);
  for (Slot& slot : pe_class.slots) slot.first_register.reset();
  place_best_fit(pe_class, live, std::move(slots));
}

std::string describe(const Slot& slot) {
  return fmt::format("`{}` takes {} bytes ({}{}x{} {}{})", slot.name, size_bytes(slot),
                     slot.count == 1 ? "" : fmt::format("{} tiles of ", slot.count), slot.tile.rows,
                     slot.tile.columns, operators::name(slot.dtype), slot.persistent ? ", persistent" : "");
}

[[noreturn]] void too_small(const Program& program, const PeClass& pe_class) {
  constexpr std::size_t shown = 5;
  std::vector<const Slot*> largest;
  for (const auto& slot : pe_class.slots) largest.push_back(&slot);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const Slot* a, const Slot* b) { return size_bytes(*a) > size_bytes(*b); });
  std::vector<Note> notes;
  for (std::size_t s = 0; s < std::min(shown, largest.size()); ++s)
    notes.push_back({{}, describe(*largest[s])});
  if (largest.size() > shown)
    notes.push_back({{}, fmt::format("and {} smaller ones", largest.size() - shown)});
  throw CapacityError(
      {.code = "CYC501",
       .span = {},
       .message =
           fmt::format("{} of `{}` needs {} bytes of PE memory, but the machine has {} a PE", pe_class.name,
                       program.kernel, pe_class.memory_bytes, program.machine.pe.memory_bytes),
       .notes = std::move(notes),
       .help = fmt::format(
           "use smaller tiles, keep fewer of them in the PE, or a machine with memory of at least {} bytes",
           pe_class.memory_bytes)});
}

void require_capacity(const Program& program) {
  const auto largest = std::ranges::max_element(program.classes, {}, &PeClass::memory_bytes);
  if (largest != program.classes.end() && largest->memory_bytes > program.machine.pe.memory_bytes)
    too_small(program, *largest);
}

}  // namespace

Program allocate(Program program) {
  for (auto& pe_class : program.classes) allocate(program, pe_class);
  require_capacity(program);
  return program;
}

Program with_machine(Program program, machine::Machine machine) {
  const machine::Pe& before = program.machine.pe;
  const machine::Pe& after = machine.pe;
  const bool same_banks = before.registers == after.registers && before.banks == after.banks &&
                          (!machine::has_banks(after) || before.memory_bytes == after.memory_bytes);
  program.machine = std::move(machine);
  if (!same_banks) return allocate(std::move(program));
  require_capacity(program);
  return program;
}

}  // namespace cyclotron::memory
