// Programs of a line of PEs, laid on the rows of a grid.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Programs on a grid, and those of a line that they are.
struct Wound {
  program::Program program;
  std::vector<std::size_t> line_channels;  ///< By channel, that of the line.
};

/// The programs of a line of PEs on a machine of two dimensions: the line goes through its rows back and forth, so that
/// neighbours stay neighbours. A class becomes at most six, of the ends and the inside of rows in both directions; a channel
/// three, which go along rows, against them and between them.
/// Requires: a program on `machine::line_of(machine)`, whose links join neighbours; slots without addresses.
[[nodiscard]] Wound wind(const program::Program& line, const machine::Machine& machine);

}  // namespace cyclotron::codegen
