// Private to this folder: placements that compile, and which of them is the best.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "candidates.hpp"
#include "log.hpp"
#include "reorder.hpp"

namespace cyclotron::driver {

/// A placement that takes so much longer than the best may be chosen for its fewer PEs.
inline constexpr double about_as_fast = 1.05;
inline constexpr auto no_time = std::numeric_limits<double>::infinity();

/// The system with its reductions in one order.
struct Variant {
  Variant(Reordered system, const machine::Machine& machine, const Log& log)
      : reordered(std::move(system)), search(reordered.split, machine, log) {}
  Reordered reordered;
  CandidateSearch search;
};

/// A placement that compiles.
struct Choice {
  const Variant* variant;
  Compiled compiled;
  schedule::Placement placement;
  std::optional<std::int64_t> cycles;
  std::int64_t pes;
  std::ptrdiff_t wide;  ///< Dimensions of the grid with several PEs.
  bool routed;
  double
      lost_iterations;  ///< Of loops that other placements may end early: the most by which it may be slower.
  double at_least = 0;  ///< Cycles, where the simulator has given up: each PE then has as many instructions.
};

/// Times of all choices, by the simulator. Of one that it does not tell, some more than the estimate, as much too
/// small as that of its like is. Where early exits are lost, as if the others ended after one iteration.
[[nodiscard]] std::vector<double> times_of(const std::vector<Choice>& choices);

[[nodiscard]] double best_time(const std::vector<Choice>& choices);

/// The best first: of those that are about as fast as the fastest, that on the fewest PEs.
[[nodiscard]] std::vector<std::size_t> best_first(const std::vector<Choice>& choices);

}  // namespace cyclotron::driver
