// The control system of a program as a program of its own: executive, response and merge PEs (MA-021 to MA-029, MA-109 to
// MA-114).
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// On a row of PEs, with two of the worker field below it. The executive, right of the middle, has the loops that end by
/// data: it tells the response PEs on both sides the number of each section, and them and the merge PE each flag. A response
/// PE has a share of each section's calls, as even as can be, in tables, and sends those of the number that it hears; there
/// are two of them, and more while the tables do not fit a PE's memory. The merge PE, left of the middle, takes the shares
/// from both sides in turn, inside out, and passes them on to the workers. There the first PE sends on what it takes, and
/// the flag, an input of the program, goes back to the executive.
///
/// A call is a number, that of its place among all calls, and its arguments, those of the tensors that it loads and stores.
/// Slots have no addresses. Requires: verify(program), uses_controller(program).
[[nodiscard]] Program control_system(const Program& program);

}  // namespace cyclotron::program
