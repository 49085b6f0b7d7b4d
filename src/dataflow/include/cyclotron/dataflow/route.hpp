// Values that PEs need from others that no link joins: they go hop by hop, one grid dimension after the other.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow {

/// The neighbours of a PE.
struct Neighbours {
  /// True where one link leads to a PE at that offset, wherever it is.
  std::function<bool(const std::vector<std::int64_t>& offset)> joined;
  /// PEs round which links lead along each grid dimension: 0 where the last has none to the first, none given: all that the
  /// graph has. Empty: no rings.
  std::vector<std::optional<std::int64_t>> rings = {};
};

/// The ways of the values for the points of a folded PE.
enum class Pace : std::uint8_t {
  /// Those that turn take a leg in each step of the innermost loop of these points, before the first of them: the first leg
  /// of one point's values while those of the point before take their second. PEs take each hop together: no link holds
  /// more than one value. Half of the points' values go along the grid's first dimension first, which halves what the links
  /// into the turns carry.
  in_stages,
  together,  ///< Those of all points take each hop one after the other, before the first of these points.
  singly,    ///< Those of each point take all of their hops before the next.
};

/// Lets what comes from a PE that no link joins, or from PEs at a distance that varies, pass the PEs between: first along
/// the grid's last dimension, then along those before it, on a ring the short way round. Each hop is a step of a new
/// innermost coordinate of time, before the use in the same step of all other loops: values that pass one PE follow each
/// other by the hops behind them, or ahead, and those that so would meet, by the PE that they go to as well. The number of
/// spaces depends on the directions of the ways, not on their lengths.
///
/// Values that are not made in an earlier step of the loops around the points of a folded PE go singly at every pace.
///
/// Throws LegalityError CYC221 where such a value is made in the step of its use: `distribute` tells them apart.
/// Requires: verify(placed.graph). Ensures: verify(result->graph); a link joins what each rule of these ways joins.
/// None where links join everything already.
[[nodiscard]] std::optional<Placed> route(const Placed& placed, const Neighbours& neighbours,
                                          Pace pace = Pace::in_stages);

/// The same with the operands of partial sums that come from a PE that no link joins as values that move: `route` finds the
/// way of these, and leaves other operands as they are.
[[nodiscard]] Placed move_operands(const Placed& placed, const Neighbours& neighbours);

}  // namespace cyclotron::dataflow
