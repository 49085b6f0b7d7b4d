#include "emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::blocking {

using operators::Op;
using recurrence::ExprId;

namespace {

std::vector<std::string> index_names(const Cell& cell) {
  auto names = cell.names;
  for (std::size_t d = 0; d < names.size(); ++d) {
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(d);
    if (names[d].empty() || std::find(names.begin(), first, names[d]) != first)
      names[d] = fmt::format("tile_{}", d);
  }
  return names;
}

/// Names of sums that no index around has.
std::vector<std::string> sum_names(const std::vector<std::string>& indices, std::vector<std::string> sums) {
  auto taken = indices;
  for (auto& name : sums) {
    const auto wanted = name;
    for (int number = 2; std::ranges::find(taken, name) != taken.end(); ++number)
      name = fmt::format("{}_{}", wanted, number);
    taken.push_back(name);
  }
  return sums;
}

recurrence::Region region_of(const poly::Set& set, const Span& span) {
  auto region = recurrence::to_region(set);
  if (!region) refuse(span, "the tiles of a class are at no plain conditions on their indices");
  return *region;
}

/// Same divisors in all terms, none of a sum: those of the first, without them in the terms.
std::vector<TileFactor> take_common_divisors(std::vector<TileTerm>& terms) {
  std::vector<TileFactor> common;
  if (terms.empty()) return common;
  for (const auto& factor : terms.front().factors) {
    if (!factor.inverse) continue;
    const auto rank = terms.front().tiles.dimensions() - terms.front().sums.size();
    const auto plain = [](const poly::Affine& form, std::size_t count) {
      return std::ranges::all_of(form.coefficients.begin() + static_cast<std::ptrdiff_t>(count),
                                 form.coefficients.end(), [](auto c) { return c == 0; });
    };
    const auto cut = [](poly::Affine form, std::size_t count) {
      form.coefficients.resize(count);
      return form;
    };
    bool free = plain(factor.row, 2) && plain(factor.column, 2);
    for (const auto& form : factor.tile) free = free && plain(form, rank);
    if (!free) continue;
    auto short_factor = factor;
    for (auto& form : short_factor.tile) form = cut(form, rank);
    short_factor.row = cut(factor.row, 2);
    short_factor.column = cut(factor.column, 2);
    std::vector<std::size_t> places;
    for (const auto& term : terms) {
      std::size_t f = 0;
      for (; f < term.factors.size(); ++f) {
        const auto& other = term.factors[f];
        if (!other.inverse || other.tensor != factor.tensor || other.conjugate != factor.conjugate) continue;
        const auto sums = term.sums.size();
        bool same = other.row == insert_variables(short_factor.row, 2, sums) &&
                    other.column == insert_variables(short_factor.column, 2, sums);
        for (std::size_t d = 0; d < other.tile.size(); ++d)
          same = same && other.tile[d] == insert_variables(short_factor.tile[d], rank, sums);
        if (same) break;
      }
      if (f == term.factors.size()) break;
      places.push_back(f);
    }
    if (places.size() != terms.size()) continue;
    for (std::size_t t = 0; t < terms.size(); ++t)
      terms[t].factors.erase(terms[t].factors.begin() + static_cast<std::ptrdiff_t>(places[t]));
    auto divisor = std::move(short_factor);
    divisor.inverse = false;
    common.push_back(std::move(divisor));
    break;
  }
  return common;
}

[[noreturn]] void refuse_part(const Span& span) {
  refuse(span, "its elements are the same along an axis of a tile, and no tile operator repeats them");
}

/// Tells whether points are all rows and columns between two of each.
bool is_box(const poly::Set& points, const poly::Set& box) {
  auto all = box;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto place = poly::variable(2, axis);
    const auto first = points.minimum(axis), last = points.maximum(axis);
    if (!first || !last) return false;
    all = all.intersect({place - poly::constant(2, *first), false})
              .intersect({poly::constant(2, *last) - place, false});
  }
  return all == points;
}

/// The part of an operator's tile that is one of its results, for the tiles of a cell; of those of a tensor at `index`.
ExprId factor_of(Emitter& emitter, const Definition& definition, Role role, TensorId tensor,
                 const std::vector<poly::Affine>& index, const Cell& target) {
  const auto& tiles = target.tiles;
  const auto tile = emitter.access(tensor, index);
  const bool second = role == Role::second;
  if (definition.recipe == Recipe::ldl) {
    if (second)
      return emitter.apply(target.rows == 1 ? Op::column_sum : Op::row_sum,
                           {emitter.masked(tile, Mask::diagonal, tensor, index, tiles)});
    return emitter.with_ones(tile, Mask::lower, tensor, index, tiles);
  }
  const auto mask = second != definition.transposed ? Mask::lower : Mask::upper;
  return second ? emitter.with_ones(tile, mask, tensor, index, tiles)
                : emitter.masked(tile, mask, tensor, index, tiles);
}

/// The diagonal of a tile that a cell is computed from, as a column.
ExprId diagonal_of(Emitter& emitter, const BoundTile& tile, const Cell& cell) {
  const auto whole = emitter.access(tile.tensor, tile.tile);
  if (emitter.at(tile.tensor).tile.back() == 1) return whole;
  const auto kept = emitter.masked(whole, Mask::diagonal, tile.tensor, tile.tile, cell.tiles);
  return emitter.apply(Op::row_sum, {kept});
}

/// The first cell's tiles over those of the other that are computed with them.
std::vector<poly::Affine> back_to(const Cell& cell, const std::vector<poly::Affine>& other,
                                  const Span& span) {
  const auto rank = cell.tiles.dimensions(), count = other.size();
  auto forms = other;
  for (const auto& form : identity_forms(rank, rank)) forms.push_back(form);
  const auto pairs = cell.tiles.image(forms);
  std::vector<poly::Affine> result;
  for (std::size_t d = 0; d < rank; ++d) {
    std::vector<std::size_t> keep;
    for (std::size_t v = 0; v < count; ++v) keep.push_back(v);
    keep.push_back(count + d);
    const auto value = pairs.project(keep).detect_equalities().equality_for(count);
    if (!value) refuse(span, "its tiles are computed with others that do not determine them");
    result.push_back(*value);
    result.back().coefficients.resize(count);
  }
  return result;
}

}  // namespace

TileSystem::TileSystem(const System& system, const NormalForm& form, const Tiling& tiling,
                       const std::vector<Cell>& cells)
    : scalars_(system), zeros_(system, form, tiling) {
  tiles_.kernel = system.kernel;
  for (std::size_t t = 0; t < system.tensors.size(); ++t) {
    auto tensor = system.tensors[t];
    const bool computed =
        std::ranges::any_of(cells, [t](const Cell& cell) { return cell.tensor.index() == t; });
    gone_.push_back(tensor.role == recurrence::Role::local && !computed);
    tensor.tile = tiling.axes[t];
    tensor.blocked = !tensor.shape.empty();
    tiles_.tensors.push_back(std::move(tensor));
  }
}

System TileSystem::take() const {
  System result = tiles_;
  std::vector<TensorId> ids;
  result.tensors.clear();
  for (std::size_t t = 0; t < tiles_.tensors.size(); ++t) {
    ids.emplace_back(result.tensors.size());
    if (t >= gone_.size() || !gone_[t]) result.tensors.push_back(tiles_.tensors[t]);
  }
  for (auto& expr : result.exprs) {
    if (auto* access = std::get_if<recurrence::Access>(&expr.node))
      access->tensor = ids.at(access->tensor.index());
  }
  for (auto& equation : result.equations) equation.target = ids.at(equation.target.index());
  return result;
}

TileSystem::Summand TileSystem::summand(Emitter& emitter, const Cell& cell, TileTerm term, const Span& span,
                                        Op op) {
  // Sums over tiles that the element's tile determines are none.
  const auto rank = cell.tiles.dimensions();
  const auto all = identity_forms(term.tiles.dimensions(), term.tiles.dimensions());
  const bool everywhere = cell.tiles.is_subset(project_first(term.tiles, rank));
  const auto values = everywhere ? forms_of_tile(term, all) : std::nullopt;
  std::size_t ranges = term.sums.size();
  if (values) {
    for (auto& factor : term.factors) {
      for (auto& form : factor.tile) form = poly::substitute(form, *values, rank);
    }
    term.tiles = project_first(term.tiles, rank);
    ranges = 0;
  }
  if (op != Op::add && term.factors.empty())
    return {term, {emitter.constant(term.coefficient), std::nullopt, std::nullopt}, 0, false, everywhere};
  auto node = contract(emitter, zeros_, term, cell, span, op);
  const bool whole = Extent{}.with(node).is_whole(cell);
  const double size = std::abs(term.coefficient);
  if (size != 1) node.expr = emitter.apply(Op::multiply, {emitter.constant(size), node.expr});
  const auto sums = sum_names(index_names(cell), term.sums);
  for (std::size_t s = ranges; s-- > 0;) {
    const auto points = project_first(term.tiles, rank + s + 1);
    const auto around =
        insert_coordinates(s == 0 ? cell.tiles : project_first(term.tiles, rank + s), rank + s, 1);
    node.expr = emitter.reduce(op, sums[s], region_of(points.gist(around), span), node.expr);
  }
  return {std::move(term), node, ranges, whole, everywhere};
}

TileSystem::Total TileSystem::total(Emitter& emitter, const Cell& cell, const std::vector<TileTerm>& terms,
                                    const Span& span) {
  std::vector<Summand> summands;
  summands.reserve(terms.size());
  for (const auto& term : terms) summands.push_back(summand(emitter, cell, term, span));
  // A tile that is there is updated: so terms that all tiles have come first, without sums before those with them. One
  // number is added to a tile that is there.
  std::ranges::stable_sort(summands, {}, [](const Summand& one) {
    return std::tuple(!one.whole, !one.everywhere, !one.term.sums.empty(), one.term.coefficient < 0);
  });
  std::optional<ExprId> result;
  Extent all;
  for (const auto& [term, node, ranges, whole, everywhere] : summands) {
    if (everywhere) all = all.with(node);
    const bool less = term.coefficient < 0;
    const bool onward = ranges == 1 && result && whole;
    const operators::Flags flags = onward ? operators::Flags{operators::onward} : 0U;
    if (result)
      result = emitter.apply(less ? Op::subtract : Op::add, {*result, node.expr}, flags);
    else
      result = less ? emitter.apply(Op::negative, {node.expr}) : node.expr;
  }
  return {result.value_or(emitter.constant(0)), all};
}

TileSystem::Total TileSystem::among_all(Emitter& emitter, const Cell& cell, const TilePiece& piece) {
  // Of two elements the operator is the text's; of more they are in another order, where one that is no number counts.
  const auto own = piece.function->op;
  const auto op = own == Op::maximum || own == Op::first_maximum ? Op::maximum : Op::minimum;
  const bool in_order = std::ranges::all_of(piece.terms, [](const auto& term) { return term.sums.empty(); });
  std::optional<ExprId> result;
  Extent all;
  for (const auto& term : piece.terms) {
    const auto one = summand(emitter, cell, term, piece.span, op);
    result = result ? emitter.apply(in_order ? own : op, {*result, one.node.expr}) : one.node.expr;
    all = all.with(one.node);
  }
  emitter.note(std::string(operators::info(op).space_name));
  return {*result, all};
}

TileSystem::Total TileSystem::piece(Emitter& emitter, const Cell& cell, const TilePiece& piece) {
  if (is_among_all(piece.function)) return among_all(emitter, cell, piece);
  auto terms = piece.terms;
  const auto divisors = piece.function ? std::vector<TileFactor>{} : take_common_divisors(terms);
  auto [expr, extent] = total(emitter, cell, terms, piece.span);
  for (const auto& divisor : divisors) {
    const TileTerm only{1, {divisor}, {}, cell.tiles, box_of(cell, 0), {}};
    const auto node = contract(emitter, zeros_, only, cell, piece.span);
    emitter.note("div");
    expr = emitter.apply(Op::divide, {expr, node.expr});
    extent = extent.with(node);
  }
  if (const auto& function = piece.function) {
    emitter.note(std::string(operators::info(function->op).space_name));
    std::vector<ExprId> operands{expr};
    if (function->number)
      operands.insert(function->number_first ? operands.begin() : operands.end(),
                      emitter.constant(function->number->real));
    expr = emitter.apply(function->op, std::move(operands));
  }
  return {expr, extent};
}

/// Operators read tiles: a number becomes one.
ExprId TileSystem::whole_tile(Emitter& emitter, const Cell& cell, const Total& total, const Span& span) {
  if (total.extent.is_whole(cell)) return total.expr;
  if (total.extent.is_part(cell)) refuse_part(span);
  const auto rank = cell.tiles.dimensions();
  return emitter.filled(total.expr, cell.tensor, identity_forms(rank, rank));
}

void TileSystem::add(std::size_t number, const Cell& cell) {
  const Span span = cell.pieces.empty() ? Span{} : cell.pieces.front().span;
  Emitter emitter(tiles_, masks_, span);
  // Pieces that one list of terms is right for are one.
  std::vector<TilePiece> groups;
  for (const auto& piece : cell.pieces) {
    if (piece.terms.empty() && keeps_zero(piece.function)) continue;
    bool joined = false;
    for (auto& group : groups) {
      if (group.function != piece.function) continue;
      if (auto terms = merge(cell, {group, piece})) {
        group.terms = std::move(*terms);
        group.inner = group.inner.unite(piece.inner).coalesce();
        for (auto& term : group.terms)
          term.inner = term.inner.intersect(insert_coordinates(group.inner, 2, term.sums.size()));
        joined = true;
        break;
      }
    }
    if (!joined) groups.push_back(piece);
  }
  const auto result = masked_sum(emitter, cell, groups, std::nullopt);
  equation(number, cell, result.value_or(emitter.constant(0)), emitter, span);
}

std::optional<ExprId> TileSystem::masked_sum(Emitter& emitter, const Cell& cell,
                                             const std::vector<TilePiece>& pieces,
                                             std::optional<ExprId> result) {
  for (const auto& group : pieces) {
    const auto box = box_of(cell, 0);
    const auto mask = mask_of(group.inner, box);
    const bool part = mask != Mask::all && mask != Mask::none && is_box(group.inner, box);
    if ((mask == Mask::other && !part) || mask == Mask::none)
      refuse(group.span, "its elements are at conditions inside of a tile that keep no triangle of it");
    auto whole = group;
    whole.terms = merge(cell, {group}).value();
    auto [expr, extent] = piece(emitter, cell, whole);
    const auto rank = cell.tiles.dimensions();
    const auto own = identity_forms(rank, rank);
    if (mask == Mask::all || part) expr = whole_tile(emitter, cell, {expr, extent}, group.span);
    for (std::size_t axis = 0; part && axis < std::min<std::size_t>(rank, 2); ++axis) {
      const auto first = group.inner.minimum(axis).value(), last = group.inner.maximum(axis).value();
      if (first == box.minimum(axis) && last == box.maximum(axis)) continue;
      expr = emitter.kept_part(expr, emitter.constant(0), axis == 1, cell.tensor,
                               axis == 1 ? rank - 1 : row_axis(rank), own, first, last);
    }
    if (!part) expr = emitter.masked(expr, mask, cell.tensor, own, cell.tiles);
    result = result ? emitter.apply(Op::add, {*result, expr}) : expr;
  }
  return result;
}

ExprId TileSystem::bound(Emitter& emitter, const Match& match, Role role) {
  const auto& tile = match.tiles.at(role);
  return emitter.access(tile.tensor, tile.tile);
}

void TileSystem::check_ends(const Emitter& emitter, const Cell& cell, const Match& match) {
  // All other tiles, and both sides of those that are factors, are as long as the rows or the columns that are solved.
  const auto& shape = emitter.at(cell.tensor).shape;
  if (shape.empty()) return;  // one element, computed from single ones
  const auto& definition = match.definition;
  const bool solves = definition.recipe == Recipe::solve || definition.recipe == Recipe::solve_scaled;
  const bool right =
      definition.recipe == Recipe::solve_scaled || (definition.flags & operators::right_side) != 0;
  const auto extent = shape[solves && right ? shape.size() - 1 : row_axis(shape.size())];
  for (const auto& [role, tile] : match.tiles) {
    if (solves && role == Role::result) continue;
    const auto rank = emitter.at(tile.tensor).shape.size();
    const auto forms = tile.tile.empty() ? identity_forms(shape.size(), shape.size()) : tile.tile;
    if (forms.size() != rank) continue;  // a factor in the coordinates of the other
    for (auto axis = row_axis(rank); axis < rank; ++axis)
      emitter.check_ends(tile.tensor, axis, forms[axis], cell.tiles, extent);
  }
}

ExprId TileSystem::solved(Emitter& emitter, const Cell& cell, const Match& match, ExprId residual) {
  const auto& definition = match.definition;
  switch (definition.recipe) {
    case Recipe::solve:
      return emitter.apply(Op::solve_triangular, {bound(emitter, match, Role::matrix), residual},
                           definition.flags);
    case Recipe::inverse:
      return emitter.apply(Op::inv_triangular, {bound(emitter, match, Role::matrix)}, definition.flags);
    case Recipe::solve_scaled: {
      const operators::Flags flags =
          operators::lower | operators::right_side | operators::transpose_a | operators::unit_diagonal;
      const auto product =
          emitter.apply(Op::solve_triangular, {bound(emitter, match, Role::matrix), residual}, flags);
      const auto own = match.tiles.find(Role::scale);
      const bool row = own != match.tiles.end() && emitter.at(own->second.tensor).shape.size() > 1;
      const auto scale = own == match.tiles.end() ? diagonal_of(emitter, match.tiles.at(Role::matrix), cell)
                                                  : bound(emitter, match, Role::scale);
      return emitter.apply(Op::divide, {product, row ? scale : emitter.apply(Op::transpose, {scale})});
    }
    case Recipe::cholesky:
    case Recipe::lu_packed:
    case Recipe::lu_apart:
    case Recipe::ldl:
    case Recipe::ldl_packed: break;
  }
  const bool turn = definition.transposed;
  auto tile = turn ? emitter.apply(Op::transpose, {residual}) : residual;
  const bool is_ldl = definition.recipe == Recipe::ldl || definition.recipe == Recipe::ldl_packed;
  const Op op = definition.recipe == Recipe::cholesky ? Op::cholesky : is_ldl ? Op::ldl : Op::lu;
  tile = emitter.apply(op, {tile});
  return turn ? emitter.apply(Op::transpose, {tile}) : tile;
}

void TileSystem::add(std::size_t number, const Component& component, const Match& match,
                     std::optional<std::size_t> other, const Cell* other_cell) {
  const auto& cell = component.cells.front();
  const Span span = cell.pieces.front().span;
  Emitter emitter(tiles_, masks_, span);
  const bool inverse = match.definition.recipe == Recipe::inverse;
  check_ends(emitter, cell, match);
  ExprId residual{};
  if (!inverse) {
    residual = whole_tile(emitter, cell, total(emitter, cell, match.residual, span), span);
    residual = *masked_sum(emitter, cell, match.apart, residual);
  }
  auto expr = solved(emitter, cell, match, residual);
  if (match.kept) expr = with_kept(emitter, cell, *match.kept, expr);
  if (!other) {
    equation(number, cell, expr, emitter, span);
    return;
  }
  factored(emitter, number, component, match, expr, *other, *other_cell);
}

/// The operator's tile, with what a kernel leaves where the operator has zeros.
ExprId TileSystem::with_kept(Emitter& emitter, const Cell& cell, const TilePiece& kept, ExprId expr) {
  auto terms = merge(cell, {kept});
  const auto mask = mask_of(kept.inner, box_of(cell, 0));
  if (!terms || mask == Mask::other || mask == Mask::none)
    refuse(kept.span, "a condition inside of its tiles keeps no triangle of them");
  auto whole = kept;
  whole.terms = std::move(*terms);
  const auto [rest, extent] = piece(emitter, cell, whole);
  if (extent.is_part(cell)) refuse_part(kept.span);
  const auto rank = cell.tiles.dimensions();
  return emitter.chosen(mask, rest, expr, cell.tensor, identity_forms(rank, rank), cell.tiles);
}

void TileSystem::factored(Emitter& emitter, std::size_t number, const Component& component,
                          const Match& match, ExprId factors, std::size_t other, const Cell& other_cell) {
  // Both factors are parts of one tile, which is a tensor of its own.
  const auto& cell = component.cells.front();
  const Span span = cell.pieces.front().span;
  const auto first = match.tiles.at(Role::result).tensor, second = match.tiles.at(Role::second).tensor;
  auto local = tiles_.at(cell.tensor);
  local.role = recurrence::Role::local;
  local.name = fmt::format("{}_{}_factors", scalars_.at(first).name, scalars_.at(second).name);
  local.variable = fmt::format("{}_{}", scalars_.at(first).user_name(), scalars_.at(second).user_name());
  local.span = span;
  const TensorId both(tiles_.tensors.size());
  tiles_.tensors.push_back(std::move(local));
  const auto rank = cell.tiles.dimensions();
  recurrence::Equation definition{both, {}, index_names(cell), region_of(cell.tiles, span), factors, span};
  for (const auto& form : identity_forms(rank, rank))
    definition.index.push_back({form.coefficients, form.constant});
  tiles_.equations.push_back(std::move(definition));
  const bool result_first = first == cell.tensor;
  const auto part = [&](std::size_t of, const Cell& target, const std::vector<poly::Affine>& index,
                        Role role) {
    equation(of, target, factor_of(emitter, match.definition, role, both, index, target), emitter, span);
  };
  part(number, cell, identity_forms(rank, rank), result_first ? Role::result : Role::second);
  part(other, other_cell, back_to(cell, component.other_tile, span),
       result_first ? Role::second : Role::result);
}

void TileSystem::equation(std::size_t number, const Cell& cell, ExprId expr, const Emitter& emitter,
                          const Span& span) {
  const auto rank = cell.tiles.dimensions();
  recurrence::Equation result{cell.tensor, {}, index_names(cell), region_of(cell.tiles, span), expr, span};
  for (const auto& form : identity_forms(rank, rank))
    result.index.push_back({form.coefficients, form.constant});
  added_[number] = {emitter.operators(), recurrence::EquationId(tiles_.equations.size())};
  tiles_.equations.push_back(std::move(result));
}

std::vector<std::string> TileSystem::operators_of(std::size_t number) const {
  const auto found = added_.find(number);
  return found == added_.end() ? std::vector<std::string>{} : found->second.operators;
}

std::string TileSystem::equation_of(std::size_t number) const {
  const auto found = added_.find(number);
  if (found == added_.end()) return "";
  System one = tiles_;
  one.equations = {tiles_.at(found->second.equation)};
  one.tensors = tiles_.tensors;
  const auto text = recurrence::to_string(one);
  const auto line = text.rfind("\n  ", text.size() - 2);
  auto result = text.substr(line + 3);
  return result.substr(0, result.find("    "));
}

}  // namespace cyclotron::blocking
