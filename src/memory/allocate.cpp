// Best fit: each slot in the smallest gap between those that live when it does, in the best of several orders.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include <cyclotron/memory/channels.hpp>
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

/// Slots that are placed once more, to mend a plan that needs more than what lives at once.
constexpr std::int64_t most_placed = 4000;

using Order = std::vector<std::size_t>;  ///< Slots.

/// The instruction at which live slots take most, and how much that is.
struct Peak {
  std::size_t at = 0;
  double bytes = 0;  ///< Sizes may be beyond any machine.
};

/// Of those slots.
Peak find_peak(const PeClass& pe_class, const std::vector<Lifetime>& live, const Order& slots) {
  std::map<std::size_t, double> changes;  // of the bytes that live
  for (const std::size_t s : slots) {
    const auto bytes = static_cast<double>(size_bytes(pe_class.slots[s]));
    for (const Interval& interval : live[s]) {
      changes[interval.first] += bytes;
      changes[interval.last + 1] -= bytes;
    }
  }
  Peak result;
  double alive = 0;
  for (const auto& [at, change] : changes) {
    alive += change;
    if (alive > result.bytes) result = {at, alive};
  }
  return result;
}

/// Slots in an order, each in the smallest gap.
struct Plan {
  Order order;
  std::vector<std::int64_t> addresses;  ///< In that order.
  std::int64_t bytes = 0;
};

std::int64_t bounded_bytes(const Slot& slot) { return std::min(size_bytes(slot), beyond); }

Plan planned(const PeClass& pe_class, const std::vector<Lifetime>& live, Order order) {
  Plan plan{std::move(order), {}, 0};
  Space memory(live);
  for (const std::size_t s : plan.order) {
    const Slot& slot = pe_class.slots[s];
    const auto bytes = bounded_bytes(slot);
    plan.addresses.push_back(best_fit(memory.gaps(s), bytes, operators::alignment_bytes(slot.dtype)));
    memory.take(s, plan.addresses.back(), bytes);
  }
  plan.bytes = memory.end();
  return plan;
}

/// Persistent slots first; then in each of these orders: the larger first, which are hardest to place; those that live
/// longest; those that take most over time; those that are born first.
std::vector<Order> orders_to_try(const PeClass& pe_class, const std::vector<Lifetime>& live,
                                 const Order& slots) {
  const auto birth = [&](std::size_t s) { return live[s].empty() ? 0 : live[s].front().first; };
  const auto length = [&](std::size_t s) {
    std::int64_t result = 0;
    for (const auto& [first, last] : live[s]) result += static_cast<std::int64_t>(last - first) + 1;
    return result;
  };
  const auto bytes = [&](std::size_t s) { return bounded_bytes(pe_class.slots[s]); };
  std::vector<Order> result;
  const auto add = [&](const auto& key) {
    result.push_back(slots);
    std::ranges::stable_sort(result.back(), {}, [&](std::size_t s) {
      return std::tuple(!pe_class.slots[s].persistent, key(s), birth(s));
    });
  };
  add([&](std::size_t s) { return std::pair(-bytes(s), std::int64_t{0}); });
  add([&](std::size_t s) { return std::pair(-length(s), -bytes(s)); });
  add([&](std::size_t s) {
    return std::pair(-static_cast<double>(bytes(s)) * static_cast<double>(length(s)), 0.0);
  });
  add([&](std::size_t s) { return std::pair(static_cast<std::int64_t>(birth(s)), -bytes(s)); });
  return result;
}

/// The same with the slot that lies highest placed first of those that are not persistent; nothing where it is that.
std::optional<Order> highest_first(const PeClass& pe_class, const Plan& plan) {
  const auto end = [&](std::size_t n) {
    return plan.addresses[n] + bounded_bytes(pe_class.slots[plan.order[n]]);
  };
  std::size_t highest = 0;
  for (std::size_t n = 1; n < plan.order.size(); ++n) {
    if (end(n) > end(highest)) highest = n;
  }
  auto order = plan.order;
  const auto first =
      std::ranges::find_if_not(order, [&](std::size_t s) { return pe_class.slots[s].persistent; });
  const auto place = order.begin() + static_cast<std::ptrdiff_t>(highest);
  if (place <= first) return std::nullopt;
  std::rotate(first, place, place + 1);
  return order;
}

/// Gives addresses to these slots: the best of a few plans, none of which needs less than what lives at once. So much is
/// enough, which another class needs in any case.
void place_best_fit(PeClass& pe_class, const std::vector<Lifetime>& live, const Order& slots,
                    double enough = 0) {
  const double least = std::max(find_peak(pe_class, live, slots).bytes, enough);
  Plan best;
  const auto is_best = [&] { return static_cast<double>(best.bytes) <= least; };
  for (auto& order : orders_to_try(pe_class, live, slots)) {
    auto plan = planned(pe_class, live, std::move(order));
    if (best.order.empty() || plan.bytes < best.bytes) best = std::move(plan);
    if (is_best()) break;
  }
  auto last = best;
  for (auto left = most_placed; !is_best() && left >= std::ssize(slots); left -= std::ssize(slots)) {
    auto order = highest_first(pe_class, last);
    if (!order) break;
    last = planned(pe_class, live, std::move(*order));
    if (last.bytes < best.bytes) best = last;
  }
  for (std::size_t n = 0; n < best.order.size(); ++n)
    pe_class.slots[best.order[n]].address = best.addresses[n];
  pe_class.memory_bytes = best.bytes;
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

Order all_slots(const PeClass& pe_class) {
  Order result(pe_class.slots.size());
  std::iota(result.begin(), result.end(), std::size_t{0});
  return result;
}

std::string describe(const Slot& slot) {
  return fmt::format("`{}` takes {} bytes ({}{}x{} {}{})", slot.name, size_bytes(slot),
                     slot.count == 1 ? "" : fmt::format("{} tiles of ", slot.count), slot.tile.rows,
                     slot.tile.columns, operators::name(slot.dtype), slot.persistent ? ", persistent" : "");
}

/// The slots that live at the peak, the largest first.
std::vector<Note> notes_on_peak(const PeClass& pe_class) {
  constexpr std::size_t shown = 5;
  const std::vector<Lifetime> live = lifetimes(pe_class);
  const std::size_t peak = find_peak(pe_class, live, all_slots(pe_class)).at;
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
  require_channels(program);
}

}  // namespace

Program allocate(Program program) {
  const bool has_banks = machine::has_banks(program.machine.pe);
  std::vector<std::vector<Lifetime>> live;
  double most = 0;
  for (auto& pe_class : program.classes) {
    live.push_back(lifetimes(pe_class));
    if (has_banks) {
      place_with_banks(program, pe_class, live.back(), all_slots(pe_class));
      continue;
    }
    for (Slot& slot : pe_class.slots) slot.first_register.reset();
    most = std::max(most, find_peak(pe_class, live.back(), all_slots(pe_class)).bytes);
  }
  for (std::size_t c = 0; c < program.classes.size() && !has_banks; ++c)
    place_best_fit(program.classes[c], live[c], all_slots(program.classes[c]), most);
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
