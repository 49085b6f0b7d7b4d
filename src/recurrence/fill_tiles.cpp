#include <cyclotron/recurrence/fill_tiles.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

constexpr operators::Shape of_a_number;
constexpr int most_rounds = 8;  ///< After which all elements of a tensor that still grows count.

bool broadcasts(Op op) { return operators::is_elementwise(op) || op == Op::transpose; }

class TileFiller {
 public:
  explicit TileFiller(const System& system) : system_(system) {
    for (const auto& tensor : system.tensors) {
      numbers_.push_back(poly::Set::empty(context_, tensor.shape.size()));
      read_.push_back(numbers_.back());
    }
  }

  FilledTiles run() {
    FilledTiles result{system_, {}};
    if (std::ranges::none_of(system_.tensors, &Tensor::blocked)) return result;
    find_numbers();
    for (const auto& equation : system_.equations) {
      for_each_expr(system_, equation, domain_of(context_, equation),
                    [&](ExprId id, const Scope& scope) { find_reads(id, scope); });
    }
    for (auto& equation : result.system.equations) {
      if (!numbers_in(equation).intersect(read_[equation.target.index()]).is_empty()) fill(equation, result);
    }
    return result;
  }

 private:
  using NumbersById = std::map<ExprId, poly::Set>;

  void find_numbers() {
    for (int round = 0;; ++round) {
      bool grows = false;
      for (const auto& equation : system_.equations) {
        auto& known = numbers_[equation.target.index()];
        auto more = numbers_in(equation);
        if (more.is_subset(known)) continue;
        grows = true;
        if (round >= most_rounds) more = elements_of(context_, system_.at(equation.target));
        known = known.unite(more).coalesce();
      }
      if (!grows) return;
    }
  }

  /// The elements of its target to which an equation assigns a number, where they are tiles.
  [[nodiscard]] poly::Set numbers_in(const Equation& equation) const {
    const auto domain = domain_of(context_, equation);
    auto points = poly::Set::empty(context_, domain.dimensions());
    NumbersById known;
    if (tile_shape(system_.at(equation.target)) != of_a_number)
      points =
          tile_shape(system_, equation.expr) == of_a_number ? domain : numbers(equation.expr, domain, known);
    return points.image(to_poly(equation.index, domain.dimensions()));
  }

  /// The points at which an expression of tiles may be a number.
  poly::Set numbers(ExprId id, const poly::Set& points, NumbersById& known) const {
    if (const auto found = known.find(id); found != known.end()) return found->second;
    const auto none = [&] { return poly::Set::empty(context_, points.dimensions()); };
    auto result = std::visit(
        Overloaded{[&](const Constant&) { return none(); }, [&](const Index&) { return none(); },
                   [&](const Access& access) {
                     return numbers_[access.tensor.index()]
                         .preimage(to_poly(access.index, points.dimensions()), points.dimensions())
                         .intersect(points);
                   },
                   [&](const Apply& apply) {
                     if (!broadcasts(apply.op) || tile_shape(system_, id) == of_a_number) return none();
                     auto all = points;
                     for (const auto operand : tiles_of(apply))
                       all = all.intersect(numbers(operand, points, known));
                     return all;
                   },
                   [&](const Reduce& reduce) {
                     if (tile_shape(system_, reduce.body) == of_a_number) return none();
                     const auto terms = terms_of(reduce, points);
                     NumbersById inner;
                     return points.subtract(around(terms)).unite(around(numbers(reduce.body, terms, inner)));
                   }},
        system_.at(id).node);
    return known.emplace(id, result.coalesce()).first->second;
  }

  [[nodiscard]] std::vector<ExprId> tiles_of(const Apply& apply) const {
    std::vector<ExprId> result;
    std::ranges::copy_if(apply.operands, std::back_inserter(result),
                         [&](ExprId id) { return tile_shape(system_, id) != of_a_number; });
    return result;
  }

  [[nodiscard]] poly::Set terms_of(const Reduce& reduce, const poly::Set& points) const {
    const auto outer = points.dimensions();
    std::vector<poly::Affine> scope;
    for (std::size_t v = 0; v < outer; ++v) scope.push_back(poly::variable(outer + 1, v));
    return points.preimage(scope, outer + 1).intersect(to_set(context_, reduce.domain, outer + 1));
  }

  [[nodiscard]] static poly::Set around(const poly::Set& terms) {
    std::vector<std::size_t> keep(terms.dimensions() - 1);
    for (std::size_t v = 0; v < keep.size(); ++v) keep[v] = v;
    return terms.project(keep);
  }

  /// Operands that are needed in the shape of a tile: all, or, of operators that broadcast, those that give the result its
  /// shape, where not all of them are numbers.
  void find_reads(ExprId id, const Scope& scope) {
    const auto* apply = std::get_if<Apply>(&system_.at(id).node);
    if (apply == nullptr) return;
    auto operands = tiles_of(*apply);
    NumbersById known;
    auto points = scope.points;
    if (broadcasts(apply->op)) {
      const auto shape = tile_shape(system_, id);
      const auto holds = [&](ExprId operand) {
        return apply->op == Op::transpose || tile_shape(system_, operand) == shape;
      };
      points = points.subtract(numbers(id, points, known));
      const bool any = std::ranges::any_of(operands, holds);
      for (const auto operand : operands) {
        if (any && holds(operand)) points = points.intersect(numbers(operand, scope.points, known));
      }
      if (any) std::erase_if(operands, [&](ExprId operand) { return !holds(operand); });
    }
    for (const auto operand : operands) {
      const auto needed = points.intersect(numbers(operand, scope.points, known));
      if (!needed.is_empty()) read_as_tile(operand, {scope.names, needed}, info(apply->op).name);
    }
  }

  void read_as_tile(ExprId id, const Scope& scope, std::string_view reader) {
    const auto& expr = system_.at(id);
    if (const auto* access = std::get_if<Access>(&expr.node)) {
      auto& read = read_[access->tensor.index()];
      read = read.unite(scope.points.image(to_poly(access->index, scope.points.dimensions()))).coalesce();
    } else if (const auto* apply = std::get_if<Apply>(&expr.node)) {
      for (const auto operand : tiles_of(*apply)) read_as_tile(operand, scope, reader);
    } else if (const auto* reduce = std::get_if<Reduce>(&expr.node)) {
      const auto terms = terms_of(*reduce, scope.points);
      const auto empty = scope.points.subtract(around(terms)).lexmin_point();
      if (empty) refuse(expr.span, *reduce, point_text(scope.names, *empty), reader);
      auto names = scope.names;
      names.push_back(reduce->index);
      read_as_tile(reduce->body, {std::move(names), terms}, reader);
    }
  }

  [[noreturn]] void refuse(const Span& span, const Reduce& reduce, const std::string& point,
                           std::string_view reader) const {
    const auto shape = tile_shape(system_, reduce.body);
    throw ShapeError(
        {.code = "CYC206",
         .span = span,
         .message = fmt::format(
             "`{}` needs a tile of {}x{}, and the reduction over `{}` is over nothing at {}: a number",
             reader, shape.rows, shape.columns, reduce.index, point),
         .notes = {},
         .help = "assign it to an element of a tensor first, or give these points an equation of "
                 "their own"});
  }

  static void fill(Equation& equation, FilledTiles& result) {
    auto& [system, masks] = result;
    const auto tensor = system.at(equation.target);
    const auto name =
        fmt::format("mask_all_{}_by_{}", fmt::join(tensor.shape, "x"), fmt::join(tensor.tile, "x"));
    const auto known = std::ranges::find(system.tensors, name, &Tensor::name);
    const TensorId mask(static_cast<std::size_t>(known - system.tensors.begin()));
    if (known == system.tensors.end()) {
      masks.emplace(name, tensor.shape);
      Tensor input{name, DType::boolean, Role::input, tensor.shape, tensor.tile, true, tensor.span};
      system.tensors.push_back(std::move(input));
    }
    const auto add = [&](decltype(Expr::node) node) {
      system.exprs.push_back({std::move(node), equation.span});
      return ExprId(system.exprs.size() - 1);
    };
    const auto condition = add(Access{mask, equation.index});
    const auto otherwise = add(Constant{0});
    equation.expr = add(Apply{Op::where, 0, {condition, equation.expr, otherwise}});
  }

  const System& system_;
  poly::Context context_;
  std::vector<poly::Set> numbers_;  ///< By tensor: the elements that may be numbers in the place of tiles.
  std::vector<poly::Set> read_;     ///< By tensor: those of them that an operator reads as tiles.
};

}  // namespace

FilledTiles fill_tiles(const System& system) { return TileFiller(system).run(); }

}  // namespace cyclotron::recurrence
