// The system over tiles that a blocked kernel is.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "contract.hpp"
#include "match.hpp"

namespace cyclotron::blocking {

/// A system over tiles, built cell by cell.
class TileSystem {
 public:
  TileSystem(const System& system, const NormalForm& form, const Tiling& tiling,
             const std::vector<Cell>& cells);

  /// Tiles that need none of their own elements. Throws LegalityError CYC231 where tile operators do not compute them.
  void add(std::size_t number, const Cell& cell);
  /// Tiles that an operator computes from what is left of them; `other` is the cell that is computed with them.
  void add(std::size_t number, const Component& component, const Match& match,
           std::optional<std::size_t> other, const Cell* other_cell);

  [[nodiscard]] std::vector<std::string> operators_of(std::size_t number) const;
  [[nodiscard]] std::string equation_of(std::size_t number) const;
  /// The system, without tensors that nothing needs any more.
  [[nodiscard]] System take() const;
  [[nodiscard]] const std::vector<MaskInput>& masks() const { return masks_; }

 private:
  struct Added {
    std::vector<std::string> operators;
    recurrence::EquationId equation;
  };

  /// The axes of a tile along which an expression has elements: with none it is one number for all.
  struct Extent {
    bool rows = false, columns = false;
    [[nodiscard]] Extent with(const TileNode& node) const {
      return {rows || node.row, columns || node.column};
    }
    [[nodiscard]] bool is_whole(const Cell& cell) const {
      return (rows || cell.rows == 1) && (columns || cell.columns == 1);
    }
    [[nodiscard]] bool is_part(const Cell& cell) const { return (rows || columns) && !is_whole(cell); }
  };
  struct Total {
    recurrence::ExprId expr;
    Extent extent;
  };
  struct Summand {
    TileTerm term;
    TileNode node;
    std::size_t ranges;  ///< Of its sums, those over tiles.
    bool whole;          ///< An element for each of the tile's.
    /// All tiles have it: where some have none it is a number there, whatever is added to it.
    bool everywhere;
  };

  Summand summand(Emitter& emitter, const Cell& cell, TileTerm term, const Span& span,
                  operators::Op op = operators::Op::add);
  /// The greatest or least of all.
  Total among_all(Emitter& emitter, const Cell& cell, const TilePiece& piece);
  Total total(Emitter& emitter, const Cell& cell, const std::vector<TileTerm>& terms, const Span& span);
  static recurrence::ExprId whole_tile(Emitter& emitter, const Cell& cell, const Total& total,
                                       const Span& span);
  Total piece(Emitter& emitter, const Cell& cell, const TilePiece& piece);
  /// The sum of `result`, if there is one, and of pieces, each with zeros elsewhere.
  std::optional<recurrence::ExprId> masked_sum(Emitter& emitter, const Cell& cell,
                                               const std::vector<TilePiece>& pieces,
                                               std::optional<recurrence::ExprId> result);
  recurrence::ExprId with_kept(Emitter& emitter, const Cell& cell, const TilePiece& kept,
                               recurrence::ExprId expr);
  recurrence::ExprId bound(Emitter& emitter, const Match& match, Role role);
  static void check_ends(const Emitter& emitter, const Cell& cell, const Match& match);
  recurrence::ExprId solved(Emitter& emitter, const Cell& cell, const Match& match,
                            recurrence::ExprId residual);
  void factored(Emitter& emitter, std::size_t number, const Component& component, const Match& match,
                recurrence::ExprId factors, std::size_t other, const Cell& other_cell);
  void equation(std::size_t number, const Cell& cell, recurrence::ExprId expr, const Emitter& emitter,
                const Span& span);

  const System& scalars_;
  Zeros zeros_;
  System tiles_;
  std::vector<MaskInput> masks_;
  std::vector<bool> gone_;  ///< By tensor of the scalars.
  std::map<std::size_t, Added> added_;
};

}  // namespace cyclotron::blocking
