// Loops that end early: where a program may leave iterations out, and what is left of it then.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/expected.hpp>

namespace cyclotron::program {

/// Reason for which the PEs cannot leave the iterations of an exit plan out.
struct ExitFault {
  std::size_t pe_class = 0;
  std::size_t instruction = 0;
  std::string what;
  Span span;  ///< Of the instruction.
};

/// The exit plan with the most iterations that its EXITs can leave out as its `first`, `last` and `period`; the first
/// fault where there is one whatever the iterations. So checked are: no class has two EXITs; each lies at the end of a loop of
/// step 1 between constants, which is in no other one; nothing in the loop but the indices of loads and stores depends
/// on its variable, conditions and circular buffers excepted; and PEs without the EXIT use no channel of such a loop.
/// Requires: each class's code is verified.
[[nodiscard]] Expected<ExitPlan, ExitFault> range_of(const Program& program, ExitPlanId plan);

/// Reason for which an exit plan leaves out other iterations than it can, if it does. Requires: as above.
[[nodiscard]] std::optional<ExitFault> fault_of(const Program& program, ExitPlanId plan);

/// The outcome of a loop.
struct ExitOutcome {
  std::int64_t at = never;   ///< The iteration in which its flag was first seen false, if it left out any.
  std::int64_t skipped = 0;  ///< Iterations that it left out.
  static constexpr std::int64_t never = INT64_MIN;
  bool operator==(const ExitOutcome&) const = default;
};

/// A program of which some instructions are copies of others.
struct Unrolled {
  Program program;
  std::vector<std::vector<std::uint32_t>>
      origin;  ///< By class and instruction: which one of the class it was.
};

/// The program that a run has executed whose loops ended so, one entry an exit plan: each loop that ended is one up to there and one of
/// what is left. Without EXITs, but where the machine has a controller: those that it decided stay, and leave nothing out. Requires: verify(program).
[[nodiscard]] Unrolled without_skipped(const Program& program, const std::vector<ExitOutcome>& outcomes);

}  // namespace cyclotron::program
