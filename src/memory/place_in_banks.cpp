#include "place_in_banks.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include <cyclotron/support/division.hpp>

#include "space.hpp"

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Slot;

/// Slots by falling value; equal ones in their order.
template <class Value>
std::vector<std::size_t> by_value(std::vector<std::size_t> slots, Value value) {
  std::ranges::stable_sort(slots, std::ranges::greater{}, value);
  return slots;
}

/// Places slots one by one.
class BankPlacer {
 public:
  BankPlacer(const machine::Pe& pe, PeClass& pe_class, const std::vector<Lifetime>& live,
             const Traffic& traffic)
      : bank_bytes_(machine::bank_bytes(pe)),
        banks_(pe.banks.value_or(1)),
        pe_class_(pe_class),
        traffic_(traffic),
        memory_(live) {}

  bool place(std::size_t s) {
    Slot& slot = pe_class_.slots[s];
    const std::int64_t bytes = size_bytes(slot);
    const std::int64_t count = std::max<std::int64_t>(1, ceil_divide(bytes, bank_bytes_));
    if (count > banks_) return false;
    const auto gaps = memory_.gaps(s);
    const auto waits = waits_by_bank(s);
    std::optional<std::int64_t> address;
    double least = 0;
    for (std::int64_t first = 0; first + count <= banks_; ++first) {
      const auto begin = waits.begin() + first;
      const double here = std::accumulate(begin, begin + count, 0.0);
      if (address && here >= least) continue;
      const auto found = first_fit(gaps, bytes, operators::alignment_bytes(slot.dtype),
                                   {first * bank_bytes_, (first + count) * bank_bytes_});
      if (!found) continue;
      address = found;
      least = here;
      if (least == 0) break;
    }
    if (!address) return false;
    slot.address = *address;
    memory_.take(s, *address, bytes);
    pe_class_.memory_bytes = memory_.end();
    return true;
  }

 private:
  /// Words for which the slot and those that are placed would wait in each bank.
  [[nodiscard]] std::vector<double> waits_by_bank(std::size_t s) const {
    std::vector<double> result(static_cast<std::size_t>(banks_), 0.0);
    for (const auto& [other, words] : traffic_.together[s]) {
      const Slot& placed = pe_class_.slots[other];
      if (placed.address < 0) continue;
      const std::int64_t first = placed.address / bank_bytes_;
      const std::int64_t last = (placed.address + size_bytes(placed) - 1) / bank_bytes_;
      for (std::int64_t b = first; b <= last; ++b)
        result[static_cast<std::size_t>(b)] += words / static_cast<double>(last - first + 1);
    }
    return result;
  }

  std::int64_t bank_bytes_;
  std::int64_t banks_;
  PeClass& pe_class_;
  const Traffic& traffic_;
  Space memory_;
};

}  // namespace

void place_in_registers(const machine::Pe& pe, PeClass& pe_class, const std::vector<Lifetime>& live,
                        const Traffic& traffic, Preference preference) {
  const std::int64_t registers = pe.registers.value_or(0);
  std::vector<std::size_t> slots;
  for (std::size_t s = 0; s < pe_class.slots.size(); ++s) {
    pe_class.slots[s].first_register.reset();
    if (traffic.uses[s] > 0 && pe_class.slots[s].words() <= registers) slots.push_back(s);
  }
  const auto value = [&](std::size_t s) {
    const Slot& slot = pe_class.slots[s];
    const auto words = static_cast<double>(slot.tile.rows * slot.tile.columns);
    return traffic.uses[s] * words /
           (preference == Preference::words ? 1 : static_cast<double>(slot.words()));
  };
  Space file(live);
  for (const std::size_t s : by_value(std::move(slots), value)) {
    Slot& slot = pe_class.slots[s];
    slot.first_register = first_fit(file.gaps(s), slot.words(), 1, {0, registers});
    if (slot.first_register) file.take(s, *slot.first_register, slot.words());
  }
}

bool place_in_banks(const machine::Pe& pe, PeClass& pe_class, const std::vector<Lifetime>& live,
                    const Traffic& traffic, const std::vector<std::size_t>& slots) {
  const auto most_banks_most_uses = [&](std::size_t s) {  // several banks are found while these are free
    return std::pair(ceil_divide(size_bytes(pe_class.slots[s]), machine::bank_bytes(pe)), traffic.uses[s]);
  };
  pe_class.memory_bytes = 0;
  BankPlacer placer(pe, pe_class, live, traffic);
  for (const std::size_t s : by_value(slots, most_banks_most_uses)) {
    if (placer.place(s)) continue;
    for (const std::size_t placed : slots) pe_class.slots[placed].address = -1;
    return false;
  }
  return true;
}

double bank_cycles(const machine::Pe& pe, const PeClass& pe_class, const Traffic& traffic) {
  const std::int64_t bank = machine::bank_bytes(pe);
  std::map<std::int64_t, double> words;  // by bank
  double result = 0;
  for (const auto& [runs, slots] : traffic.operations) {
    words.clear();
    double most = 1;
    for (const std::size_t s : slots) {
      const Slot& slot = pe_class.slots[s];
      if (slot.first_register) continue;
      const std::int64_t first = slot.address / bank;
      const std::int64_t last = (slot.address + size_bytes(slot) - 1) / bank;
      const auto each =
          static_cast<double>(ceil_divide(slot.tile.rows * slot.tile.columns, last - first + 1));
      for (std::int64_t b = first; b <= last; ++b) most = std::max(most, words[b] += each);
    }
    result += runs * most;
  }
  return result;
}

}  // namespace cyclotron::memory
