// Sums of products of tiles as operators on tiles.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "tiles.hpp"

namespace cyclotron::blocking {

/// Rows and columns that a mask keeps: a triangle of a tile, with its diagonal or without, or that, or all beside it.
enum class Mask : std::uint8_t { all, lower, upper, below, above, diagonal, beside, none, other };
/// The mask that keeps these of the points of a box.
[[nodiscard]] Mask mask_of(const poly::Set& points, const poly::Set& box);

/// Builds expressions of a system over tiles.
class Emitter {
 public:
  Emitter(System& system, std::vector<MaskInput>& masks, Span span)
      : system_(system), masks_(masks), span_(std::move(span)) {}

  recurrence::ExprId access(TensorId tensor, const std::vector<poly::Affine>& index);
  recurrence::ExprId constant(double value);
  recurrence::ExprId apply(operators::Op op, std::vector<recurrence::ExprId> operands,
                           operators::Flags flags = 0);
  /// A sum, or what is greatest or least by an operator.
  recurrence::ExprId reduce(operators::Op op, const std::string& index, recurrence::Region domain,
                            recurrence::ExprId body);

  /// An expression of the tiles of a tensor at `index`, with zeros where `keep` keeps nothing.
  /// Requires: on `tiles`, these are on the tensor's diagonal, else throws LegalityError CYC231.
  recurrence::ExprId masked(recurrence::ExprId expr, Mask keep, TensorId tensor,
                            const std::vector<poly::Affine>& index, const poly::Set& tiles);
  /// A number as the tiles of a tensor at `index`: operators take it for one of 1x1.
  recurrence::ExprId filled(recurrence::ExprId number, TensorId tensor,
                            const std::vector<poly::Affine>& index);
  /// The same as `masked` with another expression in the place of zeros.
  recurrence::ExprId chosen(Mask keep, recurrence::ExprId expr, recurrence::ExprId rest, TensorId tensor,
                            const std::vector<poly::Affine>& index, const poly::Set& tiles);
  /// An expression whose rows, or columns, are places `first` to `last` of tiles along an axis of a tensor, with another one in
  /// the place of the others.
  recurrence::ExprId kept_part(recurrence::ExprId expr, recurrence::ExprId rest, bool columns,
                               TensorId tensor, std::size_t axis, const std::vector<poly::Affine>& index,
                               std::int64_t first, std::int64_t last);
  /// The same as `masked` with ones on the diagonal.
  recurrence::ExprId with_ones(recurrence::ExprId expr, Mask keep, TensorId tensor,
                               const std::vector<poly::Affine>& index, const poly::Set& tiles);

  /// Requires the tensor's tiles along an axis to be as long as those of an axis of `extent`; `tile` is which, over `tiles`.
  /// Throws LegalityError CYC231 where the last ones are not.
  void check_ends(TensorId tensor, std::size_t axis, const poly::Affine& tile, const poly::Set& tiles,
                  std::int64_t extent) const;

  [[nodiscard]] const recurrence::Tensor& at(TensorId tensor) const { return system_.at(tensor); }

  /// The operators applied so far, in the names of LAPACK where it has them, each once and in order.
  [[nodiscard]] const std::vector<std::string>& operators() const { return operators_; }
  void note(std::string name);

 private:
  recurrence::ExprId mask(Mask mask, TensorId tensor, const std::vector<poly::Affine>& index,
                          const poly::Set& tiles);
  /// Reads a constant input of these tiles.
  recurrence::ExprId constant_input(std::string kind, std::vector<std::int64_t> shape,
                                    std::vector<std::int64_t> tile, const std::vector<poly::Affine>& index);

  System& system_;
  std::vector<MaskInput>& masks_;
  Span span_;
  std::vector<std::string> operators_;
};

/// The axis of a tensor that is the rows of its tiles, or their columns if there is one.
[[nodiscard]] inline std::size_t row_axis(std::size_t rank) { return rank >= 2 ? rank - 2 : 0; }

/// An expression that is a tile; its axes are numbers of the variables inside (0 the row, 1 the column that is computed,
/// then sums), or none where it has one place.
struct TileNode {
  recurrence::ExprId expr;
  std::optional<std::size_t> row, column;
};

/// Elements of tensors that are zero.
class Zeros {
 public:
  Zeros(const System& system, const NormalForm& form, const Tiling& tiling);

  /// Tells whether a factor is zero at all rows and columns of its tile that are not in `points`.
  [[nodiscard]] bool outside(const TileTerm& term, const TileFactor& factor, const poly::Set& outside) const;

 private:
  const System& system_;
  const NormalForm& form_;
  const Tiling& tiling_;
};

/// The product of a term's factors, summed over the places inside; over the tiles that are computed and those of sums. Of one
/// factor, with `op` what is greatest or least in place of the sum.
/// Throws LegalityError CYC231 where tile operators have no such product.
[[nodiscard]] TileNode contract(Emitter& emitter, const Zeros& zeros, const TileTerm& term, const Cell& cell,
                                const Span& span, operators::Op op = operators::Op::add);

}  // namespace cyclotron::blocking
