// Loops that may end early: flags after which their iterations change nothing that is seen.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// A flag of a loop. Let s be the first iteration in which it is false, in one run of the loop: it is so in all later ones;
/// of these nothing is read after the loop but values that they leave as they are from iteration s + settle on, and what
/// they assign to outputs is 0.
struct EarlyExit {
  TensorId flag;  ///< Of bool, with a dimension for each of the loops around, and its own as the last.
  std::string index;
  std::int64_t offset = 0;  ///< Its element of iteration t is t + offset.
  std::int64_t steps = 0;   ///< Iterations.
  std::int64_t settle = 0;
  std::vector<std::pair<std::string, std::int64_t>>
      around{};  ///< The loops around, with the offsets of their dimensions.
  bool operator==(const EarlyExit&) const = default;
};

/// Found from the equations alone, however their loop was written; some that are flags may not be found.
/// Requires: verify(system).
[[nodiscard]] std::vector<EarlyExit> early_exits(const System& system);

/// A flag that stays false, or would, in a loop that has no early exit by it.
struct LostExit {
  TensorId flag;
  std::optional<EquationId> because;  ///< Sees what the loop does after that.
  std::string bounded_by;  ///< Else the index of a loop around, which tells where this one starts or ends.
};
[[nodiscard]] std::vector<LostExit> lost_exits(const System& system);

/// The system in which loops inside others, where they may end early, hand what they leave to their next run in copies,
/// made after the last iteration: a PE then need not keep a value of each iteration for that of the last.
/// Requires: verify(system). Ensures: verify(result); the same outputs.
[[nodiscard]] System copy_results(const System& system);

}  // namespace cyclotron::recurrence
