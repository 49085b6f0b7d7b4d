// Prints a layout.
#include <algorithm>
#include <numeric>
#include <ranges>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/memory/layout.hpp>
#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/program/storage.hpp>

namespace cyclotron::memory {
namespace {

using program::PeClass;
using program::Program;
using program::Slot;

std::string first_to_last(std::string_view prefix, std::int64_t first, std::int64_t last) {
  return first == last ? fmt::format("{}{}", prefix, first) : fmt::format("{}{}-{}", prefix, first, last);
}

/// Its address; its registers.
std::string place_text(const Slot& slot) {
  if (slot.first_register)
    return first_to_last("r", *slot.first_register, *slot.first_register + slot.words() - 1);
  return slot.address < 0 ? "-" : std::to_string(slot.address);
}

std::string bank_text(const machine::Pe& pe, const Slot& slot) {
  if (slot.address < 0) return "-";
  const std::int64_t bank = machine::bank_bytes(pe);
  return first_to_last("", slot.address / bank, (slot.address + size_bytes(slot) - 1) / bank);
}

std::string live_text(const Lifetime& live) {
  if (live.empty()) return "-";
  return fmt::format("{}", fmt::join(live | std::views::transform([](const Interval& one) {
                                       return fmt::format("{} .. {}", one.first, one.last);
                                     }),
                                     ", "));
}

std::string heading(const machine::Pe& pe, const PeClass& pe_class, const Layout& all) {
  const bool laid_out = std::ranges::all_of(pe_class.slots, &Slot::laid_out);
  const program::Storage storage(laid_out ? pe_class : PeClass{});
  std::int64_t bytes = storage.memory_bytes;
  for (std::size_t s = pe_class.slots.size(); s < all.slots.size(); ++s)
    bytes = std::max({bytes, pe_class.memory_bytes, all.slots[s].address + size_bytes(all.slots[s])});
  std::string text = fmt::format("{}: {} of {} bytes", pe_class.name, bytes, pe.memory_bytes);
  if (pe.banks) text += fmt::format(" in {} banks", *pe.banks);
  if (pe.registers) text += fmt::format(", {} of {} registers", storage.registers, *pe.registers);
  return text + "\n";
}

}  // namespace

Layout layout(const Program& program, std::size_t number, const std::vector<TensorBlock>& blocks) {
  const PeClass& pe_class = program.classes[number];
  Layout result{.slots = pe_class.slots, .live = lifetimes(pe_class)};
  for (const TensorBlock& block : blocks) {
    if (block.live[number].empty()) continue;
    const program::Tensor& tensor = program.tensors[block.tensor.index()];
    const auto element = static_cast<std::int64_t>(operators::size_bytes(tensor.dtype));
    result.slots.push_back({.name = "tensor " + tensor.name,
                            .dtype = tensor.dtype,
                            .tile = {},
                            .count = block.bytes / element,
                            .address = block.address});
    result.live.push_back(block.live[number]);
  }
  return result;
}

std::string memory_map(const Program& program, std::size_t number, const std::vector<TensorBlock>& blocks) {
  const machine::Pe& pe = program.machine.pe;
  const PeClass& pe_class = program.classes[number];
  const auto [slots, live] = layout(program, number, blocks);
  std::vector<std::size_t> order(live.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t s) {
    const Slot& slot = slots[s];
    return std::tuple(slot.address, slot.first_register, live[s].empty() ? 0 : live[s].front().first);
  });
  std::string text = heading(pe, pe_class, {slots, live});
  const auto add = [&](std::string_view place, std::string_view bank, std::string_view bytes,
                       std::string_view alive, std::string_view name) {
    text += fmt::format("{:>10}{} {:>10}  {:<14}  {}\n", place,
                        machine::has_banks(pe) ? fmt::format(" {:>6}", bank) : "", bytes, alive, name);
  };
  add("address", "bank", "bytes", "live", "slot");
  for (const auto s : order) {
    const Slot& slot = slots[s];
    add(place_text(slot), bank_text(pe, slot), std::to_string(size_bytes(slot)), live_text(live[s]),
        slot.name + (slot.persistent ? " (persistent)" : ""));
  }
  return text;
}

}  // namespace cyclotron::memory
