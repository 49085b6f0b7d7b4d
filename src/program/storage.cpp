#include <cyclotron/program/storage.hpp>

#include <algorithm>

#include <cyclotron/support/division.hpp>

namespace cyclotron::program {
namespace {

constexpr std::int64_t largest_alignment = 8;  // a multiple of every other
constexpr std::int64_t register_bytes = 16;    // of the largest element

struct SlotExtent {
  std::int64_t first;
  std::int64_t end;
  std::size_t slot;
};

/// Moves the extents together by multiples of so much, each that overlaps or touches others along with them; their
/// end, from 0.
std::int64_t close_gaps(std::vector<SlotExtent>& extents, std::int64_t granule) {
  std::ranges::sort(extents, {}, &SlotExtent::first);
  std::int64_t gaps = 0, end = 0;  // before they are moved
  for (SlotExtent& extent : extents) {
    gaps += std::max<std::int64_t>(0, extent.first - end) / granule * granule;
    end = std::max(end, extent.end);
    extent.first -= gaps;
  }
  return end - gaps;
}

}  // namespace

Storage::Storage(const PeClass& pe_class) : offsets(pe_class.slots.size(), 0) {
  std::vector<SlotExtent> in_memory, in_registers;
  for (std::size_t s = 0; s < pe_class.slots.size(); ++s) {
    const Slot& slot = pe_class.slots[s];
    if (slot.first_register) {
      in_registers.push_back({*slot.first_register, *slot.first_register + slot.words(), s});
    } else {
      const auto element = static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
      in_memory.push_back({slot.address, slot.address + slot.words() * element, s});
    }
  }
  memory_bytes = close_gaps(in_memory, largest_alignment);
  registers = close_gaps(in_registers, 1);
  const std::int64_t after_memory = ceil_divide(memory_bytes, largest_alignment) * largest_alignment;
  bytes = after_memory + registers * register_bytes;
  for (const SlotExtent& extent : in_memory) offsets[extent.slot] = extent.first;
  for (const SlotExtent& extent : in_registers)
    offsets[extent.slot] = after_memory + extent.first * register_bytes;
}

}  // namespace cyclotron::program
