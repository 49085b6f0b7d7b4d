#include <cyclotron/recurrence/reduce_inwards.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include <cyclotron/recurrence/reduced_indices.hpp>

namespace cyclotron::recurrence {

namespace {

/// Halves the reductions over one index.
class Halver {
 public:
  Halver(const System& system, const std::string& index) : system_(system), index_(index) {}

  System run() {
    require_reduction(system_, index_, fmt::format("the schedule reduces inwards over `{}`", index_));
    find_middle();
    for (auto& equation : system_.equations) {
      sides_.clear();
      rewritten_.clear();
      find_sides(equation);
      equation.expr = rewrite(equation.expr, equation.indices.size());
    }
    return std::move(system_);
  }

 private:
  /// On which sides of the middle a reduction has terms; where it has both, at each of its points or not.
  struct Sides {
    bool lower = false, upper = false, everywhere = true;
  };

  /// The points of the terms of each reduction over the index.
  template <typename Visit>
  void for_each_reduction(const Equation& equation, const Visit& visit) const {
    for_each_expr(system_, equation, domain_of(context_, equation), [&](ExprId id, const Scope& scope) {
      const auto* reduce = std::get_if<Reduce>(&system_.at(id).node);
      if (reduce == nullptr || reduce->index != index_) return;
      const auto outer = scope.points.dimensions();
      std::vector<poly::Affine> drop;
      for (std::size_t v = 0; v < outer; ++v) drop.push_back(poly::variable(outer + 1, v));
      visit(id, scope.points,
            scope.points.preimage(drop, outer + 1).intersect(to_set(context_, reduce->domain, outer + 1)));
    });
  }

  void find_middle() {
    std::optional<std::int64_t> first, last;
    for (const auto& equation : system_.equations) {
      for_each_reduction(equation, [&](ExprId, const poly::Set& around, const poly::Set& terms) {
        const auto low = terms.minimum(around.dimensions()), high = terms.maximum(around.dimensions());
        if (!low || !high) return;
        first = std::min(first.value_or(*low), *low);
        last = std::max(last.value_or(*high), *high);
      });
    }
    const auto low = first.value_or(0), high = last.value_or(0);
    middle_ = low + (high - low) / 2;
  }

  void find_sides(const Equation& equation) {
    for_each_reduction(equation, [&](ExprId id, const poly::Set& around, const poly::Set& terms) {
      const auto outer = around.dimensions();
      std::vector<std::size_t> keep;
      for (std::size_t v = 0; v < outer; ++v) keep.push_back(v);
      const auto present = [&](bool descending) {
        return terms.intersect({to_poly(side(outer, descending).form, outer + 1), false}).project(keep);
      };
      const auto lower = present(false), upper = present(true);
      auto& sides = sides_[id];
      sides.lower = sides.lower || !lower.is_empty();
      sides.upper = sides.upper || !upper.is_empty();
      sides.everywhere = sides.everywhere && around.is_subset(lower) && around.is_subset(upper);
    });
  }

  /// The expression in a scope of that many variables; a value used twice stays one value.
  ExprId rewrite(ExprId id, std::size_t scope) {
    if (const auto known = rewritten_.find({id, scope}); known != rewritten_.end()) return known->second;
    const Expr expr = system_.at(id);
    const auto result =
        std::visit(Overloaded{[&](const Constant&) { return id; }, [&](const Index&) { return id; },
                              [&](const Access&) { return id; },
                              [&](const Apply& apply) {
                                Apply changed = apply;
                                for (auto& operand : changed.operands) operand = rewrite(operand, scope);
                                return changed == apply ? id : add(std::move(changed), expr.span);
                              },
                              [&](const Reduce& reduce) {
                                Reduce changed = reduce;
                                changed.body = rewrite(reduce.body, scope + 1);
                                const auto sides = reduce.index == index_ ? sides_[id] : Sides{};
                                if (sides.lower && sides.upper) return both(changed, sides, scope, expr.span);
                                changed.descending = reduce.descending || sides.upper;
                                return changed == reduce ? id : add(std::move(changed), expr.span);
                              }},
                   expr.node);
    rewritten_.emplace(std::pair{id, scope}, result);
    return result;
  }

  ExprId both(const Reduce& reduce, const Sides& sides, std::size_t scope, const Span& span) {
    if (!has_neutral(reduce.kind) && !sides.everywhere) refuse_extremum(span);
    std::vector<ExprId> halves;
    for (const bool descending : {false, true}) {
      Reduce half = reduce;
      half.domain = intersection(reduce.domain, {{side(scope, descending)}});
      half.descending = descending;
      halves.push_back(add(std::move(half), span));
    }
    return add(Apply{combining(reduce.kind), 0, std::move(halves)}, span);
  }

  /// k <= middle, or k > middle, with k the variable after those of the scope.
  [[nodiscard]] Constraint side(std::size_t scope, bool descending) const {
    Affine form{std::vector<std::int64_t>(scope + 1, 0), descending ? -middle_ - 1 : middle_};
    form.coefficients.back() = descending ? 1 : -1;
    return {std::move(form), false};
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  [[noreturn]] void refuse_extremum(const Span& span) const {
    throw ScheduleError(
        {.code = "CYC318",
         .span = span,
         .message =
             fmt::format("the schedule reduces inwards over `{}`, but this maximum or minimum has terms on "
                         "both sides of {} = {} at some points only",
                         index_, index_, middle_),
         .notes = {},
         .help = "reduce a maximum or minimum inwards over a range that is the same everywhere"});
  }

  System system_;
  const std::string& index_;
  poly::Context context_;
  std::int64_t middle_ = 0;
  std::map<ExprId, Sides> sides_;
  std::map<std::pair<ExprId, std::size_t>, ExprId> rewritten_;  ///< By expression and variables in its scope.
};

}  // namespace

System reduce_inwards(const System& system, const std::vector<std::string>& indices) {
  System result = system;
  for (const auto& index : indices) result = Halver(result, index).run();
  return result;
}

std::vector<std::string> indices_in_any_order(const System& system) {
  std::set<std::string> ordered;
  for (const auto& expr : system.exprs) {
    const auto* reduce = std::get_if<Reduce>(&expr.node);
    if (reduce == nullptr || reduce->any_order) continue;
    const auto dtype = dtype_of(system, reduce->body);
    if (!dtype || operators::is_floating(*dtype)) ordered.insert(reduce->index);
  }
  auto result = reduced_indices(system);
  std::erase_if(result, [&](const std::string& index) { return ordered.contains(index); });
  return result;
}

}  // namespace cyclotron::recurrence
