// Computations inside of a tile, compared with the definitions of the tile operators.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "definitions.hpp"
#include "tiles.hpp"

namespace cyclotron::blocking {

/// A tile that is read: forms over the tile that is computed.
struct BoundTile {
  TensorId tensor;
  std::vector<poly::Affine> tile;
};

/// A definition that is the same as a cell: equal sets and equal terms.
struct Match {
  Definition definition;
  std::map<Role, BoundTile> tiles;
  std::vector<TileTerm> residual;  ///< Its terms, on all rows and columns.
  std::vector<TilePiece> apart;    ///< More terms on some of them.
  std::optional<TilePiece> kept =
      std::nullopt;  ///< In the place of the definition's zeros, from finished tiles.
};

/// Tiles that are computed together: the first cell, and those of other tensors in its coordinates.
struct Component {
  std::vector<Cell> cells;
  std::vector<poly::Affine> other_tile = {};  ///< The second cell's tile, over the first one's.
};

/// The definition that the component is, if there is one.
[[nodiscard]] std::optional<Match> match(const System& system, const Component& component);

/// One list of terms for pieces that have no own terms, if one piece's is right for all. Their sets of rows and columns may
/// be any; the list holds on their union.
[[nodiscard]] std::optional<std::vector<TileTerm>> merge(const Cell& cell,
                                                         const std::vector<TilePiece>& pieces);

/// The terms that are right for all of the pieces, and these without them, where they have others.
[[nodiscard]] std::pair<std::vector<TileTerm>, std::vector<TilePiece>> common_terms(
    const Cell& cell, const std::vector<TilePiece>& pieces);

/// All rows and columns of a tile, and `sums` free coordinates after them.
[[nodiscard]] poly::Set box_of(const Cell& cell, std::size_t sums);

/// The forms with each sum in place of its value in terms of the tile that is computed; none where one has more values.
[[nodiscard]] std::optional<std::vector<poly::Affine>> forms_of_tile(const TileTerm& term,
                                                                     const std::vector<poly::Affine>& forms);

}  // namespace cyclotron::blocking
