// Loops that may end early: flags after which their iterations change nothing that is seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// A flag of an outermost loop. Let s be the first iteration in which it is false: it is so in all later ones; of these
/// nothing is read after the loop but values that they leave as they are from iteration s + settle on, and what they
/// assign to outputs is 0.
struct EarlyExit {
  TensorId flag;  ///< Of bool, with one dimension.
  std::string index;
  std::int64_t offset = 0;  ///< Its element of iteration t is t + offset.
  std::int64_t steps = 0;   ///< Iterations.
  std::int64_t settle = 0;
  bool operator==(const EarlyExit&) const = default;
};

/// Found from the equations alone, however their loop was written; some that are flags may not be found.
/// Requires: verify(system).
[[nodiscard]] std::vector<EarlyExit> early_exits(const System& system);

}  // namespace cyclotron::recurrence
