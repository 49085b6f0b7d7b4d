// Sizes of tiles that are known before the run, so that a timing-only run need not carry them.
#pragma once
#include <optional>
#include <vector>

#include <cyclotron/program/program.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

/// The one size that all tiles of a slot, or of a channel, have; 0x0 where none is ever written.
struct TileSizes {
  std::vector<std::vector<TileSize>> slots;  ///< By class and slot.
  std::vector<TileSize> channels;
};

/// None where a slot or a channel holds tiles of several sizes (the last tiles of a dimension are smaller), or
/// where a tile may not fit or be read before it is written: the interpreter then keeps each tile's size.
[[nodiscard]] std::optional<TileSizes> constant_tile_sizes(const program::Program& program,
                                                           const std::vector<Code>& codes);

/// Shapes of a compute step's operands. Requires: the sizes are those of the step's class.
[[nodiscard]] std::vector<Shape> operand_shapes(const Code& code, const Step& step,
                                                const std::vector<TileSize>& slots);

}  // namespace cyclotron::runtime::simulator
