#include <cyclotron/recurrence/reassociate.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include <cyclotron/recurrence/reduced_indices.hpp>
#include "variable_map.hpp"

namespace cyclotron::recurrence {

namespace {

/// The points of a reduction's terms: those around it, with its index appended.
poly::Set terms_of(const poly::Set& around, const Reduce& reduce) {
  const auto outer = around.dimensions();
  std::vector<poly::Affine> drop;
  for (std::size_t v = 0; v < outer; ++v) drop.push_back(poly::variable(outer + 1, v));
  return around.preimage(drop, outer + 1).intersect(to_set(around.context(), reduce.domain, outer + 1));
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

/// Of one reassociation.
class Reassociator {
 public:
  Reassociator(const System& system, const Reassociation& wanted) : system_(system), wanted_(wanted) {}

  System run() {
    check();
    find_blocks();
    for (auto& equation : system_.equations) {
      known_.clear();
      Surroundings scope{domain_of(context_, equation), {}, equation.indices.size(), {}};
      for (std::size_t v = 0; v < equation.indices.size(); ++v) scope.variables.push_back(v);
      equation.expr = rewrite(equation.expr, scope);
    }
    return std::move(system_);
  }

 private:
  /// The points around an expression as it was, and where its variables are in the scope that it gets.
  struct Surroundings {
    poly::Set points;
    std::vector<std::size_t> variables;
    std::size_t size = 0;  ///< Variables of the new scope.
    std::vector<ExprId> reductions;
  };

  /// Names that a new index must not have.
  [[nodiscard]] std::vector<std::string> taken_names() const {
    std::vector<std::string> result;
    for (const auto& tensor : system_.tensors) add_once(result, tensor.name);
    for (const auto& equation : system_.equations) {
      for (const auto& name : equation.indices) add_once(result, name);
      for_each_reduction(equation,
                         [&](const Reduce& reduce, const poly::Set&) { add_once(result, reduce.index); });
    }
    return result;
  }

  template <typename Visit>
  void for_each_reduction(const Equation& equation, const Visit& visit) const {
    const auto found = [&](ExprId id, const Scope& scope) {
      if (const auto* reduce = std::get_if<Reduce>(&system_.at(id).node)) visit(*reduce, scope.points);
    };
    for_each_expr(system_, equation, domain_of(context_, equation), found);
  }

  void check() const {
    const auto& [index, parts, into] = wanted_;
    require_reduction(system_, index, fmt::format("the schedule reassociates `{}`", index));
    const auto taken = taken_names();
    if (std::ranges::find(taken, into) != taken.end()) {
      refuse({}, fmt::format("`{}` into `{}`, a name that the kernel has already", index, into),
             fmt::format("choose a new one; it has: {}", fmt::join(taken, ", ")));
    }
    if (parts < 1)
      refuse({}, fmt::format("`{}` into {} parts", index, parts), "give a number of parts of at least 1");
  }

  [[noreturn]] static void refuse(const Span& span, const std::string& what, std::string help) {
    throw ScheduleError({.code = "CYC318",
                         .span = span,
                         .message = "the schedule reassociates " + what,
                         .notes = {},
                         .help = std::move(help)});
  }

  /// Those of all values of the index in the system.
  void find_blocks() {
    std::optional<std::int64_t> first, last;
    for (const auto& equation : system_.equations) {
      for_each_reduction(equation, [&](const Reduce& reduce, const poly::Set& around) {
        if (reduce.index != wanted_.index) return;
        const auto terms = terms_of(around, reduce);
        const auto low = terms.minimum(around.dimensions()), high = terms.maximum(around.dimensions());
        if (!low || !high) return;
        first = std::min(first.value_or(*low), *low);
        last = std::max(last.value_or(*high), *high);
      });
    }
    blocks_ = blocks_of(first.value_or(0), last.value_or(-1), wanted_.parts);
  }

  /// The expression in the new scope; one for equal scopes, so that a value used twice stays one value.
  ExprId rewrite(ExprId id, const Surroundings& scope) {
    auto key = scope.reductions;
    key.push_back(id);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
    const Expr expr = system_.at(id);
    const auto result = std::visit(
        Overloaded{[&](const Constant&) { return id; },
                   [&](const Index& index) {
                     Index moved{map_variables(index.form, scope.variables), index.dtype};
                     return moved == index ? id : add(std::move(moved), expr.span);
                   },
                   [&](const Access& access) {
                     Access moved = access;
                     for (auto& form : moved.index) form = map_variables(form, scope.variables);
                     return moved == access ? id : add(std::move(moved), expr.span);
                   },
                   [&](const Apply& apply) {
                     Apply moved = apply;
                     for (auto& operand : moved.operands) operand = rewrite(operand, scope);
                     return moved == apply ? id : add(std::move(moved), expr.span);
                   },
                   [&](const Reduce& reduce) { return rewrite_reduction(id, reduce, scope, expr.span); }},
        expr.node);
    known_.emplace(std::move(key), result);
    return result;
  }

  ExprId rewrite_reduction(ExprId id, const Reduce& reduce, const Surroundings& scope, const Span& span) {
    const bool split = reduce.index == wanted_.index;
    Surroundings inner{terms_of(scope.points, reduce), scope.variables, scope.size + (split ? 2 : 1),
                       scope.reductions};
    inner.variables.push_back(inner.size - 1);
    inner.reductions.push_back(id);
    Reduce moved{reduce.kind, reduce.index, map_variables(reduce.domain, inner.variables),
                 rewrite(reduce.body, inner), reduce.descending};
    if (!split) return moved == reduce ? id : add(std::move(moved), span);
    // The bounds as written come first: where they end a block early, its total is in place by then.
    moved.domain = intersection(moved.domain, {in_block(scope.size, inner.size)});
    Reduce over_blocks{reduce.kind, wanted_.into, blocks_with_terms(reduce, scope, inner.points, span), {}};
    over_blocks.body = add(std::move(moved), span);
    return add(std::move(over_blocks), span);
  }

  /// first + length * l <= k < first + length * (l + 1), with l at `block` and k the last variable.
  [[nodiscard]] std::vector<Constraint> in_block(std::size_t block, std::size_t variables) const {
    Affine above{std::vector<std::int64_t>(variables, 0), -blocks_.first};
    above.coefficients[block] = -blocks_.length;
    above.coefficients.back() = 1;
    Affine below = above;
    for (auto& coefficient : below.coefficients) coefficient = -coefficient;
    below.constant = blocks_.first + blocks_.length - 1;
    return {{std::move(above), false}, {std::move(below), false}};
  }

  /// The values of the new index, over the new scope with it appended.
  Region blocks_with_terms(const Reduce& reduce, const Surroundings& scope, const poly::Set& terms,
                           const Span& span) const {
    const auto outer = scope.points.dimensions();
    std::vector<poly::Affine> rest;
    std::vector<std::size_t> keep;
    for (std::size_t v = 0; v < outer + 2; ++v) {
      if (v != outer) rest.push_back(poly::variable(outer + 2, v));
      if (v != outer + 1) keep.push_back(v);
    }
    const auto pairs =
        terms.preimage(rest, outer + 2).intersect(to_set(context_, {in_block(outer, outer + 2)}, outer + 2));
    const auto present = pairs.project(keep);
    const auto low = present.minimum(outer).value_or(0), high = present.maximum(outer).value_or(0);
    Affine from{std::vector<std::int64_t>(scope.size + 1, 0), -low}, to = from;
    from.coefficients.back() = 1;
    to.coefficients.back() = -1;
    to.constant = high;
    Region box{{{from, false}, {to, false}}};
    if (has_neutral(reduce.kind) || present.is_empty()) return box;
    rest.pop_back();
    for (auto& form : rest) form.coefficients.pop_back();
    const auto all = scope.points.preimage(rest, outer + 1);
    const auto number = poly::variable(outer + 1, outer);
    const auto boxed = all.intersect({number - poly::constant(outer + 1, low), false})
                           .intersect({poly::constant(outer + 1, high) - number, false});
    if (boxed.is_subset(present)) return box;
    const auto exact = to_region(present.gist(boxed).coalesce());
    // The total is found at its last block, which has to be an affine one.
    if (!exact || !poly::Map::from_pairs(present, outer).lexmax().pieces()) {
      refuse(
          span,
          fmt::format("`{}`, but the blocks of its maximum or minimum that have terms end at no affine form",
                      wanted_.index),
          "reassociate a maximum or minimum over a range that ends at the same value everywhere");
    }
    auto variables = scope.variables;
    variables.push_back(scope.size);
    return intersection(box, map_variables(*exact, variables));
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  System system_;
  const Reassociation& wanted_;
  poly::Context context_;
  Blocks blocks_;
  std::map<std::vector<ExprId>, ExprId> known_;  ///< By the reductions around and the expression.
};

}  // namespace

Blocks blocks_of(std::int64_t first, std::int64_t last, std::int64_t parts) {
  if (last < first) return {first, 1, 1};
  const auto values = last - first + 1;
  const auto most = std::min(parts, values);
  const auto length = (values + most - 1) / most;
  return {first, length, (values + length - 1) / length};
}

System reassociate(const System& system, std::vector<Reassociation> reassociations) {
  System result = system;
  while (!reassociations.empty()) {
    // One that splits the blocks of another comes after it.
    const auto next = std::ranges::find_if(reassociations, [&](const Reassociation& item) {
      return std::ranges::none_of(reassociations,
                                  [&](const Reassociation& other) { return other.into == item.index; });
    });
    const auto chosen = next == reassociations.end() ? reassociations.begin() : next;
    result = Reassociator(result, *chosen).run();
    reassociations.erase(chosen);
  }
  return result;
}

}  // namespace cyclotron::recurrence
