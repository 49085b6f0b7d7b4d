// Private to this folder: where the values of flows lie within one PE.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include <cyclotron/mapping/kept.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::codegen::detail {

/// A circular buffer: the value of a point is at the sum of these dims' multiples, modulo the number of places. Of
/// values that live for a step or two of a long loop only those are kept (Lefebvre and Feautrier's modular storage), and
/// with a dim inside that loop a new value takes the place of one that has just been used for the last time.
struct Circle {
  std::vector<std::pair<std::size_t, std::int64_t>> dims;  ///< With their factors; none: no such buffer.
  std::int64_t modulus = 0;
  bool operator==(const Circle&) const = default;
};

/// How the slot of a flow is indexed: by time dims, outermost first, inside a circular buffer's places; by none where a
/// single place is overwritten step by step.
struct Storage {
  std::vector<std::size_t> dims;
  Circle circle{};
  mapping::FlowId slot{};  ///< The first flow of those that share it.
  [[nodiscard]] bool is_indexed() const { return !dims.empty() || circle.modulus != 0; }
};

/// By flow.
[[nodiscard]] std::vector<Storage> choose_storage(const mapping::Mapping& mapping);

/// Whether every read of one of the flows, which share a slot, finds the value it wants. Exact; more than one have to be
/// computed.
[[nodiscard]] bool is_sound(const mapping::Mapping& mapping, std::span<const mapping::FlowId> flows,
                            const Storage& storage);

/// Reads of a flow's values at one place, as seen from the reader.
struct Reads {
  mapping::FlowId flow;
  std::vector<poly::Affine> point;
  poly::Set domain;
  std::vector<const mapping::Statement*> statements;
};
[[nodiscard]] std::vector<Reads> reads_of(const mapping::Mapping& mapping,
                                          std::span<const mapping::FlowId> flows);

/// Smallest and largest coordinates.
using Extents = std::vector<std::pair<std::int64_t, std::int64_t>>;
[[nodiscard]] Extents extents_of(const poly::Set& points);

/// The elements of a slot: the sum of the axes' coordinates, each from `low` on and times its stride, and of what goes
/// round, modulo its number of places.
struct Places {
  struct Axis {
    std::size_t dim;
    std::int64_t low = 0, stride = 1;
  };
  struct Around {
    std::vector<Axis> axes;
    std::int64_t modulus = 0, stride = 1;  ///< Where the modulus is 0 nothing does.
  };
  std::vector<Axis> axes;
  Around around;
  std::int64_t count = 1;
};

/// For the values of these points.
[[nodiscard]] Places places_in_slot(const Storage& storage, const poly::Set& points);

}  // namespace cyclotron::codegen::detail
