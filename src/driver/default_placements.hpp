// Private to this folder: the placements among which a default is searched.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::driver {

/// The PEs that placements are for: of the machine's grid, in a line through its rows, or either.
enum class Array : std::uint8_t { grid, line, either };

/// Those of a system whose reductions over some indices take their last term first, but where a placement has another order
/// for these. On a line none is on one PE; there are none where the machine has no line. Where there are any, one is a default.
[[nodiscard]] schedule::Placements default_placements(const recurrence::System& system,
                                                      const machine::Machine& machine, Array array,
                                                      const std::vector<std::string>& descending);

}  // namespace cyclotron::driver
