// Private to this folder: what the checks of a compilation prove.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::driver {

/// Runs the independent checker, on small programs. That channels are too shallow is for the run to say.
/// Throws LegalityError CYC227 where PEs of a grid that is `folded` wait for each other; InternalError for all else.
void check_small(const program::Program& program, const recurrence::System& system,
                 const schedule::Schedule& schedule, bool folded);

/// The proofs of a whole compilation, a sentence each, around those of its mapping.
[[nodiscard]] std::vector<std::string> all_proofs(const std::vector<std::string>& of_mapping,
                                                  const schedule::Schedule& schedule);

}  // namespace cyclotron::driver
