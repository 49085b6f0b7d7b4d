// Private to this folder: the stages from a system of one reduction an equation to a verified program.
#pragma once
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/refusal.hpp>

#include "log.hpp"

namespace cyclotron::driver {

/// A complete schedule, and the choices that schedules do not name.
struct Candidate {
  schedule::Schedule schedule;
  dataflow::FreeIndexPlacement free_indices = dataflow::FreeIndexPlacement::where_read;
  dataflow::Relays relays = dataflow::Relays::shared;
  bool moves_operands = false;  ///< Of partial sums, on long ways.
  bool in_turn = false;         ///< One point after the other, wherever their PEs are.
};

/// The candidate's program. Its dataflow is verified before it is mapped where the error may be told (`verify_first`),
/// and else once it maps: of many candidates none may.
[[nodiscard]] Expected<Compiled, Refusal> compile_candidate(const recurrence::System& system,
                                                            const Candidate& candidate,
                                                            const machine::Machine& machine,
                                                            bool verify_first, Log log);

/// The same, once the independent checker has proven a small program.
[[nodiscard]] Expected<Compiled, Refusal> proven(Compiled compiled, const recurrence::System& system);

}  // namespace cyclotron::driver
