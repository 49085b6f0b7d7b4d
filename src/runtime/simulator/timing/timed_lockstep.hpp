// Time of PEs that exchange messages to and fro: those that take the same way through their ops run together, op by op, on
// vectors of clocks. One by one, each would have one message at a time, and its state would leave the cache meanwhile.
#pragma once
#include "../../engine/progress_ticker.hpp"
#include "timed_array.hpp"

namespace cyclotron::runtime::simulator {

/// Runs an array from its start to its end, with the same clocks and counts as the engine that takes PE by PE. False, and nothing
/// has changed, where that is for the engine: PEs do more than send and receive on links and compute, exchange nothing to and fro,
/// few take the same way, those wait for each other within one op, or loops are so long that the run is better skipped through
/// (fast_forward.hpp). Throws ExecutionError CYC708, and where the progress stops it.
[[nodiscard]] bool run_in_lockstep(TimedArray& array, ProgressTicker& ticker);

}  // namespace cyclotron::runtime::simulator
