#include <cyclotron/recurrence/split_bounds.hpp>

#include <algorithm>
#include <optional>

#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence {

namespace {

std::optional<ExprId> reduction_of(const System& system, ExprId id) {
  const auto& node = system.at(id).node;
  if (std::holds_alternative<Reduce>(node)) return id;
  if (const auto* apply = std::get_if<Apply>(&node)) {
    for (const auto operand : apply->operands) {
      if (const auto found = reduction_of(system, operand)) return found;
    }
  }
  return std::nullopt;
}

/// The forms e over the equation's indices with `k < e` among the constraints of the reduction, or with `k > e`
/// where it descends.
std::vector<poly::Affine> ends_of(const Reduce& reduce, std::size_t outer) {
  std::vector<poly::Affine> ends;
  for (const auto& conjunction : reduce.domain) {
    for (const auto& constraint : conjunction) {
      auto form = to_poly(constraint.form, outer + 1);
      const auto own = form.coefficients[outer];
      const auto bounding = reduce.descending ? 1 : -1;
      if (constraint.modulus != 0 || (own != bounding && !(constraint.equality && own == -bounding)))
        continue;
      form.coefficients.pop_back();
      if (own == 1) form = -1 * form;
      form.constant -= bounding;
      if (std::ranges::find(ends, form) == ends.end()) ends.push_back(std::move(form));
    }
  }
  return ends;
}

Constraint at_least(const poly::Affine& larger, const poly::Affine& smaller, std::int64_t by) {
  const auto difference = larger - smaller;
  return {{difference.coefficients, difference.constant - by}, false};
}

class BoundSplitter {
 public:
  explicit BoundSplitter(const System& system) : system_(system) {}

  System run() {
    const auto equations = std::move(system_.equations);
    system_.equations.clear();
    for (const auto& equation : equations) split(equation);
    return std::move(system_);
  }

 private:
  void split(Equation equation) {
    auto reduction = reduction_of(system_, equation.expr);
    if (!reduction) {
      system_.equations.push_back(std::move(equation));
      return;
    }
    const auto points = domain_of(context_, equation);
    if (const auto joined = in_fewer_pieces(*reduction, points)) {
      equation.expr = replace(equation.expr, *reduction, *joined);
      reduction = reduction_of(system_, equation.expr);
    }
    const auto& reduce = std::get<Reduce>(system_.at(*reduction).node);
    const auto ends = ends_of(reduce, equation.indices.size());
    if (ends.empty()) {
      equation.expr = replace(equation.expr, *reduction, with_end(reduce, points));
      system_.equations.push_back(std::move(equation));
      return;
    }
    const std::int64_t sign = reduce.descending ? -1 : 1;
    const bool has_first = std::ranges::any_of(ends, [&](const poly::Affine& end) {
      return std::ranges::all_of(
          ends, [&](const poly::Affine& other) { return points.satisfies({sign * (other - end), false}); });
    });
    if (has_first) {
      system_.equations.push_back(std::move(equation));
      return;
    }
    for (std::size_t first = 0; first < ends.size(); ++first) add_piece(equation, ends, first, sign);
  }

  /// The reduction with its terms at these points in fewer pieces, where that is possible: `j < i or j > i` of two points is
  /// `j = 1 - i`, with one end.
  [[nodiscard]] std::optional<Reduce> in_fewer_pieces(ExprId reduction, const poly::Set& points) const {
    auto reduce = std::get<Reduce>(system_.at(reduction).node);
    if (reduce.domain.size() < 2) return std::nullopt;
    auto joined = to_region(terms_of(reduce, points));
    if (!joined || joined->empty() || joined->size() >= reduce.domain.size()) return std::nullopt;
    reduce.domain = std::move(*joined);
    return reduce;
  }

  /// The points (i, k) of the terms.
  [[nodiscard]] poly::Set terms_of(const Reduce& reduce, const poly::Set& points) const {
    const auto outer = points.dimensions();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < outer; ++v) drop.push_back(poly::variable(outer + 1, v));
    return points.preimage(drop, outer + 1).intersect(to_set(context_, reduce.domain, outer + 1)).coalesce();
  }

  /// The part of an equation where one end is less than those before it and no more than those after it, or
  /// greater and no less where the sign is -1.
  void add_piece(const Equation& equation, const std::vector<poly::Affine>& ends, std::size_t first,
                 std::int64_t sign) {
    std::vector<Constraint> where;
    for (std::size_t other = 0; other < ends.size(); ++other) {
      if (other == first) continue;
      where.push_back(at_least(sign * ends[other], sign * ends[first], other < first ? 1 : 0));
    }
    Equation piece = equation;
    piece.domain = intersection(equation.domain, {where});
    const auto is_empty = [&](const std::vector<Constraint>& conjunction) {
      return to_set(context_, {conjunction}, equation.indices.size()).is_empty();
    };
    std::erase_if(piece.domain, is_empty);
    if (!piece.domain.empty()) system_.equations.push_back(std::move(piece));
  }

  /// The reduction with its last index as a bound.
  [[nodiscard]] Reduce with_end(const Reduce& reduce, const poly::Set& points) const {
    const auto outer = points.dimensions();
    const auto terms = terms_of(reduce, points);
    const auto last = (reduce.descending ? terms.minimum(outer) : terms.maximum(outer)).value_or(0);
    const std::int64_t sign = reduce.descending ? -1 : 1;
    Constraint bound{{std::vector<std::int64_t>(outer + 1, 0), sign * last}, false};
    bound.form.coefficients.back() = -sign;
    Reduce result = reduce;
    const Constraint never{{{}, -1}, false};
    result.domain = reduce.domain.empty() ? Region{{bound, never}} : intersection(reduce.domain, {{bound}});
    return result;
  }

  ExprId replace(ExprId id, ExprId old, const Reduce& by) {
    const Expr expr = system_.at(id);
    if (id == old) return add(by, expr.span);
    const auto* apply = std::get_if<Apply>(&expr.node);
    if (apply == nullptr) return id;
    Apply result = *apply;
    for (auto& operand : result.operands) operand = replace(operand, old, by);
    return result == *apply ? id : add(std::move(result), expr.span);
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  System system_;
  poly::Context context_;
};

}  // namespace

System split_bounds(const System& system) { return BoundSplitter(system).run(); }

}  // namespace cyclotron::recurrence
