// Best fit: each slot in the smallest gap between those that live when it does, in the best of several orders.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/program/roles.hpp>
#include "capacity.hpp"
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

/// The most bytes that some slots take together. Sizes may be beyond any machine.
double peak_bytes(const PeClass& pe_class, const std::vector<Lifetime>& live, const Order& slots) {
  std::vector<Stay> stays;
  for (const std::size_t s : slots) stays.push_back({&live[s], size_bytes(pe_class.slots[s])});
  return find_peak(stays).bytes;
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
  const double least = std::max(peak_bytes(pe_class, live, slots), enough);
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
    most = std::max(most, peak_bytes(pe_class, live.back(), all_slots(pe_class)));
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
  program::time_executive(program);
  if (!same_banks) return allocate(std::move(program));
  require_capacity(program);
  return program;
}

}  // namespace cyclotron::memory
