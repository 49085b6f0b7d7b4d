#include "contract.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::blocking {

using operators::Op;
using recurrence::ExprId;

ExprId Emitter::access(TensorId tensor, const std::vector<poly::Affine>& index) {
  recurrence::Access node{tensor, {}};
  for (const auto& form : index) node.index.push_back({form.coefficients, form.constant});
  system_.exprs.push_back({std::move(node), span_});
  return ExprId(system_.exprs.size() - 1);
}

ExprId Emitter::constant(double value) {
  system_.exprs.push_back({recurrence::Constant{value}, span_});
  return ExprId(system_.exprs.size() - 1);
}

ExprId Emitter::apply(Op op, std::vector<ExprId> operands, operators::Flags flags) {
  if (!operators::is_elementwise(op) && op != Op::transpose)
    note(std::string(operators::info(op).space_name));
  system_.exprs.push_back({recurrence::Apply{op, flags, std::move(operands)}, span_});
  return ExprId(system_.exprs.size() - 1);
}

ExprId Emitter::reduce(Op op, const std::string& index, recurrence::Region domain, ExprId body) {
  const auto kind = op == Op::add       ? recurrence::Reduction::sum
                    : op == Op::maximum ? recurrence::Reduction::maximum
                                        : recurrence::Reduction::minimum;
  system_.exprs.push_back({recurrence::Reduce{kind, index, std::move(domain), body}, span_});
  return ExprId(system_.exprs.size() - 1);
}

void Emitter::note(std::string name) {
  if (std::ranges::find(operators_, name) == operators_.end()) operators_.push_back(std::move(name));
}

void Emitter::check_ends(TensorId tensor, std::size_t axis, const poly::Affine& tile, const poly::Set& tiles,
                         std::int64_t extent) const {
  const auto& of = system_.at(tensor);
  const auto own = of.shape[axis];
  if (own == extent || of.tile[axis] == 1) return;
  const auto whole = poly::constant(tiles.dimensions(), std::min(own, extent) / of.tile[axis] - 1);
  if (tiles.satisfies({whole - tile, false})) return;
  refuse(
      span_,
      fmt::format("`{}` has {} places along an axis where what it is computed with has {}, so that the last "
                  "tiles differ in length",
                  of.user_name(), own, extent),
      "pass arrays that end where the loops do");
}

Mask mask_of(const poly::Set& points, const poly::Set& box) {
  if (points == box) return Mask::all;
  if (points.is_empty()) return Mask::none;
  const auto row = poly::variable(2, 0), column = poly::variable(2, 1), one = poly::constant(2, 1);
  const auto is = [&](const poly::Constraint& constraint) { return points == box.intersect(constraint); };
  if (is({row - column, false})) return Mask::lower;
  if (is({column - row, false})) return Mask::upper;
  if (is({row - column - one, false})) return Mask::below;
  if (is({column - row - one, false})) return Mask::above;
  const poly::Constraint diagonal{row - column, true};
  if (is(diagonal)) return Mask::diagonal;
  if (points == box.subtract(box.intersect(diagonal))) return Mask::beside;
  return Mask::other;
}

namespace {

std::string name_of(Mask mask) {
  switch (mask) {
    case Mask::lower: return "lower";
    case Mask::upper: return "upper";
    case Mask::below: return "below";
    case Mask::above: return "above";
    case Mask::diagonal: return "diagonal";
    case Mask::beside: return "beside";
    case Mask::all:
    case Mask::none:
    case Mask::other: break;
  }
  return "";
}

}  // namespace

ExprId Emitter::mask(Mask mask, TensorId tensor, const std::vector<poly::Affine>& index,
                     const poly::Set& tiles) {
  const auto of = system_.at(tensor);
  const auto rank = of.shape.size();
  if (name_of(mask).empty() || rank < 2)
    refuse(span_, "a condition inside of its tiles keeps no triangle of them");
  const auto &row = index[rank - 2], &column = index[rank - 1];
  if (of.tile[rank - 2] != of.tile[rank - 1] || !equal_on(tiles, row, column))
    refuse(span_, "a triangle of a tile counts that is not on the diagonal of its matrix");
  const auto tile = of.tile[rank - 2];
  return constant_input(name_of(mask), {of.shape[rank - 2], of.shape[rank - 1]}, {tile, tile}, {row, column});
}

ExprId Emitter::constant_input(std::string kind, std::vector<std::int64_t> shape,
                               std::vector<std::int64_t> tile, const std::vector<poly::Affine>& index) {
  const auto name =
      fmt::format("mask_{}_{}_by_{}", kind, fmt::join(shape, "x"),
                  kind == "all" ? fmt::format("{}", fmt::join(tile, "x")) : fmt::to_string(tile[0]));
  const auto known = std::ranges::find(system_.tensors, name, &recurrence::Tensor::name);
  const TensorId id(static_cast<std::size_t>(known - system_.tensors.begin()));
  if (known == system_.tensors.end()) {
    system_.tensors.push_back(
        {name, operators::DType::boolean, recurrence::Role::input, shape, std::move(tile), true, span_});
    masks_.push_back({name, std::move(kind), std::move(shape)});
  }
  return access(id, index);
}

ExprId Emitter::filled(ExprId number, TensorId tensor, const std::vector<poly::Affine>& index) {
  const auto of = system_.at(tensor);
  return apply(Op::where, {constant_input("all", of.shape, of.tile, index), number, constant(0)});
}

ExprId Emitter::masked(ExprId expr, Mask keep, TensorId tensor, const std::vector<poly::Affine>& index,
                       const poly::Set& tiles) {
  if (keep == Mask::all) return expr;
  return apply(Op::where, {mask(keep, tensor, index, tiles), expr, constant(0)});
}

ExprId Emitter::chosen(Mask keep, ExprId expr, ExprId rest, TensorId tensor,
                       const std::vector<poly::Affine>& index, const poly::Set& tiles) {
  return apply(Op::where, {mask(keep, tensor, index, tiles), expr, rest});
}

ExprId Emitter::kept_part(ExprId expr, ExprId rest, bool columns, TensorId tensor, std::size_t axis,
                          const std::vector<poly::Affine>& index, std::int64_t first, std::int64_t last) {
  const auto of = system_.at(tensor);
  const auto kind = fmt::format("{}_to_{}", first, last);
  auto mask = constant_input(kind, {of.shape[axis]}, {of.tile[axis]}, {index[axis]});
  if (columns) mask = apply(Op::transpose, {mask});
  return apply(Op::where, {mask, expr, rest});
}

ExprId Emitter::with_ones(ExprId expr, Mask keep, TensorId tensor, const std::vector<poly::Affine>& index,
                          const poly::Set& tiles) {
  const auto ones = apply(Op::where, {mask(Mask::diagonal, tensor, index, tiles), constant(1), expr});
  return masked(ones, keep, tensor, index, tiles);
}

namespace {

class Contraction {
 public:
  Contraction(Emitter& emitter, const Zeros& zeros, const TileTerm& term, const Cell& cell, Span span, Op op)
      : emitter_(emitter), zeros_(zeros), term_(term), cell_(cell), span_(std::move(span)), op_(op) {}

  TileNode run() {
    find_lengths();
    if (std::ranges::any_of(term_.factors, is_window)) return windows();
    for (const auto& factor : term_.factors) nodes_.push_back(node_of(factor));
    if (nodes_.empty()) nodes_.push_back({emitter_.constant(1), std::nullopt, std::nullopt});
    apply_masks();
    if (is_self_product()) return self_product();
    while (step()) {
    }
    while (nodes_.size() > 1) outer_product();
    auto node = nodes_.front();
    node = oriented(node);
    if (const auto mask = result_mask_; mask != Mask::all) {
      if (!has(node, 0) || (cell_.columns > 1 && !has(node, 1)))
        refuse_product("a condition on rows and columns");
      const auto own = identity_forms(cell_.tiles.dimensions(), cell_.tiles.dimensions());
      node.expr = emitter_.chosen(mask, node.expr, nothing(), cell_.tensor, own, cell_.tiles);
    }
    return node;
  }

 private:
  using Axis = std::optional<std::size_t>;

  static bool has(const TileNode& node, std::size_t axis) { return node.row == axis || node.column == axis; }
  [[nodiscard]] std::size_t users(std::size_t axis) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(nodes_, [&](const auto& n) { return has(n, axis); }));
  }

  [[noreturn]] void refuse_product(const std::string& what) const {
    refuse(span_, "no product of tiles has " + what + " as its sum does");
  }

  /// Lengths of the variables inside.
  void find_lengths() {
    lengths_ = {cell_.rows, cell_.columns};
    lengths_.insert(lengths_.end(), term_.lengths.begin(), term_.lengths.end());
    const auto& shape = emitter_.at(cell_.tensor).shape;
    if (!shape.empty()) extents_.emplace(0, shape[row_axis(shape.size())]);
    if (shape.size() >= 2) extents_.emplace(1, shape.back());
    for (const auto& factor : term_.factors) {
      const auto rank = factor.tile.size();
      if (rank >= 1) check_ends(factor, row_axis(rank), factor.row);
      if (rank >= 2) check_ends(factor, rank - 1, factor.column);
    }
  }

  void check_ends(const TileFactor& factor, std::size_t axis, const poly::Affine& place) {
    const auto variable = plain_variable(place);
    if (!variable) return;
    const auto extent = extents_.try_emplace(*variable, emitter_.at(factor.tensor).shape[axis]).first->second;
    emitter_.check_ends(factor.tensor, axis, factor.tile[axis], term_.tiles, extent);
  }

  [[nodiscard]] Axis axis_of(const poly::Affine& form) const {
    if (const auto v = plain_variable(form)) return v;
    if (!poly::is_constant(form)) refuse_product("a subscript");
    return std::nullopt;
  }

  TileNode node_of(const TileFactor& factor) {
    TileNode node{emitter_.access(factor.tensor, factor.tile), axis_of(factor.row), axis_of(factor.column)};
    if (node.row && node.row == node.column) node = diagonal_of(node, factor);
    if (factor.conjugate) node.expr = emitter_.apply(Op::conj, {node.expr});
    if (factor.inverse) node.expr = emitter_.apply(Op::divide, {emitter_.constant(1), node.expr});
    return node;
  }

  static bool is_window(const TileFactor& factor) {
    const auto used = [](const poly::Affine& form) {
      return std::ranges::count_if(form.coefficients, [](auto c) { return c != 0; });
    };
    return used(factor.row) > 1 || used(factor.column) > 1;
  }

  /// The sum whose places an axis of windows starts at the element's `axis`; none where it has one place.
  [[nodiscard]] Axis place_in_window(const poly::Affine& form, std::size_t axis) const {
    Axis place;
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      if (form.coefficients[v] == 0 || v == axis) continue;
      if (v < 2 || place) refuse_product("a window");
      place = v;
    }
    if (form.coefficients[axis] == 0 && (place || lengths_[axis] > 1)) refuse_product("a window");
    return place;
  }

  /// The tiles that windows reach into are joined, and every element is the sum over a window of it.
  TileNode windows() {
    const auto& factors = term_.factors;
    if (factors.size() != 2 || is_window(factors[0]) == is_window(factors[1]) || factors[0].inverse ||
        factors[1].inverse || factors[0].conjugate)
      refuse_product("windows and weights");
    const bool first = is_window(factors[0]);
    const auto &of = factors[first ? 0 : 1], &weights = factors[first ? 1 : 0];
    std::vector<poly::Constraint> everywhere;
    for (std::size_t v = 0; v < lengths_.size(); ++v) {
      const auto place = poly::variable(lengths_.size(), v);
      everywhere.push_back({place, false});
      everywhere.push_back({poly::constant(lengths_.size(), lengths_[v] - 1) - place, false});
    }
    if (!(term_.inner == poly::Set::universe(term_.inner.context(), lengths_.size()).intersect(everywhere)))
      refuse_product("a condition inside of windows");
    const auto long_axis = [&](Axis axis) { return axis && lengths_[*axis] > 1 ? axis : std::nullopt; };
    const auto row = long_axis(place_in_window(of.row, 0)), column = long_axis(place_in_window(of.column, 1));
    for (std::size_t v = 2; v < lengths_.size(); ++v) {
      if (lengths_[v] > 1 && row != v && column != v) refuse_product("a sum beside that over windows");
    }
    auto node = node_of(weights);
    node = {node.expr, long_axis(node.row), long_axis(node.column)};
    const bool turned = (row && node.column == row) || (column && node.row == column);
    if (turned) node = {emitter_.apply(Op::transpose, {node.expr}), node.column, node.row};
    if (node.row != row || node.column != column) refuse_product("weights");
    std::optional<ExprId> all;
    const auto tiles = tiles_of(of);
    const auto across = static_cast<std::size_t>(of.further_columns + 1);
    for (std::size_t t = 0; t < tiles.size(); t += across) {
      auto line = emitter_.access(of.tensor, tiles[t]);
      for (std::size_t c = 1; c < across; ++c)
        line =
            emitter_.apply(Op::join, {line, emitter_.access(of.tensor, tiles[t + c])}, operators::right_side);
      all = all ? emitter_.apply(Op::join, {*all, line}) : line;
    }
    const auto own = identity_forms(cell_.tiles.dimensions(), cell_.tiles.dimensions());
    auto start = emitter_.constant(0);
    if (cell_.rows * cell_.columns > 1) start = emitter_.filled(start, cell_.tensor, own);
    return {emitter_.apply(Op::correlate_add, {start, *all, node.expr}), 0, 1};
  }

  /// The diagonal of a tile, as a column.
  TileNode diagonal_of(const TileNode& node, const TileFactor& factor) {
    if (lengths_[*node.row] == 1) return {node.expr, node.row, std::nullopt};
    const auto kept = emitter_.masked(node.expr, Mask::diagonal, factor.tensor, factor.tile, term_.tiles);
    return {emitter_.apply(Op::row_sum, {kept}), node.row, std::nullopt};
  }

  /// Conditions inside keep a triangle of a factor, or of the result.
  void apply_masks() {
    const auto variables = term_.inner.dimensions();
    auto left = poly::Set::universe(term_.inner.context(), variables);
    std::vector<poly::Constraint> bounds;
    for (std::size_t v = 0; v < variables; ++v) {
      const auto place = poly::variable(variables, v);
      bounds.push_back({place, false});
      bounds.push_back({poly::constant(variables, lengths_[v] - 1) - place, false});
    }
    left = left.intersect(bounds);
    const auto mask_on = [&](std::size_t row, std::size_t column) {
      const auto box = left.project({row, column}), own = term_.inner.project({row, column});
      const auto mask = mask_of(own, box);
      if (mask == Mask::none || mask == Mask::other) return Mask::other;
      std::vector<poly::Affine> forms{poly::variable(variables, row), poly::variable(variables, column)};
      left = left.intersect(own.preimage(forms, variables));
      return mask;
    };
    // First what is zero outside of its points anyway.
    for (const bool zero : {true, false}) {
      for (std::size_t n = 0; n < nodes_.size(); ++n) {
        auto& node = nodes_[n];
        if (!node.row || !node.column || left == term_.inner) continue;
        const auto own = term_.inner.project({*node.row, *node.column});
        const auto box = left.project({*node.row, *node.column});
        if (own == box) continue;
        const bool vanishes = op_ == Op::add && !term_.factors[n].inverse &&
                              zeros_.outside(term_, term_.factors[n], box.subtract(own));
        if (vanishes != zero) continue;
        if (vanishes) {
          std::vector<poly::Affine> forms{poly::variable(variables, *node.row),
                                          poly::variable(variables, *node.column)};
          left = left.intersect(own.preimage(forms, variables));
          continue;
        }
        const auto& factor = term_.factors[n];
        if (!on_diagonal(factor)) continue;  // perhaps that of another factor, or a part of its sum
        const auto mask = mask_on(*node.row, *node.column);
        if (mask == Mask::other) continue;
        node.expr = emitter_.chosen(mask, node.expr, nothing(), factor.tensor, factor.tile, term_.tiles);
      }
    }
    for (std::size_t v = 2; v < variables && !(left == term_.inner); ++v)
      left = left.intersect(keep_part(v, left));
    if (!(left == term_.inner) && variables >= 2) {
      result_mask_ = mask_on(0, 1);
      if (result_mask_ == Mask::other) refuse_product("a condition");
    }
    if (!(left == term_.inner)) refuse_product("its conditions");
  }

  [[nodiscard]] bool on_diagonal(const TileFactor& factor) const {
    const auto rank = factor.tile.size();
    const auto& tile = emitter_.at(factor.tensor).tile;
    return rank >= 2 && tile[rank - 2] == tile[rank - 1] &&
           equal_on(term_.tiles, factor.tile[rank - 2], factor.tile[rank - 1]);
  }

  /// Keeps of each factor what a sum that is over a part of its tile reads: what it leaves may be no number. Returns the points.
  poly::Set keep_part(std::size_t variable, const poly::Set& left) {
    const auto variables = term_.inner.dimensions();
    const auto own = term_.inner.project({variable}), box = left.project({variable});
    const auto first = own.minimum(0), last = own.maximum(0);
    auto all = poly::Set::universe(term_.inner.context(), variables);
    if (own == box || !first || !last) return all;
    const auto place = poly::variable(1, 0);
    const auto part = box.intersect({place - poly::constant(1, *first), false})
                          .intersect({poly::constant(1, *last) - place, false});
    if (!(own == part)) return all;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      auto& node = nodes_[n];
      if (!has(node, variable)) continue;
      const auto& factor = term_.factors[n];
      const auto rank = factor.tile.size();
      const bool rows = plain_variable(factor.row) == variable;
      node.expr = emitter_.kept_part(node.expr, nothing(), node.column == variable, factor.tensor,
                                     rows ? row_axis(rank) : rank - 1, factor.tile, *first, *last);
    }
    return own.preimage({poly::variable(variables, variable)}, variables);
  }

  /// a @ a.T of one tile.
  [[nodiscard]] bool is_self_product() const {
    if (term_.factors.size() != 2 || term_.sums.size() != 1 || result_mask_ != Mask::all) return false;
    const auto &a = term_.factors[0], &b = term_.factors[1];
    if (a.tensor != b.tensor || a.inverse || b.inverse || a.conjugate || b.conjugate) return false;
    for (std::size_t d = 0; d < a.tile.size(); ++d) {
      if (!equal_on(term_.tiles, a.tile[d], b.tile[d])) return false;
    }
    const auto &p = nodes_[0], &q = nodes_[1];
    return p.column == 2 && q.column == 2 && p.row && q.row && *p.row + *q.row == 1;
  }

  TileNode self_product() { return {emitter_.apply(Op::syrk, {nodes_[0].expr}), 0, 1}; }

  bool step() { return multiply_matrices() || scale() || multiply_elements() || add_up(); }

  void replace(std::size_t a, std::size_t b, const TileNode& node) {
    nodes_[a] = node;
    nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(b));
  }

  /// Sums over an axis of two nodes alone that have no other in common.
  bool multiply_matrices() {
    for (std::size_t axis = 2; axis < term_.inner.dimensions(); ++axis) {
      if (users(axis) != 2) continue;
      std::size_t a = 0;
      while (!has(nodes_[a], axis)) ++a;
      std::size_t b = a + 1;
      while (!has(nodes_[b], axis)) ++b;
      const auto rest = [&](const TileNode& node) { return node.row == axis ? node.column : node.row; };
      const auto left = rest(nodes_[a]), right = rest(nodes_[b]);
      if (left && left == right) continue;
      // The result has the row of the element that is computed first.
      const bool swap = left == 1U || right == 0U;
      const auto &p = nodes_[swap ? b : a], &q = nodes_[swap ? a : b];
      operators::Flags flags = 0;
      if (p.column != axis) flags |= operators::transpose_a;
      if (q.row != axis) flags |= operators::transpose_b;
      replace(a, b, {emitter_.apply(Op::matmul, {p.expr, q.expr}, flags), rest(p), rest(q)});
      return true;
    }
    return false;
  }

  /// Multiplies rows or columns of a matrix by a vector, or anything by a number.
  bool scale() {
    for (std::size_t a = 0; a < nodes_.size(); ++a) {
      for (std::size_t b = 0; b < nodes_.size(); ++b) {
        const auto &matrix = nodes_[a], &vector = nodes_[b];
        if (a == b || (vector.row && vector.column)) continue;
        const auto axis = vector.row ? vector.row : vector.column;
        if (axis && !(matrix.row && matrix.column && has(matrix, *axis))) continue;
        auto factor = vector.expr;
        if (axis && (vector.row == axis) != (matrix.row == axis))
          factor = emitter_.apply(Op::transpose, {factor});
        const TileNode node{emitter_.apply(Op::multiply, {matrix.expr, factor}), matrix.row, matrix.column};
        replace(std::min(a, b), std::max(a, b), node);
        return true;
      }
    }
    return false;
  }

  bool multiply_elements() {
    for (std::size_t a = 0; a < nodes_.size(); ++a) {
      for (std::size_t b = a + 1; b < nodes_.size(); ++b) {
        const auto &p = nodes_[a], &q = nodes_[b];
        const bool same = p.row == q.row && p.column == q.column,
                   turned = p.row == q.column && p.column == q.row;
        if (!same && !turned) continue;
        const auto other = same ? q.expr : emitter_.apply(Op::transpose, {q.expr});
        replace(a, b, {emitter_.apply(Op::multiply, {p.expr, other}), p.row, p.column});
        return true;
      }
    }
    return false;
  }

  /// Sums over an axis of one node.
  bool add_up() {
    for (std::size_t axis = 2; axis < term_.inner.dimensions(); ++axis) {
      if (users(axis) != 1) continue;
      for (auto& node : nodes_) {
        if (!has(node, axis)) continue;
        const bool columns = node.column == axis;
        if (lengths_[axis] > 1) node.expr = emitter_.apply(along(columns), {node.expr});
        (columns ? node.column : node.row) = std::nullopt;
        return true;
      }
    }
    return false;
  }

  /// The number that changes no sum, maximum or minimum.
  ExprId nothing() {
    if (op_ == Op::add) return emitter_.constant(0);
    if (!operators::is_floating(emitter_.at(cell_.tensor).dtype))
      refuse_product("a condition on numbers without infinity");
    const auto infinity = std::numeric_limits<double>::infinity();
    return emitter_.constant(op_ == Op::maximum ? -infinity : infinity);
  }

  /// The operator that reduces the columns or the rows of a tile.
  [[nodiscard]] Op along(bool columns) const {
    if (op_ == Op::add) return columns ? Op::row_sum : Op::column_sum;
    if (op_ == Op::maximum) return columns ? Op::row_max : Op::column_max;
    return columns ? Op::row_min : Op::column_min;
  }

  void outer_product() {
    const auto p = oriented(nodes_[0]), q = oriented(nodes_[1]);
    const bool column_row = p.row && !p.column && !q.row && q.column;
    const bool row_column = !p.row && p.column && q.row && !q.column;
    if (!column_row && !row_column) refuse_product("factors");
    const auto &left = column_row ? p : q, &right = column_row ? q : p;
    replace(0, 1, {emitter_.apply(Op::matmul, {left.expr, right.expr}), left.row, right.column});
  }

  /// Rows where the element's rows are.
  TileNode oriented(const TileNode& node) {
    if (node.row != 1U && node.column != 0U) return node;
    return {emitter_.apply(Op::transpose, {node.expr}), node.column, node.row};
  }

  Emitter& emitter_;
  const Zeros& zeros_;
  const TileTerm& term_;
  const Cell& cell_;
  Span span_;
  std::vector<std::int64_t> lengths_;
  std::map<std::size_t, std::int64_t> extents_;  ///< Of the axes, by variable inside.
  std::vector<TileNode> nodes_;
  Op op_;
  Mask result_mask_ = Mask::all;
};

}  // namespace

Zeros::Zeros(const System& system, const NormalForm& form, const Tiling& tiling)
    : system_(system), form_(form), tiling_(tiling) {}

bool Zeros::outside(const TileTerm& term, const TileFactor& factor, const poly::Set& outside) const {
  const auto id = factor.tensor.index();
  const auto rank = factor.tile.size(), tiles = term.tiles.dimensions();
  const auto both = insert_coordinates(term.tiles, tiles, 2).intersect(insert_coordinates(outside, 0, tiles));
  std::vector<poly::Affine> element;
  for (std::size_t d = 0; d < rank; ++d) {
    auto form = tiling_.axes[id][d] * insert_variables(factor.tile[d], tiles, 2);
    if (d + 2 == rank || rank == 1) form = form + poly::variable(tiles + 2, tiles);
    if (d + 1 == rank && rank >= 2) form = form + poly::variable(tiles + 2, tiles + 1);
    element.push_back(std::move(form));
  }
  auto left =
      both.image(element).intersect(recurrence::elements_of(term.tiles.context(), system_.at(factor.tensor)));
  for (const auto& piece : form_.pieces[id]) {
    if (piece.terms.empty() && keeps_zero(piece.function)) left = left.subtract(piece.points);
  }
  return left.is_empty();
}

TileNode contract(Emitter& emitter, const Zeros& zeros, const TileTerm& term, const Cell& cell,
                  const Span& span, Op op) {
  auto node = Contraction(emitter, zeros, term, cell, span, op).run();
  for (const auto axis : {node.row, node.column}) CYC_CHECK(!axis || *axis < 2);
  return node;
}

}  // namespace cyclotron::blocking
