// Recurrences on scalars as recurrences over tiles.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::blocking {

/// Lengths of tiles: of all indices, or by the kernel's names of indices.
struct TileSizes {
  std::int64_t all = -1;  ///< Negative: as fits each.
  std::map<std::string, std::int64_t> by_index;
};

/// The tiles of a tensor that the same operators compute.
struct TileClass {
  std::string tensor;
  std::string tiles;                   ///< Exactly, over `names`, in isl's notation.
  std::vector<std::string> names;      ///< Of the tile's coordinates.
  std::vector<std::string> operators;  ///< In the order in which they run, in the names of LAPACK.
  std::string equation;                ///< In tiles.
  std::string reason;                  ///< The reason where there is none.
};

/// Indices whose tiles have one length, since they meet in an axis or in a constraint.
struct IndexClass {
  std::vector<std::string> indices;
  std::int64_t tile = 1;
  std::int64_t extent = 1;  ///< The longest axis that they are subscripts of.
  std::string reason;       ///< Of a tile that is not as asked for.
};

/// A constant input of truth values that keeps a triangle of tiles, or all of them: `kind` is lower, upper, below, above,
/// diagonal, beside (all but the diagonal) or all; of a vector places `3_to_7` of each `tile`.
struct MaskInput {
  std::string name;
  std::string kind;
  std::vector<std::int64_t> shape;
};

/// A kernel in tiles.
struct Blocking {
  std::vector<IndexClass> indices;
  std::vector<TileClass> classes;
  std::vector<MaskInput> masks;  ///< Among the inputs of the system.
  recurrence::System system;     ///< Over tiles; of scalars as it was where a class matches nothing.
  bool complete = false;         ///< Every class has its operators.
};

/// Blocks a verified system of equations on scalars.
///
/// Each element becomes one of a tile; tiles with the same points inside are a class, for whatever extents. Sums split at
/// tiles: terms that read finished tiles are products, and what is left inside of a tile is compared with the definitions
/// of the tile operators, on scalars: equal sets and equal terms, or none. The order of sums is not kept.
/// Throws LegalityError CYC230 where tiles depend on each other in a circle, CYC231 where the kernel has no tiles;
/// ShapeError CYC232 where the sizes fit no index.
[[nodiscard]] Blocking block(const recurrence::System& system, const TileSizes& sizes);

}  // namespace cyclotron::blocking
