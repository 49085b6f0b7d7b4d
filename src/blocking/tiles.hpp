// Normal forms cut at tiles: classes of tiles by the points inside.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/blocking/block.hpp>

#include "normal_form.hpp"

namespace cyclotron::blocking {

/// The lengths of tiles by tensor and axis, and the indices that share one.
struct Tiling {
  std::vector<std::vector<std::int64_t>> axes;
  std::vector<IndexClass> classes;
};

/// One length for all axes and indices that meet in a subscript or a constraint: of single elements where a subscript is
/// neither an index nor a number, such as `t - 1`, since their places are those of tiles.
/// Throws LegalityError CYC231 where that leaves a tensor no tiles but single elements; ShapeError CYC232.
[[nodiscard]] Tiling choose_tiles(const System& system, NormalForm& form, const TileSizes& sizes);

/// An element of a tile, or of some that follow each other: a window's, which begins in the first. Forms of tiles are over the tile that is computed, then the tiles of sums; those of elements over
/// the row and column inside of the tile, then the sums' places inside of theirs.
struct TileFactor {
  TensorId tensor;
  std::vector<poly::Affine> tile;
  poly::Affine row, column;
  bool inverse = false;
  bool conjugate = false;
  bool own = false;  ///< Of the tile that is computed, or of one that is computed with it.
  std::int64_t further_rows = 0, further_columns = 0;  ///< Tiles that a window reaches into after the first.
};

/// The tiles of a factor, row by row: more than one where a window reaches into them.
[[nodiscard]] std::vector<std::vector<poly::Affine>> tiles_of(const TileFactor& factor);

/// coefficient * product of factors, for every pair of `tiles` and `inner`; the points inside are the same in all tiles.
struct TileTerm {
  double coefficient = 1;
  std::vector<TileFactor> factors;
  std::vector<std::string> sums;
  poly::Set tiles;
  poly::Set inner;
  std::vector<std::int64_t> lengths;  ///< Of the tiles of the sums.
};

struct TilePiece {
  poly::Set inner;  ///< Rows and columns.
  std::vector<TileTerm> terms;
  std::optional<Function> function;
  Span span;
};

/// The tiles of a tensor with the same points inside in all pieces and terms.
struct Cell {
  TensorId tensor;
  poly::Set tiles;
  std::vector<std::string> names;
  std::vector<TilePiece> pieces;
  std::int64_t rows = 1, columns = 1;  ///< Of the largest tile.
  bool vector = false;                 ///< Of a tensor of one axis, or of rows in single steps.
};

/// Tells whether a tile reads elements of its own, or of one that is computed with it.
[[nodiscard]] bool has_own(const Cell& cell);

/// All tiles of all tensors that are computed.
/// Throws LegalityError CYC231 beyond 64 classes.
[[nodiscard]] std::vector<Cell> cut(const System& system, const NormalForm& form, const Tiling& tiling,
                                    const poly::Context& context);

/// Marks what is read of tiles that are computed together, and cuts terms there.
/// Throws LegalityError CYC230 where other tiles depend on each other in a circle.
void mark_own(const System& system, std::vector<Cell>& cells);

}  // namespace cyclotron::blocking
