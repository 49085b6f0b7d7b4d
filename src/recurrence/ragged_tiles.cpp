#include "ragged_tiles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

using operators::Shape;

/// Points at which tiles have one shape. Those of a local tensor, which may be the compiler's own for terms of any
/// shape, are not known, nor is what is computed from them.
struct Piece {
  poly::Set points;
  Shape shape;
};
using Pieces = std::vector<Piece>;

bool is_ragged(const Tensor& tensor) {
  for (std::size_t d = 0; tensor.blocked && d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > tensor.tile[d] && tensor.shape[d] % tensor.tile[d] != 0) return true;
  }
  return false;
}

void add(Pieces& pieces, Piece piece) {
  if (piece.points.is_empty()) return;
  const auto same = std::ranges::find(pieces, piece.shape, &Piece::shape);
  if (same == pieces.end()) {
    pieces.push_back(std::move(piece));
  } else {
    same->points = same->points.unite(piece.points).coalesce();
  }
}

/// Of one equation.
class RaggedTiles {
 public:
  RaggedTiles(const System& system, const Equation& equation) : system_(system), equation_(equation) {}

  void check(const poly::Set& domain) const {
    PiecesById known;
    const auto values = shapes(equation_.expr, {equation_.indices, domain}, known);
    const auto tiles = shapes_of(equation_.target, equation_.index, domain);
    for (const auto& value : values) {
      for (const auto& tile : tiles) {
        if (value.shape == tile.shape || value.shape == Shape{}) continue;
        const auto point = value.points.intersect(tile.points).lexmin_point();
        if (!point) continue;
        const auto& tensor = system_.at(equation_.target);
        throw ShapeError({.code = "CYC206",
                          .span = equation_.span,
                          .message = fmt::format(
                              "a tile of {}x{} is assigned to `{}`, whose tile at {} is {}x{}",
                              value.shape.rows, value.shape.columns, tensor.user_name(),
                              point_text(equation_.indices, *point), tile.shape.rows, tile.shape.columns),
                          .notes = {{tensor.span, "it is declared here"}},
                          .help = help});
      }
    }
  }

 private:
  using PiecesById = std::map<ExprId, Pieces>;
  static constexpr auto help =
      "the last tiles of a dimension are smaller where the tile does not divide it: use a tile that does, or "
      "give the last one an equation of its own";

  /// The shapes of an expression's value, at all points in scope.
  Pieces shapes(ExprId id, const Scope& scope, PiecesById& known) const {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const Expr& expr = system_.at(id);
    auto result = std::visit(
        Overloaded{[&](const Constant&) { return Pieces{{scope.points, {}}}; },
                   [&](const Index&) { return Pieces{{scope.points, {}}}; },
                   [&](const Access& access) { return shapes_of(access.tensor, access.index, scope.points); },
                   [&](const Apply& apply) { return shapes_of(apply, expr.span, scope, known); },
                   [&](const Reduce& reduce) { return shapes_of(reduce, expr.span, scope); }},
        expr.node);
    known.emplace(id, result);
    return result;
  }

  Pieces shapes_of(TensorId id, const std::vector<Affine>& index, const poly::Set& points) const {
    const auto& tensor = system_.at(id);
    if (tensor.role == Role::local && tensor.blocked) return {};
    Pieces result{{points, tile_shape(tensor)}};
    if (!is_ragged(tensor)) return result;
    const auto rank = tensor.shape.size();
    for (std::size_t d = 0; d < rank; ++d) {
      const auto rest = tensor.shape[d] % tensor.tile[d];
      if (rest == 0 || tensor.shape[d] <= tensor.tile[d]) continue;
      auto last = to_poly(index[d], points.dimensions());
      last.constant -= tensor.extents()[d] - 1;
      Pieces divided;
      for (const auto& [part, shape] : result) {
        const auto at_end = part.intersect({last, true});
        auto smaller = shape;
        (rank == 1 || d + 2 == rank ? smaller.rows : smaller.columns) = rest;
        add(divided, {part.subtract(at_end), shape});
        add(divided, {at_end, smaller});
      }
      result = std::move(divided);
    }
    return result;
  }

  Pieces shapes_of(const Apply& apply, const Span& span, const Scope& scope, PiecesById& known) const {
    struct Combination {
      poly::Set points;
      std::vector<Shape> operands;
    };
    std::vector<Combination> combinations{{scope.points, {}}};
    for (const auto operand : apply.operands) {
      std::vector<Combination> more;
      for (const auto& [points, shape] : shapes(operand, scope, known)) {
        for (const auto& combination : combinations) {
          more.push_back({combination.points.intersect(points), combination.operands});
          more.back().operands.push_back(shape);
          if (more.back().points.is_empty()) more.pop_back();
        }
      }
      combinations = std::move(more);
    }
    Pieces result;
    for (auto& [points, operands] : combinations) {
      const auto shape = result_of(apply, operands, span, {scope.names, points});
      add(result, {std::move(points), shape});
    }
    return result;
  }

  /// The terms of one total have one shape.
  Pieces shapes_of(const Reduce& reduce, const Span& span, const Scope& scope) const {
    const auto outer = scope.names.size();
    std::vector<poly::Affine> around;
    std::vector<std::size_t> keep;
    for (std::size_t v = 0; v < outer; ++v) {
      around.push_back(poly::variable(outer + 1, v));
      keep.push_back(v);
    }
    auto names = scope.names;
    names.push_back(reduce.index);
    const auto terms = scope.points.preimage(around, outer + 1)
                           .intersect(to_set(scope.points.context(), reduce.domain, outer + 1));
    PiecesById known;
    Pieces result;
    for (const auto& term : shapes(reduce.body, {names, terms}, known)) {
      auto points = term.points.project(keep).coalesce();
      for (const auto& other : result) {
        const auto both = points.intersect(other.points);
        if (!both.is_empty())
          (void)result_of({Op::add, 0, {}}, {other.shape, term.shape}, span, {scope.names, both});
      }
      add(result, {std::move(points), term.shape});
    }
    return result;
  }

  /// The operator's result for operands of these shapes, at points in scope.
  static Shape result_of(const Apply& apply, const std::vector<Shape>& operands, const Span& span,
                         const Scope& scope) {
    try {
      return operators::result_shape(apply.op, apply.flags, operands);
    } catch (const ShapeError& error) {
      auto diagnostic = error.diagnostic();
      diagnostic.span = span;
      diagnostic.message +=
          fmt::format(", at {}", point_text(scope.names, scope.points.lexmin_point().value()));
      diagnostic.help = help;
      throw ShapeError(std::move(diagnostic));
    }
  }

  const System& system_;
  const Equation& equation_;
};

}  // namespace

void check_ragged_tiles(const System& system, const Equation& equation, const poly::Set& domain) {
  if (std::ranges::none_of(system.tensors, is_ragged)) return;
  RaggedTiles(system, equation).check(domain);
}

}  // namespace cyclotron::recurrence
