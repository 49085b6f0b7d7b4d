// Values that several points of a PE use, or PEs several hops away: they cross each link once.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow {

/// The costs and limits of a machine's links.
struct Links {
  /// Links on the way between PEs at that offset, wherever they are: none wraps around.
  std::function<std::int64_t(const std::vector<std::int64_t>& offset)> hops;
  std::int64_t latency_cycles = 1;  ///< The most.
  std::int64_t depth = 2;           ///< The least: messages that a link holds before its sender waits.
};

/// The result of share_links.
struct Shared {
  Placed placed;
  bool changed = false;  ///< Relays were added, or taken.
  /// They were, and no value crosses fewer links for it: those of each user's own, received when it needs them,
  /// hold it up less.
  bool in_vain = false;
};

/// Passes computed values on from PE to PE along a tree: each PE that uses such a value in a later step receives it
/// once, in the step in which it is made or, where links are slow, some steps later, and its points take it from there. A stencil's corner value comes by way of
/// the straight neighbour, which uses it too; of a block of points only those on its border travel, each once to each
/// block.
///
/// A value that one point of a neighbour alone uses goes straight there. So does what is broadcast, what varies in distance,
/// what is further away than `most_hops`, and what some point uses in the step in which it is made or in one before
/// it (of PEs that work one after the other): there, what others receive would hold them up, or come too late.
/// Requires: verify(placed.graph). Ensures: verify(result.placed.graph).
[[nodiscard]] Shared share_links(const Placed& placed, const Links& links);

/// Distances over which PEs pass values on one by one: every PE between has a place for those of each distance.
inline constexpr std::int64_t most_hops = 8;

}  // namespace cyclotron::dataflow
