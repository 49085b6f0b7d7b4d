// Numbers that are read as tiles become tiles.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

struct FilledTiles {
  System system;
  std::map<std::string, std::vector<std::int64_t>>
      masks;  ///< The shapes of new inputs, of bool: true everywhere.
};

/// A number that is assigned to a tile is one number, as NumPy broadcasts it: enough for operators that broadcast too, and
/// wrong for products, sums and solves, which need the elements. Equations whose numbers such an operator reads choose
/// by a new input in the shape of the tiles: `where(mask[i, k], 0, 0)`.
/// Requires: verify(system). Ensures: verify(result); elements have the values that they had.
/// Throws ShapeError CYC206 where an operator reads a sum over nothing.
[[nodiscard]] FilledTiles fill_tiles(const System& system);

}  // namespace cyclotron::recurrence
