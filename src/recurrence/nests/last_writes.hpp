// Private to this folder: which statement wrote what a statement reads.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <cyclotron/recurrence/nest.hpp>
#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence::detail {

/// At these points (of the reader's scope) the value is what `statement` made at from(p) / divisor.
struct Source {
  std::size_t statement = 0;
  poly::Set points;
  std::vector<poly::Affine> from;
  std::int64_t divisor = 1;
  /// The divisor times a form of the statement's indices, where those are from(p) / divisor.
  [[nodiscard]] poly::Affine times_divisor(const poly::Affine& form, std::size_t variables) const;
};

/// A reading of an assigned tensor.
struct Read {
  ExprId expr;
  Scope scope;
  std::vector<Source> sources;  ///< Disjoint; together all points.
};

/// A loop that alone counts along an axis of what a statement assigns: its subscript is a constant and stride * loop.
struct Count {
  std::size_t axis = 0;
  std::int64_t stride = 1;
};

/// The execution order of a nest and what follows from it.
class LastWrites {
 public:
  LastWrites(const poly::Context& context, const Nest& nest);

  /// The readings of assigned tensors by a statement, in the order of for_each_expr.
  /// Throws LegalityError CYC215, CYC216.
  [[nodiscard]] std::vector<Read> reads(std::size_t statement) const;
  /// Replaces sources that only hand on what they read, statements in `through`, by where that comes from.
  /// `reads`: of each statement.
  static void read_through(std::vector<std::vector<Read>>& reads, const std::vector<bool>& through);
  /// True for a statement that only hands on one element of an assigned tensor.
  [[nodiscard]] bool hands_on(std::size_t statement) const;
  /// The points at which a statement makes the last value of an element.
  [[nodiscard]] poly::Set last_points(std::size_t statement) const;
  [[nodiscard]] const poly::Set& domain(std::size_t statement) const { return domains_.at(statement); }
  [[nodiscard]] bool is_assigned(TensorId tensor) const;
  /// For each loop of a statement how it counts along an axis, so that the element tells its value; else none.
  [[nodiscard]] std::vector<std::optional<Count>> counts(std::size_t statement) const;

 private:
  [[nodiscard]] std::vector<poly::Affine> time(std::size_t statement, std::size_t variables) const;
  [[nodiscard]] std::vector<poly::Affine> point_at(std::size_t statement, std::size_t offset,
                                                   std::size_t variables) const;
  [[nodiscard]] poly::Set writes(std::size_t statement, std::size_t scope,
                                 const std::vector<poly::Affine>& element) const;
  [[nodiscard]] std::vector<Source> sources(std::size_t reader, const Expr& expr, const Access& access,
                                            const Scope& scope) const;
  [[nodiscard]] std::optional<std::vector<Source>> affine_pieces(const poly::Map& last, std::size_t writer,
                                                                 const Scope& scope) const;
  [[nodiscard]] std::optional<std::vector<Source>> of_a_stride(const poly::Map& last, std::size_t writer,
                                                               const Access& access,
                                                               const Scope& scope) const;
  [[nodiscard]] std::vector<Source> pieces_of(const poly::Map& last, std::size_t writer, const Expr& expr,
                                              const Access& access, const Scope& scope) const;

  const poly::Context& context_;
  const Nest& nest_;
  std::size_t times_ = 1;  ///< Coordinates of a time: text and loops by turns, for the deepest statement.
  std::vector<poly::Set> domains_;
};

}  // namespace cyclotron::recurrence::detail
