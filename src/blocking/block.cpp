#include <cyclotron/blocking/block.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include <cyclotron/recurrence/regions.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>

#include "emit.hpp"
#include "match.hpp"
#include "simplify.hpp"
#include "statements.hpp"
#include "tiles.hpp"

namespace cyclotron::blocking {

namespace {

/// Tells whether a term has an element for each row and column of a tile: numbers alone are no tile.
bool fills(const Cell& cell, const TileTerm& term) {
  const auto has = [&](std::size_t axis, std::int64_t length) {
    return length == 1 || std::ranges::any_of(term.factors, [axis](const TileFactor& factor) {
             return factor.row.coefficients[axis] != 0 || factor.column.coefficients[axis] != 0;
           });
  };
  return has(0, cell.rows) && has(1, cell.columns);
}

/// Cuts cells where a term that is no sum, a sum for some elements of a product's tiles, or all that fills a tile is in
/// some of their tiles only.
std::vector<Cell> with_whole_terms(std::vector<Cell> cells) {
  const auto splitting = [](const Cell& cell) -> std::optional<poly::Set> {
    const bool own = has_own(cell);
    bool filled = false;
    std::optional<poly::Set> parts;
    for (const auto& piece : cell.pieces) {
      for (const auto& term : piece.terms) {
        auto tiles = project_first(term.tiles, cell.tiles.dimensions());
        const bool everywhere = cell.tiles.is_subset(tiles);
        filled = filled || (everywhere && fills(cell, term));
        if (everywhere) continue;
        // A sum over none is 0.
        const bool adds = !term.sums.empty() && !is_among_all(piece.function) &&
                          (own || term.inner.project({0, 1}) == piece.inner);
        if (!adds) return tiles;
        if (!parts) parts = std::move(tiles);
      }
    }
    return filled ? std::nullopt : parts;
  };
  const auto restricted = [](const Cell& cell, const poly::Set& tiles) {
    auto part = cell;
    part.tiles = tiles;
    for (auto& piece : part.pieces) {
      for (auto& term : piece.terms)
        term.tiles =
            term.tiles.intersect(insert_coordinates(tiles, tiles.dimensions(), term.sums.size())).coalesce();
      std::erase_if(piece.terms, [](const TileTerm& term) { return term.tiles.is_empty(); });
    }
    return part;
  };
  std::vector<Cell> done;
  while (!cells.empty()) {
    auto cell = std::move(cells.back());
    cells.pop_back();
    if (const auto tiles = splitting(cell)) {
      cells.push_back(restricted(cell, cell.tiles.subtract(*tiles).coalesce()));
      cells.push_back(restricted(cell, cell.tiles.intersect(*tiles).coalesce()));
    } else {
      done.push_back(std::move(cell));
    }
  }
  std::ranges::reverse(done);
  return done;
}

/// The points as disjoint sets of plain bounds.
std::vector<poly::Set> disjoint_parts(const poly::Set& points) {
  const auto conjunctions = points.conjunctions();
  if (!conjunctions || conjunctions->size() <= 1) return {points};
  std::vector<poly::Set> parts;
  auto left = points;
  for (const auto& one : *conjunctions) {
    auto part = left.intersect(poly::Set::where(points.context(), points.dimensions(), one)).coalesce();
    left = left.subtract(part);
    if (!part.is_empty()) parts.push_back(std::move(part));
  }
  return parts;
}

/// Sums of products over tiles have no gaps: those before one and those after it are two. Sums of elements are as fast on
/// scalars, which have gaps.
void part_at_gaps(std::vector<Cell>& cells) {
  for (auto& cell : cells) {
    const auto rank = cell.tiles.dimensions();
    for (auto& piece : cell.pieces) {
      std::vector<TileTerm> terms;
      for (auto& term : piece.terms) {
        bool gap = false;
        const auto parts = term.tiles.conjunctions();
        if (term.factors.size() < 2 || (parts && parts->size() <= 1)) {
          terms.push_back(std::move(term));
          continue;
        }
        for (auto d = rank; d < term.tiles.dimensions(); ++d) gap = gap || recurrence::has_gap(term.tiles, d);
        for (auto& part : gap ? disjoint_parts(term.tiles) : std::vector{term.tiles}) {
          terms.push_back(term);
          terms.back().tiles = std::move(part);
        }
      }
      piece.terms = std::move(terms);
    }
  }
}

/// Leaves out products with tiles of zeros, which are numbers and no tiles; tells whether there were any.
bool drop_zeros(const System& system, std::vector<Cell>& cells) {
  std::map<TensorId, poly::Set> zeros;
  for (const auto& cell : cells) {
    if (!std::ranges::all_of(cell.pieces, [](const TilePiece& piece) {
          return piece.terms.empty() && keeps_zero(piece.function);
        }))
      continue;
    const auto known = zeros.find(cell.tensor);
    zeros.insert_or_assign(cell.tensor, known == zeros.end() ? cell.tiles : known->second.unite(cell.tiles));
  }
  bool any = false;
  const auto without = [&](TileTerm term, bool& fewer) {
    auto tiles = term.tiles;
    for (const auto& factor : term.factors) {
      const auto zero = zeros.find(factor.tensor);
      if (zero == zeros.end() || factor.inverse) continue;
      if (factor.further_rows + factor.further_columns > 0)
        refuse(system.at(factor.tensor).span, "windows reach into tiles of zeros");
      tiles = tiles.subtract(zero->second.preimage(factor.tile, tiles.dimensions()));
    }
    if (term.tiles.is_subset(tiles)) return std::vector<TileTerm>{std::move(term)};
    fewer = true;
    std::vector<TileTerm> parts;
    for (auto& part : disjoint_parts(tiles.coalesce())) {
      if (part.is_empty()) continue;
      parts.push_back(term);
      parts.back().tiles = std::move(part);
    }
    return parts;
  };
  for (auto& cell : cells) {
    for (auto& piece : cell.pieces) {
      std::vector<TileTerm> left;
      bool fewer = false;
      for (auto& term : piece.terms)
        std::ranges::move(without(std::move(term), fewer), std::back_inserter(left));
      if (fewer && is_among_all(piece.function))
        refuse(piece.span,
               "tiles of zeros, which are numbers, are among those of which one is the greatest or least");
      any = any || fewer;
      piece.terms = std::move(left);
    }
  }
  return any;
}

bool divides(const Cell& cell) {
  return std::ranges::any_of(cell.pieces, [](const TilePiece& piece) {
    return piece.function || std::ranges::any_of(piece.terms, [](const TileTerm& term) {
             return std::ranges::any_of(term.factors,
                                        [](const TileFactor& factor) { return factor.inverse; });
           });
  });
}

/// The tiles of another tensor that a cell reads as its own: where they are, over the cell's.
struct Partner {
  TensorId tensor;
  std::vector<poly::Affine> tile;
};

std::optional<Partner> partner_of(const Cell& cell) {
  for (const auto& piece : cell.pieces) {
    for (const auto& term : piece.terms) {
      for (const auto& factor : term.factors) {
        if (!factor.own || factor.tensor == cell.tensor) continue;
        if (const auto forms = forms_of_tile(term, factor.tile)) return Partner{factor.tensor, *forms};
      }
    }
  }
  return std::nullopt;
}

/// A vector's places as those on the diagonal of a matrix.
void put_on_diagonal(Cell& cell, const Cell& anchor) {
  const auto forms = [row = cell.columns > 1](std::size_t variables) {
    auto result = identity_forms(variables, variables);
    if (row) std::swap(result[0], result[1]);
    result[row ? 0 : 1] = poly::constant(variables, 0);
    return result;
  };
  const auto diagonal = [&](const poly::Set& points) {
    const auto variables = points.dimensions();
    return points.preimage(forms(variables), variables)
        .intersect({poly::variable(variables, 0) - poly::variable(variables, 1), true});
  };
  for (auto& piece : cell.pieces) {
    piece.inner = diagonal(piece.inner);
    for (auto& term : piece.terms) {
      const auto variables = term.inner.dimensions();
      term.inner = diagonal(term.inner);
      for (auto& factor : term.factors) {
        factor.row = poly::substitute(factor.row, forms(variables), variables);
        factor.column = poly::substitute(factor.column, forms(variables), variables);
      }
    }
  }
  cell.rows = anchor.rows;
  cell.columns = anchor.columns;
}

/// The cell in the coordinates of the tiles of another that are computed with it.
Cell in_coordinates(Cell cell, const Partner& partner, const Cell& anchor) {
  const auto rank = anchor.tiles.dimensions();
  const auto moved = [&](const poly::Set& tiles, std::size_t sums) {
    std::vector<poly::Affine> forms;
    for (const auto& form : partner.tile) forms.push_back(insert_variables(form, rank, sums));
    for (std::size_t s = 0; s < sums; ++s) forms.push_back(poly::variable(rank + sums, rank + s));
    return std::pair(
        tiles.preimage(forms, rank + sums).intersect(insert_coordinates(anchor.tiles, rank, sums)), forms);
  };
  const bool onto_diagonal = cell.vector && !anchor.vector;
  for (auto& piece : cell.pieces) {
    for (auto& term : piece.terms) {
      auto [tiles, forms] = moved(term.tiles, term.sums.size());
      for (auto& factor : term.factors) {
        for (auto& form : factor.tile) form = poly::substitute(form, forms, rank + term.sums.size());
      }
      term.tiles = std::move(tiles);
    }
  }
  cell.tiles = moved(cell.tiles, 0).first;
  if (onto_diagonal) put_on_diagonal(cell, anchor);
  return cell;
}

class Blocker {
 public:
  Blocker(const System& system, const TileSizes& sizes) : system_(system), sizes_(sizes) {}

  Blocking run() {
    check_dtypes();
    auto form = to_normal_form(system_, context_);
    const auto tiling = choose(form);
    scalars_ = form.system;
    auto cells = cut(scalars_, form, tiling, context_);
    mark_own(scalars_, cells);
    part_at_gaps(cells);
    do cells = with_whole_terms(std::move(cells));
    while (drop_zeros(scalars_, cells));
    TileSystem tiles(scalars_, form, tiling, cells);
    Blocking result;
    result.indices = tiling.classes;
    result.complete = true;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      auto item = class_of(cells[c]);
      const auto done = std::ranges::find(partners_done_, c) != partners_done_.end();
      try {
        if (!done) compute(tiles, cells, c);
        item.operators = tiles.operators_of(c);
        item.equation = tiles.equation_of(c);
      } catch (const LegalityError& error) {
        item.reason = error.diagnostic().message;
        item.operators.clear();
        result.complete = false;
      }
      result.classes.push_back(std::move(item));
    }
    result.system = system_;
    if (result.complete) {
      result.system = in_statements(tiles.take(), context_);
      result.masks = tiles.masks();
      recurrence::verify(result.system);
    }
    return result;
  }

 private:
  /// The tiles of a form, which becomes simple; parts of its arrays are such of their own where it has no tiles else.
  [[nodiscard]] Tiling choose(NormalForm& form) const {
    auto parts = form;
    form = simplify(std::move(form));
    try {
      return choose_tiles(form.system, form, sizes_);
    } catch (const LegalityError&) {
      if (!split_off_last(parts)) throw;
    }
    form = simplify(std::move(parts));
    return choose_tiles(form.system, form, sizes_);
  }

  void check_dtypes() const {
    for (const auto& tensor : system_.tensors) {
      if (tensor.blocked || operators::is_defined(operators::Op::matmul_subtract, tensor.dtype)) continue;
      refuse(tensor.span,
             fmt::format("`{}` is {}, and products of tiles are not added up in it", tensor.user_name(),
                         operators::name(tensor.dtype)),
             "convert it with `astype`, e.g. to float64");
    }
  }

  TileClass class_of(const Cell& cell) const {
    TileClass item;
    item.tensor = scalars_.at(cell.tensor).user_name();
    item.names = cell.names;
    item.tiles = cell.tiles.constraints_text(cell.names);
    return item;
  }

  void compute(TileSystem& tiles, const std::vector<Cell>& cells, std::size_t number) {
    const auto& cell = cells[number];
    const bool own = has_own(cell);
    if (own || divides(cell)) {
      Component component{{cell}};
      std::optional<std::size_t> other;
      if (const auto partner = partner_of(cell)) {
        other = cell_at(cells, cell, *partner);
        if (scalars_.at(partner->tensor).shape.size() > cell.tiles.dimensions())
          return compute_with(tiles, cells, number, *other);
        component.cells.push_back(in_coordinates(cells[*other], *partner, cell));
        component.other_tile = partner->tile;
      }
      if (const auto found = match(scalars_, component)) {
        tiles.add(number, component, *found, other, other ? &cells[*other] : nullptr);
        if (other) partners_done_.push_back(*other);
        return;
      }
      if (own) refuse_recurrence(cell);
    }
    tiles.add(number, cell);
  }

  /// A vector first: its matrix is the one in whose coordinates both are.
  void compute_with(TileSystem& tiles, const std::vector<Cell>& cells, std::size_t vector,
                    std::size_t matrix) {
    compute(tiles, cells, matrix);
    if (std::ranges::find(partners_done_, vector) == partners_done_.end()) refuse_recurrence(cells[vector]);
    partners_done_.push_back(matrix);
  }

  [[noreturn]] void refuse_recurrence(const Cell& cell) const {
    refuse(cell.pieces.front().span,
           fmt::format(
               "inside its tiles, `{}` is computed from its own elements in a way that is no tile operator's "
               "definition",
               scalars_.at(cell.tensor).user_name()));
  }

  std::size_t cell_at(const std::vector<Cell>& cells, const Cell& cell, const Partner& partner) const {
    const auto wanted = cell.tiles.image(partner.tile);
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (cells[c].tensor == partner.tensor && cells[c].tiles == wanted) return c;
    }
    refuse_recurrence(cell);
  }

  const System& system_;
  System scalars_;  ///< With tensors for parts of equations.
  const TileSizes& sizes_;
  poly::Context context_;
  std::vector<std::size_t> partners_done_;
};

}  // namespace

Blocking block(const System& system, const TileSizes& sizes) { return Blocker(system, sizes).run(); }

}  // namespace cyclotron::blocking
