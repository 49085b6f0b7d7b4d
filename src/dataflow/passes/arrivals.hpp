// Private to this folder: what comes over links from where it is computed, and flows that hold it there.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow::detail {

/// Numbers one a dim of the grid, or of time, outermost first.
using Offset = std::vector<std::int64_t>;

/// Dims of a placed graph that are the grid's and that are time's, in order.
struct Coordinates {
  explicit Coordinates(const Placed& placed);

  std::size_t rank;
  std::vector<std::size_t> grid, time;

  /// An offset on the grid and one in time as one over all dims; either may be empty, for none.
  [[nodiscard]] std::vector<std::int64_t> together(const Offset& on_grid, const Offset& in_time) const;
};

/// Computed values that a rule takes from another PE. A value's place is the user's PE and the maker's time.
struct Arrival {
  std::size_t rule;
  FlowId source;
  Offset offset;                    ///< From the maker's PE to the user's.
  std::vector<poly::Affine> place;  ///< Of the value that a point of the rule takes.
  poly::Set places;                 ///< Of all of them.
  std::optional<Offset> steps;      ///< From the maker's time to the user's, where it is one number for all.
};

/// Nothing for a rule that moves no such values, broadcasts, or takes them from a distance that varies.
[[nodiscard]] std::optional<Arrival> arrival_of(const Graph& graph, const Coordinates& coordinates,
                                                std::size_t rule);

/// True where each value that a transfer takes is used more than `steps` after it is made.
[[nodiscard]] bool is_later_than(const Graph& graph, const Coordinates& coordinates, const Rule& rule,
                                 const Offset& steps);

/// Adds a flow of the source's elements at these places, `steps` after they are made. `offset` as in an arrival.
FlowId add_relay(Graph& graph, const Coordinates& coordinates, FlowId source, const Offset& offset,
                 const Offset& steps, const poly::Set& places);

/// Lets the points of a transfer take their values from a flow that holds them in their PEs, `steps` after they are
/// made.
void take_here(const Graph& graph, const Coordinates& coordinates, Rule& rule, FlowId holder,
               const Offset& steps);

}  // namespace cyclotron::dataflow::detail
