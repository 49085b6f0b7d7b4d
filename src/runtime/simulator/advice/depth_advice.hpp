// Channels that have to be deeper for a program that deadlocks to pass, and how deep.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "message_run.hpp"

namespace cyclotron::runtime::simulator {

/// Of all queues of all channels of a name; `channel` is the first of them.
struct DepthChange {
  std::uint32_t channel = 0;
  std::int64_t given = 0;  ///< The least of these queues.
  std::int64_t needed = 0;
};

struct DepthAdvice {
  /// No depth helps: with `uniform`, PEs wait for messages that are never sent.
  bool waits_for_ever = false;
  /// Else: with these alone the program passes. No fewer channels suffice, whatever their depth, and none of these
  /// depths can be less while the others stay; among sets of as many channels that which adds the fewest places.
  /// Empty where the search was given up.
  std::vector<DepthChange> changes;
  /// The least depth with which the program passes if each queue that is shallower is given it; where the search
  /// was given up, it takes no less.
  std::int64_t uniform = 0;
  bool uniform_passes = true;
};

/// Exact: whether a program passes depends only on its messages and the depths, never on time, and what passes
/// with less passes with more. Each attempt is one run, in which queues grow where it blocks; after `step_limit`
/// steps of all runs the search is given up. Requires: the program deadlocks.
[[nodiscard]] DepthAdvice advise_depths(const program::Program& program, std::int64_t step_limit,
                                        const Progress& progress);

}  // namespace cyclotron::runtime::simulator
