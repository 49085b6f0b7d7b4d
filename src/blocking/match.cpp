#include "match.hpp"

#include <algorithm>
#include <tuple>

#include <cyclotron/support/error.hpp>

namespace cyclotron::blocking {

namespace {

/// A definition's forms over row, column and one sum in a term's variables.
poly::Affine in_term(const poly::Affine& form, std::size_t variables) {
  auto result = form;
  if (variables == 2) {
    CYC_CHECK(form.coefficients[2] == 0);
    result.coefficients.pop_back();
  }
  return result;
}

poly::Set where_holds(const poly::Set& box, const std::vector<poly::Constraint>& all) {
  auto result = box;
  for (const auto& constraint : all)
    result = result.intersect({in_term(constraint.form, box.dimensions()), constraint.equality});
  return result;
}

class Matcher {
 public:
  Matcher(const Component& component, const Definition& definition)
      : component_(component), definition_(definition), anchor_(component.cells.front()) {}

  std::optional<Match> run() {
    const bool solves = definition_.recipe == Recipe::solve || definition_.recipe == Recipe::solve_scaled;
    if ((!solves && anchor_.rows != anchor_.columns) || !bind_results()) return std::nullopt;
    std::vector<std::vector<bool>> used;
    for (const auto& cell : component_.cells) used.emplace_back(cell.pieces.size());
    std::vector<TilePiece> residuals;
    bool any = false;
    for (const auto& piece : definition_.pieces) {
      const auto& bound = found_.tiles.at(piece.result);
      const auto number = cell_of(bound.tensor);
      const auto& cell = component_.cells[number];
      const auto points = where_holds(box_of(cell, 0), piece.where);
      if (points.is_empty()) continue;
      std::size_t p = 0;
      while (p < cell.pieces.size() && (used[number][p] || !(cell.pieces[p].inner == points))) ++p;
      if (p == cell.pieces.size()) {
        if (is_number(piece) && is_free(cell, points)) continue;
        return std::nullopt;
      }
      used[number][p] = true;
      any = any || !is_zero(piece);
      if (is_zero(piece) && may_keep(cell.pieces[p])) {
        found_.kept = cell.pieces[p];
        continue;
      }
      auto rest = matched(cell.pieces[p], piece);
      if (!rest) return std::nullopt;
      if (piece.residual) residuals.push_back(std::move(*rest));
    }
    for (const auto& flags : used) {
      if (std::ranges::find(flags, false) != flags.end()) return std::nullopt;
    }
    if (!any || !binds_all()) return std::nullopt;
    std::tie(found_.residual, found_.apart) = common_terms(anchor_, residuals);
    found_.definition = definition_;
    return std::move(found_);
  }

 private:
  static bool is_number(const DefinedPiece& piece) {
    return !piece.residual && piece.terms.empty() && piece.divisors.empty();
  }
  static bool is_zero(const DefinedPiece& piece) { return is_number(piece) && piece.constant == 0; }
  /// Tells whether the tiles of all factors are known: of tiles of one row or column, sums that hold some are empty.
  [[nodiscard]] bool binds_all() const {
    const auto bound = [&](const DefinedFactor& factor) { return found_.tiles.contains(factor.role); };
    return std::ranges::all_of(definition_.pieces, [&](const DefinedPiece& piece) {
      return std::ranges::all_of(piece.divisors, bound) &&
             std::ranges::all_of(piece.terms, [&](const DefinedTerm& term) {
               return std::ranges::all_of(term.factors, bound);
             });
    });
  }
  /// Nothing computes these elements, and whatever is there is right.
  static bool is_free(const Cell& cell, const poly::Set& points) {
    return std::ranges::all_of(
        cell.pieces, [&](const TilePiece& piece) { return piece.inner.intersect(points).is_empty(); });
  }

  /// Elements in the place of zeros, as in-place kernels leave them: of finished tiles alone.
  [[nodiscard]] bool may_keep(const TilePiece& piece) const {
    return component_.cells.size() == 1 && !piece.function && !piece.terms.empty() && !found_.kept &&
           std::ranges::all_of(piece.terms, [](const TileTerm& term) {
             return std::ranges::none_of(term.factors, [](const TileFactor& factor) { return factor.own; });
           });
  }

  [[nodiscard]] std::size_t cell_of(TensorId tensor) const {
    std::size_t number = 0;
    while (component_.cells.at(number).tensor != tensor) ++number;
    return number;
  }

  /// Each result is a tensor of the component, and each tensor a result.
  bool bind_results() {
    bool two = false;
    for (const auto& piece : definition_.pieces) two = two || piece.result == Role::second;
    if (component_.cells.size() != (two ? 2U : 1U)) return false;
    const auto bind = [&](Role role, const Cell& cell) {
      found_.tiles.insert_or_assign(role, BoundTile{cell.tensor, {}});
    };
    if (!two) {
      bind(Role::result, anchor_);
      return true;
    }
    // The roles are told by the zeros: of a vector by its shape, else above or below the diagonal.
    const auto& other = component_.cells[1];
    for (const bool swapped : {false, true}) {
      const auto &first = swapped ? other : anchor_, &second = swapped ? anchor_ : other;
      if (definition_.one_column != second.vector) continue;
      if (!has_shape(first, Role::result) || !has_shape(second, Role::second)) continue;
      bind(Role::result, first);
      bind(Role::second, second);
      return true;
    }
    return false;
  }

  [[nodiscard]] bool has_shape(const Cell& cell, Role role) const {
    return std::ranges::all_of(definition_.pieces, [&](const DefinedPiece& piece) {
      if (piece.result != role || is_zero(piece)) return true;
      const auto points = where_holds(box_of(cell, 0), piece.where);
      return points.is_empty() || (is_number(piece) && is_free(cell, points)) ||
             std::ranges::any_of(cell.pieces, [&](const TilePiece& own) { return own.inner == points; });
    });
  }

  /// The piece without what the definition says: the terms of the residual. None where it is another.
  std::optional<TilePiece> matched(const TilePiece& piece, const DefinedPiece& wanted) {
    const auto function = wanted.root ? std::optional(Function{}) : std::nullopt;
    if (piece.function != function) return std::nullopt;
    TilePiece rest{piece.inner, {}, std::nullopt, piece.span};
    std::vector<bool> used(wanted.terms.size());
    bool constant = wanted.constant == 0;
    for (auto term : piece.terms) {
      if (!take_divisors(term, wanted.divisors)) return std::nullopt;
      const bool own = std::ranges::any_of(term.factors, [](const TileFactor& factor) { return factor.own; });
      if (!own && wanted.residual) {
        rest.terms.push_back(std::move(term));
        continue;
      }
      if (!own) {
        if (constant || term.coefficient != wanted.constant || !term.factors.empty() || !term.sums.empty() ||
            !piece.inner.is_subset(term.inner) || !anchor_.tiles.is_subset(term.tiles))
          return std::nullopt;
        constant = true;
        continue;
      }
      std::size_t t = 0;
      while (t < wanted.terms.size() && (used[t] || !same_term(term, wanted.terms[t], piece))) ++t;
      if (t == wanted.terms.size()) return std::nullopt;
      used[t] = true;
    }
    for (std::size_t t = 0; t < used.size(); ++t) {
      if (used[t]) continue;
      const auto range = insert_coordinates(piece.inner, 2, 1).intersect(box_of(anchor_, 1));
      if (!where_holds(bounded(range, wanted.terms[t]), wanted.terms[t].range).is_empty())
        return std::nullopt;
    }
    if (!constant) return std::nullopt;
    return rest;
  }

  /// The sum of a definition is over the places of a tile's rows, or of its columns.
  [[nodiscard]] poly::Set bounded(const poly::Set& points, const DefinedTerm& wanted) const {
    const auto place = poly::variable(3, 2);
    const auto side = wanted.over_columns ? anchor_.columns : anchor_.rows;
    return points.intersect({place, false}).intersect({poly::constant(3, side - 1) - place, false});
  }

  bool take_divisors(TileTerm& term, const std::vector<DefinedFactor>& divisors) {
    for (const auto& divisor : divisors) {
      const auto same = std::ranges::find_if(term.factors, [&](const TileFactor& factor) {
        return factor.inverse && same_factor(term, factor, divisor);
      });
      if (same == term.factors.end()) return false;
      term.factors.erase(same);
    }
    return std::ranges::none_of(term.factors,
                                [](const TileFactor& factor) { return factor.inverse && factor.own; });
  }

  /// Of one sum, or of the same without any where a tile has one place.
  bool same_term(const TileTerm& term, const DefinedTerm& wanted, const TilePiece& piece) {
    if (term.coefficient != wanted.coefficient || term.factors.size() != wanted.factors.size() ||
        term.sums.size() != 1)
      return false;
    if (!(project_first(term.tiles, anchor_.tiles.dimensions()) == anchor_.tiles)) return false;
    const auto range = insert_coordinates(piece.inner, 2, 1);
    if (!(term.inner == where_holds(bounded(range, wanted), wanted.range))) return false;
    auto order = std::vector<std::size_t>(wanted.factors.size());
    for (std::size_t f = 0; f < order.size(); ++f) order[f] = f;
    do {
      const auto before = found_.tiles;
      bool all = true;
      for (std::size_t f = 0; f < order.size() && all; ++f)
        all = !term.factors[f].inverse && same_factor(term, term.factors[f], wanted.factors[order[f]]);
      if (all) return true;
      found_.tiles = before;
    } while (std::ranges::next_permutation(order).found);
    return false;
  }

  /// The same place of the same tile: one of the results where it is own, else one that is bound now or was before.
  bool same_factor(const TileTerm& term, const TileFactor& factor, const DefinedFactor& wanted) {
    const bool result = wanted.role == Role::result || wanted.role == Role::second;
    if (factor.own != result || factor.conjugate != wanted.conjugate) return false;
    const auto variables = term.inner.dimensions();
    if (variables != 3 && (wanted.row.coefficients[2] != 0 || wanted.column.coefficients[2] != 0))
      return false;
    if (variables > 3) return false;
    const auto at = [&](const poly::Affine& row, const poly::Affine& column) {
      return equal_on(term.inner, row, in_term(wanted.row, variables)) &&
             equal_on(term.inner, column, in_term(wanted.column, variables));
    };
    // A vector may be one row of a matrix.
    const bool is_vector =
        wanted.role == Role::scale || (wanted.role == Role::second && definition_.one_column);
    if (!at(factor.row, factor.column) && !(is_vector && at(factor.column, factor.row))) return false;
    if (result) return found_.tiles.at(wanted.role).tensor == factor.tensor;
    const auto forms = forms_of_tile(term, factor.tile);
    if (!forms) return false;
    const auto [bound, fresh] = found_.tiles.try_emplace(wanted.role, BoundTile{factor.tensor, *forms});
    if (fresh) return true;
    if (bound->second.tensor != factor.tensor) return false;
    for (std::size_t d = 0; d < forms->size(); ++d) {
      if (!equal_on(anchor_.tiles, bound->second.tile[d], (*forms)[d])) return false;
    }
    return true;
  }

  const Component& component_;
  const Definition& definition_;
  const Cell& anchor_;
  Match found_;
};

bool same_tile_factor(const TileTerm& term, const TileFactor& a, const TileFactor& b) {
  if (a.tensor != b.tensor || a.inverse != b.inverse || a.conjugate != b.conjugate || a.own != b.own)
    return false;
  if (!equal_on(term.inner, a.row, b.row) || !equal_on(term.inner, a.column, b.column)) return false;
  for (std::size_t d = 0; d < a.tile.size(); ++d) {
    if (!equal_on(term.tiles, a.tile[d], b.tile[d])) return false;
  }
  return true;
}

/// Tells whether `a` is `b` on the points of `b`; the sums are in one order.
bool same_tile_term(const TileTerm& a, const TileTerm& b) {
  if (a.coefficient != b.coefficient || a.factors.size() != b.factors.size() ||
      a.sums.size() != b.sums.size() || !(a.tiles == b.tiles))
    return false;
  std::vector<bool> used(b.factors.size());
  for (const auto& factor : a.factors) {
    std::size_t f = 0;
    while (f < used.size() && (used[f] || !same_tile_factor(b, factor, b.factors[f]))) ++f;
    if (f == used.size()) return false;
    used[f] = true;
  }
  return true;
}

/// The terms without the constraints of their piece's rows and columns.
std::vector<TileTerm> relaxed(const Cell& cell, const TilePiece& piece) {
  auto terms = piece.terms;
  for (auto& term : terms) {
    const auto sums = term.inner.dimensions() - 2;
    term.inner = term.inner.gist(insert_coordinates(piece.inner, 2, sums)).intersect(box_of(cell, sums));
    for (std::size_t s = 0; s < sums; ++s) {
      const auto place = poly::variable(2 + sums, 2 + s);
      term.inner = term.inner.intersect({place, false})
                       .intersect({poly::constant(2 + sums, term.lengths[s] - 1) - place, false});
    }
  }
  return terms;
}

bool agrees(const std::vector<TileTerm>& terms, const TilePiece& piece) {
  std::vector<bool> used(piece.terms.size());
  for (const auto& term : terms) {
    const auto here = term.inner.intersect(insert_coordinates(piece.inner, 2, term.inner.dimensions() - 2));
    if (here.is_empty()) continue;
    std::size_t t = 0;
    while (t < used.size() &&
           (used[t] || !same_tile_term(term, piece.terms[t]) || !(here == piece.terms[t].inner)))
      ++t;
    if (t == used.size()) return false;
    used[t] = true;
  }
  return std::ranges::find(used, false) == used.end();
}

}  // namespace

poly::Set box_of(const Cell& cell, std::size_t sums) {
  const auto variables = 2 + sums;
  const auto row = poly::variable(variables, 0), column = poly::variable(variables, 1);
  return poly::Set::where(
      cell.tiles.context(), variables,
      std::vector<poly::Constraint>{{row, false},
                                    {poly::constant(variables, cell.rows - 1) - row, false},
                                    {column, false},
                                    {poly::constant(variables, cell.columns - 1) - column, false}});
}

std::optional<std::vector<poly::Affine>> forms_of_tile(const TileTerm& term,
                                                       const std::vector<poly::Affine>& forms) {
  const auto variables = term.tiles.dimensions(), rank = variables - term.sums.size();
  auto result = forms;
  for (auto v = variables; v-- > rank;) {
    if (std::ranges::all_of(result, [v](const auto& form) { return form.coefficients[v] == 0; })) continue;
    const auto value = project_first(term.tiles, v + 1).detect_equalities().equality_for(v);
    if (!value) return std::nullopt;
    auto onto = identity_forms(variables, variables);
    onto[v] = *value;
    onto[v].coefficients.resize(variables, 0);
    if (onto[v].coefficients[v] != 0) return std::nullopt;
    for (auto& form : result) form = poly::substitute(form, onto, variables);
  }
  for (auto& form : result) {
    for (auto v = rank; v < variables; ++v) {
      if (form.coefficients[v] != 0) return std::nullopt;
    }
    form.coefficients.resize(rank);
  }
  return result;
}

std::optional<std::vector<TileTerm>> merge(const Cell& cell, const std::vector<TilePiece>& pieces) {
  if (pieces.empty()) return std::vector<TileTerm>{};
  for (const auto& candidate : pieces) {
    auto terms = relaxed(cell, candidate);
    if (std::ranges::all_of(pieces, [&](const TilePiece& piece) { return agrees(terms, piece); }))
      return terms;
  }
  return std::nullopt;
}

std::pair<std::vector<TileTerm>, std::vector<TilePiece>> common_terms(const Cell& cell,
                                                                      const std::vector<TilePiece>& pieces) {
  std::pair<std::vector<TileTerm>, std::vector<TilePiece>> best;
  for (const auto& candidate : pieces) {
    auto left = pieces;
    std::vector<TileTerm> common;
    for (auto& term : relaxed(cell, candidate)) {
      std::vector<std::size_t> places;
      for (const auto& piece : left) {
        const auto here = term.inner.intersect(insert_coordinates(piece.inner, 2, term.sums.size()));
        const auto found = std::ranges::find_if(piece.terms, [&](const TileTerm& other) {
          return same_tile_term(term, other) && here == other.inner;
        });
        if (found == piece.terms.end()) break;
        places.push_back(static_cast<std::size_t>(found - piece.terms.begin()));
      }
      if (places.size() < left.size()) continue;
      for (std::size_t p = 0; p < left.size(); ++p)
        left[p].terms.erase(left[p].terms.begin() + static_cast<std::ptrdiff_t>(places[p]));
      common.push_back(std::move(term));
    }
    if (common.size() >= best.first.size()) best = {std::move(common), std::move(left)};
  }
  std::erase_if(best.second, [](const TilePiece& piece) { return piece.terms.empty(); });
  return best;
}

std::optional<Match> match(const System& system, const Component& component) {
  const auto dtype = system.at(component.cells.front().tensor).dtype;
  const bool complex = dtype == operators::DType::complex64 || dtype == operators::DType::complex128;
  // Of one element a factor is the element, and no failure where that is 0.
  const bool single = component.cells.size() == 1 && !has_own(component.cells.front());
  for (const auto& definition : definitions(complex)) {
    if (single && (definition.recipe == Recipe::lu_packed || definition.recipe == Recipe::ldl_packed))
      continue;
    if (auto found = Matcher(component, definition).run()) return found;
  }
  return std::nullopt;
}

}  // namespace cyclotron::blocking
