// Storage of the values of flows within one PE.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen {

/// The value of a point is at the sum of these dims' multiples, modulo the number of places (Lefebvre and Feautrier's
/// modular storage). Of values that live for a step or two of a long loop only those are stored, and with a dim inside
/// that loop a new value takes the place of one that has just been used for the last time.
struct ModularBuffer {
  std::vector<std::pair<std::size_t, std::int64_t>> dims;  ///< With their factors; none: no such buffer.
  std::int64_t modulus = 0;
  bool operator==(const ModularBuffer&) const = default;
};

/// The index of a flow's slot: time dims, outermost first, inside a modular buffer's places; none where a
/// single place is overwritten step by step.
struct Storage {
  std::vector<std::size_t> dims;
  ModularBuffer buffer{};
  mapping::FlowId slot{};  ///< The first flow of those that share it.
  [[nodiscard]] bool is_indexed() const { return !dims.empty() || buffer.modulus != 0; }
};

/// Smallest and largest coordinates.
using Extents = std::vector<std::pair<std::int64_t, std::int64_t>>;
[[nodiscard]] Extents extents_of(const poly::Set& points);

/// The elements of a slot: the sum of the axes' coordinates, each from `low` on and times its stride, and of the modulo
/// axis.
struct SlotLayout {
  struct Axis {
    std::size_t dim;
    std::int64_t low = 0, stride = 1;
  };
  /// The sum of its axes' coordinates, modulo the number of places.
  struct ModuloAxis {
    std::vector<Axis> axes;
    std::int64_t modulus = 0, stride = 1;  ///< A modulus of 0: there is none.
  };
  std::vector<Axis> axes;
  ModuloAxis modulo;
  std::int64_t count = 1;
};

/// For the values of these points.
[[nodiscard]] SlotLayout slot_layout(const Storage& storage, const poly::Set& points);

}  // namespace cyclotron::codegen
