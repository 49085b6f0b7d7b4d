// The least time of operators in given PEs: what waits for what, and one operator after the other in each.
#pragma once
#include <cstdint>
#include <limits>
#include <vector>

#include <cyclotron/machine/memories.hpp>
#include <cyclotron/recurrence/operation_graph.hpp>

namespace cyclotron::driver {

/// A coordinate of an operator whose place is not known.
inline constexpr std::int64_t anywhere = std::numeric_limits<std::int64_t>::min();

/// The least cycles of a value's way to another PE.
struct Distance {
  enum class Kind { manhattan, largest, any };
  Kind kind = Kind::any;     ///< Hops: the sum of the differences of coordinates, their largest, or one.
  std::int64_t hop = 0;      ///< Cycles of a hop.
  std::int64_t at_most = 0;  ///< As a network takes that reaches all PEs at once.
  std::int64_t words_per_cycle = std::numeric_limits<std::int64_t>::max();  ///< Of the widest way.
};

/// The memories that inputs come from and outputs go to. Without a grid, or without memories, neither takes time.
struct Ports {
  machine::Memories memories{};
  std::vector<std::int64_t> grid{};  ///< Of the machine.
  /// Of each node a bit a dimension of the grid: what it reads is loaded in a PE of no greater coordinate. Empty: none.
  std::vector<std::uint32_t> onwards{};
  bool passed_on = false;  ///< Elements come and go through ports of any PEs, which pass them on.
};

/// Cycles that no program goes below which runs each operator in its PE. It is the best schedule of the busiest PE alone
/// that may interrupt operators: of those that are released, the one with the longest way to the end runs (Jackson 1955;
/// Carlier 1982). Releases and ways to the end are longest paths, with the way of each value between PEs.
///
/// An element of an input comes through a port of a memory, at least once: it is loaded in a PE that uses it, or at an end
/// of a line of the grid, which hands it on, where `onwards` says so to greater coordinates. A PE waits for its `depth`
/// loads under way, a port passes one request after the other, and an element of an output leaves through the port of the
/// PE that computes it, or any one where elements are passed on. Where sums may rotate, nothing is ordered, no operator
/// waits for another.
///
/// `pes` has `dimensions` coordinates a node, `anywhere` where one is not known: its operators hold up no PE.
[[nodiscard]] std::int64_t least_time(const recurrence::OperationGraph& graph,
                                      const std::vector<std::int64_t>& pes, std::size_t dimensions,
                                      const Distance& distance, const Ports& ports = {}, bool ordered = true);

}  // namespace cyclotron::driver
