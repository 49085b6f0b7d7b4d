// Exact fast-forward: runs in rounds of one iteration a PE, and where the rounds repeat themselves, skips to where a
// loop ends. PEs that run further and further ahead of others, through channels without a bound, never repeat
// themselves: such a run is not skipped.
#pragma once
#include <cstdint>
#include <optional>

#include "snapshot.hpp"
#include "../timing/timed_engine.hpp"

namespace cyclotron::runtime::simulator {

/// Looks for a period of any length with one snapshot (Brent's algorithm): the snapshot is renewed after 1, 2, 4, …
/// rounds, and each round is compared with it.
class PeriodFinder {
 public:
  /// The period that ends now, if one does; of outer loops only, if so wanted.
  [[nodiscard]] Period look(const TimedArray& array, bool outer_only);
  [[nodiscard]] const Snapshot& snapshot() const { return *snapshot_; }
  void reset() { *this = PeriodFinder(); }

 private:
  std::optional<Snapshot> snapshot_;
  std::int64_t span_ = 1;  ///< Rounds that the snapshot is kept for.
  std::int64_t age_ = 0;
};

/// Runs the engine round by round, with skips, to its end or to where it no longer looks for periods. Returns the cycles
/// skipped. Throws as `run`.
[[nodiscard]] std::int64_t skip_periods(TimedEngine& engine);

/// Runs the engine to the end, with the same clocks and counts as `run`. Returns the cycles skipped. Throws as `run`.
[[nodiscard]] std::int64_t fast_forward(TimedEngine& engine);

}  // namespace cyclotron::runtime::simulator
