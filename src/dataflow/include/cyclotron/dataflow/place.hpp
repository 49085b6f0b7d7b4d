// From the kernel's indices to the coordinates of grid and time.
#pragma once
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::dataflow {

/// A graph whose dims are, in some order, the grid's and time's coordinates.
struct Placed {
  Graph graph;
  std::vector<std::string> space;  ///< Names of the dims that are grid dimensions, in order.
  std::vector<std::string> time;   ///< The other dims, outermost first.
  std::size_t within = 0;  ///< Number of innermost dims of time that tell the points of a folded PE apart.
};

/// Rewrites points (i, j, k) as (PE, time): forms such as `i-k` become coordinates, a folded dimension
/// becomes a block (or, cyclic, a remainder) in space and the rest innermost in time; outermost where each of its points
/// may have other iterations of the loops inside than the rest (numbers in PE memory bound them, or it is an index of
/// `rows`) and no value goes from one to another. Moves stay
/// moves of the same values between the same points; a rule that would cross a fold in several ways is split. Where
/// space and time are plain indices and nothing is folded the graph is unchanged.
///
/// Requires: verify(graph), schedule complete. A dimension larger than `grid` (empty: no limit) is folded in
/// blocks. Ensures: verify(result.graph).
/// Throws ScheduleError CYC315 where a value would have to be found in another block at a distance that
/// varies.
[[nodiscard]] Placed place(const Graph& graph, const schedule::Schedule& schedule,
                           const std::vector<std::int64_t>& grid, const std::set<std::string>& rows = {});

}  // namespace cyclotron::dataflow
