#include "statements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence::detail {

namespace {

/// Spells each equation as statements, reductions from the outside in.
class Spelling {
 public:
  Spelling(const System& system, const poly::Context& context) : system_(system), context_(context) {}

  Statements run() {
    for (const auto& equation : system_.equations) spell(equation);
    return std::move(statements_);
  }

 private:
  using Reads = std::vector<Touch>;

  void spell(const Equation& equation) {
    const auto rank = equation.indices.size();
    const Scope scope{equation.indices, domain_of(context_, equation)};
    const Touch target{system_.at(equation.target).name, to_poly(equation.index, rank), equation.target,
                       std::nullopt, equation.span};
    const auto* reduce = std::get_if<Reduce>(&system_.at(equation.expr).node);
    if (reduce != nullptr) {
      spell_reduction(equation.expr, *reduce, scope, target);
      return;
    }
    const bool one = reductions_of(equation.expr) == 1;
    auto reads = collect(equation.expr, scope, one ? std::optional(target) : std::nullopt, target.cell);
    statements_.instances.push_back(
        {StatementKind::assign, scope.names, scope.points, target, std::move(reads), equation.span});
    if (one) statements_.chains.back().assign = statements_.instances.size() - 1;
  }

  /// Outermost reductions of an expression.
  [[nodiscard]] std::size_t reductions_of(ExprId id) const {
    const auto& node = system_.at(id).node;
    if (std::holds_alternative<Reduce>(node)) return 1;
    std::size_t count = 0;
    if (const auto* apply = std::get_if<Apply>(&node)) {
      for (const auto operand : apply->operands) count += reductions_of(operand);
    }
    return count;
  }

  /// The reads of an expression; adds the statements of the reductions in it. `cell` is where its only reduction
  /// accumulates; others have cells of their own, named after `base`.
  Reads collect(ExprId id, const Scope& scope, const std::optional<Touch>& cell, const std::string& base) {
    const auto& expr = system_.at(id);
    Reads reads;
    std::visit(
        Overloaded{[](const Constant&) {}, [](const Index&) {},
                   [&](const Access& access) {
                     reads.push_back({system_.at(access.tensor).name,
                                      to_poly(access.index, scope.names.size()), access.tensor, std::nullopt,
                                      expr.span});
                   },
                   [&](const Apply& apply) {
                     const bool onward = (apply.flags & operators::onward) != 0 &&
                                         std::holds_alternative<Reduce>(system_.at(apply.operands[1]).node);
                     for (const auto operand : apply.operands) {
                       auto more = collect(operand, scope, cell, base);
                       if (onward && operand == apply.operands[0]) {
                         onset_ = std::move(more);
                       } else {
                         reads.insert(reads.end(), more.begin(), more.end());
                       }
                     }
                   },
                   [&](const Reduce& reduce) {
                     const auto rank = scope.names.size();
                     auto own = cell ? *cell
                                     : Touch{new_cell(fmt::format("{}_{}", base, reduce.index)),
                                             leading(rank, rank), std::nullopt, std::nullopt, expr.span};
                     own.span = expr.span;
                     own.total = spell_reduction(id, reduce, scope, own);
                     reads.push_back(own);
                   }},
        expr.node);
    // An element that is read twice is one access.
    Reads unique;
    for (auto& read : reads) {
      const auto same = [&](const Touch& other) {
        return other.cell == read.cell && other.index == read.index;
      };
      if (std::ranges::none_of(unique, same)) unique.push_back(std::move(read));
    }
    return unique;
  }

  /// A name that no tensor and no other reduction has.
  std::string new_cell(const std::string& base) {
    const auto taken = [&](const std::string& text) {
      return std::ranges::find(cells_, text) != cells_.end() ||
             std::ranges::any_of(system_.tensors, [&](const Tensor& tensor) { return tensor.name == text; });
    };
    auto text = base;
    for (int n = 2; taken(text); ++n) text = fmt::format("{}_{}", base, n);
    cells_.push_back(text);
    return text;
  }

  /// Adds start, the statements inside, and accumulate. Returns the number of the chain.
  std::size_t spell_reduction(ExprId id, const Reduce& reduce, const Scope& scope, const Touch& cell) {
    const auto outer = scope.names.size();
    const auto start = statements_.instances.size();
    const auto& span = system_.at(id).span;
    statements_.instances.push_back(
        {StatementKind::start, scope.names, scope.points, cell, std::exchange(onset_, {}), span});
    Scope inner{scope.names, scope.points.preimage(leading(outer + 1, outer), outer + 1)
                                 .intersect(to_set(context_, reduce.domain, outer + 1))};
    inner.names.push_back(reduce.index);
    auto reads = collect(reduce.body, inner, std::nullopt, cell.cell);
    Touch grown = cell;
    for (auto& form : grown.index) form.coefficients.push_back(0);
    statements_.instances.push_back(
        {StatementKind::accumulate, inner.names, inner.points, std::move(grown), std::move(reads), span});
    statements_.chains.push_back(
        {start, statements_.instances.size() - 1, std::nullopt, outer, reduce.descending});
    return statements_.chains.size() - 1;
  }

  const System& system_;
  const poly::Context& context_;
  Statements statements_;
  std::vector<std::string> cells_;
  Reads onset_;  ///< Of the value that the reduction at hand goes on from.
};

}  // namespace

std::vector<poly::Affine> leading(std::size_t rank, std::size_t count) {
  std::vector<poly::Affine> forms;
  for (std::size_t v = 0; v < count; ++v) forms.push_back(poly::variable(rank, v));
  return forms;
}

Statements statements(const System& system, const poly::Context& context) {
  return Spelling(system, context).run();
}

poly::Map next_term(const Statements& statements, const Chain& chain) {
  const auto& terms = statements.instances[chain.accumulate].domain;
  const auto rank = chain.outer + 1;
  std::vector<poly::Constraint> all;
  for (std::size_t v = 0; v < chain.outer; ++v)
    all.push_back({poly::variable(2 * rank, rank + v) - poly::variable(2 * rank, v), true});
  auto later = poly::variable(2 * rank, 2 * rank - 1) - poly::variable(2 * rank, chain.outer);
  if (chain.descending) later = -1 * later;
  later.constant = -1;
  all.push_back({later, false});
  const auto further = poly::Map::from_pairs(poly::Set::where(terms.context(), 2 * rank, all), rank)
                           .restrict_domain(terms)
                           .restrict_range(terms);
  return chain.descending ? further.lexmax() : further.lexmin();
}

std::vector<Writer> totals(const Statements& statements, const Chain& chain) {
  const auto& terms = statements.instances[chain.accumulate].domain;
  const auto& start = statements.instances[chain.start].domain;
  std::vector<Writer> result;
  const auto last = terms.subtract(next_term(statements, chain).domain()).coalesce();
  if (!last.is_empty()) result.push_back({chain.accumulate, last});
  const auto without = start.subtract(terms.image(leading(chain.outer + 1, chain.outer))).coalesce();
  if (!without.is_empty()) result.push_back({chain.start, without});
  return result;
}

}  // namespace cyclotron::recurrence::detail
