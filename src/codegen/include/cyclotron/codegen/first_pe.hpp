// Questions about PEs of a program as sets: no work grows with the grid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/machine/memories.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Of a slice a grid dimension each; what is left out are all coordinates.
using Boxes = std::vector<std::vector<machine::Slice>>;

/// The first PE in the order of the grid, last dimension fastest, that lies in one of some boxes, in none of others and, if one
/// is named, in a class; none where there is none. Throws std::out_of_range for a class that the program lacks.
[[nodiscard]] std::optional<std::vector<std::int64_t>> first_pe(const program::Program& program,
                                                                std::optional<std::size_t> pe_class,
                                                                const Boxes& inside, const Boxes& outside);

}  // namespace cyclotron::codegen
