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

/// The exit plan with the most iterations that its EXITs can leave out as its `first`, `last` and `period`, with its
/// `runs`; the first fault where there is one whatever the iterations. So checked are: each EXIT lies at the end of a loop
/// of step 1 between constants, which is in such loops only, and no other of its plan is in the one around it; all classes
/// with EXITs run those loops equally often; nothing in the loop but the indices of loads, of stores and of slots that the
/// loop does not write depends on its variable, conditions and circular buffers excepted; and PEs without the EXIT use no
/// channel of such a loop. The loops of a plan `per_pe` use no channel; they may stand anywhere, and run as often as they
/// like.
/// Requires: each class's code is verified.
[[nodiscard]] Expected<ExitPlan, ExitFault> range_of(const Program& program, ExitPlanId plan);

/// Reason for which an exit plan leaves out other iterations than it can, if it does. Requires: as above.
[[nodiscard]] std::optional<ExitFault> fault_of(const Program& program, ExitPlanId plan);

/// The outcome of an exit plan. The runs of its loop, one for each iteration of those around it, are numbered in order.
struct ExitOutcome {
  struct Run {
    std::int64_t number = 0;
    std::int64_t at = 0;       ///< The iteration in which its flag was first seen false.
    std::int64_t skipped = 0;  ///< Iterations that it left out: some.
    bool operator==(const Run&) const = default;
  };
  std::int64_t times = 0;         ///< Runs.
  std::vector<Run> runs{};        ///< Those that left out iterations, in order.
  std::optional<Run> each_run{};  ///< All of them, where they are alike, whatever their numbers.
  std::int64_t skipped = 0;       ///< Iterations in all, of a plan `per_pe`, of which no run is noted.
  bool operator==(const ExitOutcome&) const = default;

  /// Null where the run left nothing out.
  [[nodiscard]] const Run* find(std::int64_t number) const;
};

/// Of all `plan.runs` that there could have been; none where there was no run, but of a plan `per_pe`, of which others may
/// have had them.
[[nodiscard]] std::int64_t skipped_iterations(const ExitPlan& plan, const ExitOutcome& outcome);

/// The outcomes of loops that end after so many iterations each time, by exit plan; -1: after all. They take as many more
/// as their plans cannot leave out.
[[nodiscard]] std::vector<ExitOutcome> outcomes_of(const Program& program,
                                                   const std::vector<std::int64_t>& steps);

/// A program of which some instructions are copies of others.
struct Unrolled {
  Program program;
  std::vector<std::vector<std::uint32_t>>
      origin;  ///< By class and instruction: which one of the class it was.
};

/// The program that a run has executed whose loops ended so, one entry an exit plan: each run of a loop that ended is one
/// loop up to there and one of what is left; iterations of the loops around that do the same are together. Without EXITs,
/// but where the machine has a controller: they stay, and leave nothing out. None where that are too many
/// instructions. Requires: verify(program).
[[nodiscard]] std::optional<Unrolled> without_skipped(const Program& program,
                                                      const std::vector<ExitOutcome>& outcomes);

}  // namespace cyclotron::program
