// The pipeline, one call a line: recurrences to a verified program.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

/// One stage of a compilation, as text, with the milliseconds it took.
struct Stage {
  std::string name;
  std::string text;
  double milliseconds = 0;
};

/// A loop that may end early by a flag, and yet runs through all of its iterations.
struct LostLoop {
  std::string flag;  ///< Its name in the kernel's text.
  std::string
      because;  ///< The variable that sees what the loop does after its end; empty: the flag is late in some PEs.
  std::string bounded_by;  ///< Else the index of a loop around, which tells where this one starts or ends.
  std::int64_t steps = 0;
  Span span;
  /// True where another placement may end it.
  [[nodiscard]] bool by_placement() const { return because.empty() && bounded_by.empty(); }
};

struct Compiled {
  schedule::Schedule schedule;   ///< Complete: as given, or the default that was chosen.
  bool schedule_chosen = false;  ///< No schedule was given.
  recurrence::System system;     ///< As given, or re-associated as the schedule says.
  dataflow::Graph graph;         ///< Over the kernel's indices.
  dataflow::Graph placed;        ///< The same over the coordinates of grid and time.
  program::Program program;
  std::vector<std::string>
      channel_flows;                ///< By channel of the program: `A^mul along j`, the flows that it moves.
  std::vector<std::string> proofs;  ///< Of the verifiers, a sentence each.
  std::vector<Stage> stages;
  std::vector<LostLoop> lost_loops{};
  bool folded = false;  ///< PEs do the work of several places of the grid.
  /// CYC330: that a placement which would be much faster than the default was refused, and the reason.
  std::optional<Diagnostic> warning{};
};

/// The system with its reductions in the order of the schedule: that which `compile` makes a program of.
/// Throws ScheduleError CYC318 where the schedule's order is none of the system's reductions.
[[nodiscard]] recurrence::System reorder_reductions(const recurrence::System& system,
                                                    const schedule::Schedule& schedule,
                                                    const machine::Machine& machine);

/// Compiles for concrete shapes. Time and memory do not depend on the number of PEs or points.
/// Throws the errors of the stages; without a schedule, those of the first default where none is legal and
/// fits.
[[nodiscard]] Compiled compile(const recurrence::System& given,
                               const std::optional<schedule::Schedule>& schedule,
                               const machine::Machine& machine);

}  // namespace cyclotron::driver
