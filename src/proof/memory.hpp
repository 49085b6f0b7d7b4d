// The memory of one PE by byte addresses, holding terms instead of numbers.
#pragma once
#include <cstdint>
#include <numeric>
#include <vector>

#include <cyclotron/program/storage.hpp>
#include <cyclotron/proof/terms.hpp>

namespace cyclotron::proof {

/// Layout of a class's slots in memory and registers, in granules: the largest unit that no slot element cuts.
struct MemoryMap {
  explicit MemoryMap(const program::PeClass& pe_class) {
    std::int64_t unit = 0;
    const auto bytes = [](const program::Slot& slot) {
      return slot.tile.rows * slot.tile.columns *
             static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
    };
    const program::Storage storage(pe_class);
    for (const std::int64_t offset : storage.offsets) unit = std::gcd(unit, offset);
    for (const auto& slot : pe_class.slots) unit = std::gcd(unit, bytes(slot));
    for (std::size_t s = 0; s < pe_class.slots.size(); ++s) {
      const auto& slot = pe_class.slots[s];
      slots.push_back({storage.offsets[s] / unit, bytes(slot) / unit});
      granules = std::max(granules, (storage.offsets[s] + slot.count * bytes(slot)) / unit);
    }
  }

  /// Tells whether two slot elements share bytes.
  [[nodiscard]] bool overlap(std::uint32_t a, std::int64_t element_a, std::uint32_t b,
                             std::int64_t element_b) const {
    const std::int64_t first_a = slots[a].first + element_a * slots[a].stride;
    const std::int64_t first_b = slots[b].first + element_b * slots[b].stride;
    return first_a < first_b + slots[b].stride && first_b < first_a + slots[a].stride;
  }

  struct SlotGranules {
    std::int64_t first;   ///< Granule of element 0.
    std::int64_t stride;  ///< Granules of one element.
  };
  std::vector<SlotGranules> slots;
  std::int64_t granules = 0;
};

/// The last write of each granule. A slot's element can be read while every granule of its range
/// still holds the same write, made through that very element; bytes of another slot are no value of it.
class Memory {
 public:
  explicit Memory(const MemoryMap& map) : map_(&map), cells_(static_cast<std::size_t>(map.granules)) {}

  void write(std::uint32_t slot, std::int64_t element, TermId term) {
    const auto [first, stride] = map_->slots[slot];
    ++writes_;
    Cell* cell = cells_.data() + first + element * stride;
    for (std::int64_t g = 0; g < stride; ++g, ++cell) *cell = {term, slot, element, writes_};
  }

  /// The term, or `no_term` where the range does not hold a value of this slot's element.
  [[nodiscard]] TermId read(std::uint32_t slot, std::int64_t element) const {
    const auto [first, stride] = map_->slots[slot];
    const Cell* cell = cells_.data() + first + element * stride;
    if (cell->slot != slot || cell->element != element) return no_term;
    for (std::int64_t g = 1; g < stride; ++g) {
      if (cell[g].write != cell->write) return no_term;
    }
    return cell->term;
  }

  /// The slot that last wrote into the range, or `none` where nobody did: why a read failed.
  [[nodiscard]] std::uint32_t last_writer(std::uint32_t slot, std::int64_t element) const {
    const auto [first, stride] = map_->slots[slot];
    const Cell* latest = cells_.data() + first + element * stride;
    for (std::int64_t g = 1; g < stride; ++g) {
      const Cell* cell = cells_.data() + first + element * stride + g;
      if (cell->write > latest->write) latest = cell;
    }
    return latest->slot;
  }

 private:
  struct Cell {
    TermId term = no_term;
    std::uint32_t slot = 0xffffffffU;
    std::int64_t element = -1;
    std::uint64_t write = 0;  ///< Number of the write, 0 for none.
  };
  const MemoryMap* map_;
  std::vector<Cell> cells_;
  std::uint64_t writes_ = 0;
};

}  // namespace cyclotron::proof
