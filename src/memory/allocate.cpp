// Best fit: each slot in the smallest gap between those that live when it does.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include <fmt/format.h>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/support/error.hpp>

#include <cyclotron/memory/lifetimes.hpp>
#include "place_in_banks.hpp"
#include "space.hpp"

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;
using program::Slot;

/// Gives addresses to these slots.
void place_best_fit(PeClass& pe_class, const std::vector<Lifetime>& live, std::vector<std::size_t> order) {
  const auto bytes = [&](std::size_t s) { return std::min(size_bytes(pe_class.slots[s]), beyond); };
  // Persistent slots first; then larger ones, which are hardest to place, and those that are born first.
  std::ranges::stable_sort(order, {}, [&](std::size_t s) {
    const std::size_t birth = live[s].empty() ? 0 : live[s].front().first;
    return std::tuple(!pe_class.slots[s].persistent, -bytes(s), birth);
  });
  Space memory(live);
  for (const std::size_t s : order) {
    Slot& slot = pe_class.slots[s];
    slot.address = best_fit(memory.gaps(s), bytes(s), operators::alignment_bytes(slot.dtype));
    memory.take(s, slot.address, bytes(s));
  }
  pe_class.memory_bytes = memory.end();
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

/// The instruction at which the slots that are live take most.
std::size_t find_peak(const PeClass& pe_class, const std::vector<Lifetime>& live) {
  std::map<std::size_t, double> changes;  // of the bytes that live; sizes may be beyond any machine
  for (std::size_t s = 0; s < live.size(); ++s) {
    const auto bytes = static_cast<double>(size_bytes(pe_class.slots[s]));
    for (const Interval& interval : live[s]) {
      changes[interval.first] += bytes;
      changes[interval.last + 1] -= bytes;
    }
  }
  std::size_t peak = 0;
  double alive = 0, most = 0;
  for (const auto& [at, change] : changes) {
    alive += change;
    if (alive <= most) continue;
    most = alive;
    peak = at;
  }
  return peak;
}

/// What lives at the peak, the largest first.
std::vector<Note> notes_on_peak(const PeClass& pe_class) {
  constexpr std::size_t shown = 5;
  const std::vector<Lifetime> live = lifetimes(pe_class);
  const std::size_t peak = find_peak(pe_class, live);
  std::vector<const Slot*> alive;
  std::int64_t bytes = 0;
  for (std::size_t s = 0; s < live.size(); ++s) {
    if (!meet(live[s], {{peak, peak}})) continue;
    alive.push_back(&pe_class.slots[s]);
    bytes = std::min(bytes + std::min(size_bytes(pe_class.slots[s]), beyond), beyond);
  }
  std::ranges::stable_sort(alive, std::ranges::greater{}, [](const Slot* slot) { return size_bytes(*slot); });
  std::vector<Note> notes{{peak < pe_class.code.size() ? pe_class.code[peak].span : Span{},
                           fmt::format("most is live here: {} values of {} bytes", alive.size(), bytes)}};
  for (std::size_t s = 0; s < std::min(shown, alive.size()); ++s) notes.push_back({{}, describe(*alive[s])});
  if (alive.size() > shown) notes.push_back({{}, fmt::format("and {} smaller ones", alive.size() - shown)});
  return notes;
}

[[noreturn]] void too_small(const Program& program, const PeClass& pe_class) {
  throw CapacityError(
      {.code = "CYC501",
       .span = {},
       .message =
           fmt::format("{} of `{}` needs {} bytes of PE memory, but the machine has {} a PE", pe_class.name,
                       program.kernel, pe_class.memory_bytes, program.machine.pe.memory_bytes),
       .notes = notes_on_peak(pe_class),
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
