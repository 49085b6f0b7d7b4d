// The control system of a program as a program of its own: executive, response and merge PEs (MA-021 to MA-029, MA-109 to
// MA-114).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

enum class Workers : unsigned char {
  one,  ///< That stands for all of the field.
  outside,  ///< It has no instructions, nor has what flags come from: who runs the program has their ends of channels.
};

/// On a row of PEs, with two of the worker field below it. The executive, right of the middle, has the loops that end by
/// data: it tells the response PEs on both sides the number of each section, and them and the merge PE each flag. A response
/// PE has a share of each section's calls, as even as can be, and their arguments, in tables, and sends those of the number
/// that it hears; there are two of them, and more while the tables do not fit a PE's memory, up to the row's `Control::pes`.
/// The merge PE, left of the middle, takes the shares from both sides in turn, inside out, and passes them on to the workers.
/// There the first PE takes them, and in iterations in which a loop may end sends the flag, an input of the program, back to
/// the executive. Of a program whose executive has global data (`PeClass::executive`) that has the flags, in the PE below it
/// here, and no way takes time.
///
/// A call is a number, that of its place among all calls, and its arguments, a word of each tensor that it loads and stores:
/// of `arguments`, by tensor, or where these are empty its number, from 1.
/// Slots lie one after the other; where the memory of PEs holds queues, those from the merge PE to the workers are in its own.
/// Requires: verify(program), uses_controller(program).
[[nodiscard]] Program control_system(const Program& program, Workers workers = Workers::one,
                                     const std::vector<std::int64_t>& arguments = {});

/// Channels between it and the worker, by number; that of flags of a program's control system.
inline constexpr std::size_t channel_of_calls = 6, channel_of_arguments = 7;
[[nodiscard]] std::size_t channel_of_flags(const Program& program);

}  // namespace cyclotron::program
