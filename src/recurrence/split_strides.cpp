#include <cyclotron/recurrence/split_strides.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

constexpr std::size_t most_splits = 256;
/// Strides that are so many times larger are of splits that each need another, as of `y[2 * i]` which is made of `y[i]`.
constexpr std::int64_t most_growth = 8;

/// A loop, or a reduction in any order, to be replaced by one for each remainder.
struct Split {
  std::size_t variable = 0;
  std::int64_t modulus = 1;
};

std::int64_t stride_of(const Affine& subscript) {
  std::int64_t stride = 0;
  for (const auto coefficient : subscript.coefficients) stride = std::gcd(stride, coefficient);
  return stride;
}

/// The variable by whose remainders an access reads what a writer does or does not assign; none where that is one.
std::optional<Split> split_between(const Access& access, const Equation& writer) {
  for (std::size_t d = 0; d < writer.index.size(); ++d) {
    const auto stride = stride_of(writer.index[d]);
    if (stride <= 1) continue;
    const auto& read = access.index[d].coefficients;
    for (std::size_t v = 0; v < read.size(); ++v) {
      const auto modulus = stride / std::gcd(stride, read[v]);
      if (modulus > 1) return Split{v, modulus};
    }
  }
  return std::nullopt;
}

/// The remainders for which reductions have terms.
using Remainders = std::map<ExprId, std::vector<std::int64_t>>;

/// An expression with the variables of its scope replaced, and some reductions by one for each remainder, added to a system.
class Substitution {
 public:
  Substitution(System& system, std::vector<poly::Affine> values)
      : system_(system), values_(std::move(values)) {}
  Substitution(System& system, std::vector<poly::Affine> values, std::int64_t modulus, Remainders remainders)
      : Substitution(system, std::move(values)) {
    modulus_ = modulus;
    remainders_ = std::move(remainders);
  }

  ExprId operator()(ExprId id) {
    const auto known = copies_.find(id);
    if (known != copies_.end()) return known->second;
    const Expr expr = system_.at(id);
    auto node = std::visit(
        Overloaded{[&](const Constant& value) { return Node(value); },
                   [&](const Index& index) { return Node(Index{at(index.form), index.dtype}); },
                   [&](const Access& access) { return Node(Access{access.tensor, at(access.index)}); },
                   [&](const Apply& apply) {
                     Apply result{apply.op, apply.flags, {}};
                     for (const auto operand : apply.operands) result.operands.push_back((*this)(operand));
                     return Node(std::move(result));
                   },
                   [&](const Reduce& reduce) {
                     const auto parts = remainders_.find(id);
                     return parts == remainders_.end() ? Node(reduced(reduce, 1, 0))
                                                       : joined(reduce, parts->second, expr.span);
                   }},
        expr.node);
    system_.exprs.push_back({std::move(node), expr.span});
    return copies_[id] = ExprId(system_.exprs.size() - 1);
  }

  [[nodiscard]] std::vector<Affine> at(const std::vector<Affine>& forms) const {
    std::vector<Affine> result;
    for (const auto& form : forms) result.push_back(at(form));
    return result;
  }

 private:
  using Node = decltype(Expr::node);

  [[nodiscard]] Affine at(const Affine& form) const {
    const auto result = poly::substitute(to_poly(form, values_.size()), values_, values_.size());
    return {result.coefficients, result.constant};
  }

  /// Over the quotients of the reduction's variable that have one remainder.
  Reduce reduced(const Reduce& reduce, std::int64_t modulus, std::int64_t rest) {
    const auto outer = values_;
    const auto width = outer.size() + 1;
    for (auto& form : values_) form.coefficients.push_back(0);
    values_.push_back(modulus * poly::variable(width, width - 1) + poly::constant(width, rest));
    auto result = reduce;
    for (auto& conjunction : result.domain) {
      for (auto& constraint : conjunction) constraint.form = at(constraint.form);
    }
    result.body = (*this)(reduce.body);
    values_ = outer;
    return result;
  }

  Node joined(const Reduce& reduce, const std::vector<std::int64_t>& remainders, const Span& span) {
    const auto outside = copies_;
    std::optional<ExprId> result;
    for (const auto rest : remainders) {
      system_.exprs.push_back({reduced(reduce, modulus_, rest), span});
      const ExprId part(system_.exprs.size() - 1);
      copies_ = outside;  // those inside are of this remainder
      if (result) {
        system_.exprs.push_back({Apply{combining(reduce.kind), 0, {*result, part}}, span});
        result = ExprId(system_.exprs.size() - 1);
      } else {
        result = part;
      }
    }
    return system_.at(*result).node;
  }

  System& system_;
  std::vector<poly::Affine> values_;  ///< Of the variables in scope.
  std::int64_t modulus_ = 1;
  Remainders remainders_;
  std::map<ExprId, ExprId> copies_;
};

class Splitter {
 public:
  explicit Splitter(const System& system) : system_(system) {}

  /// None where there is nothing to split, or too much.
  std::optional<System> run() {
    std::size_t splits = 0;
    const auto most = most_growth * largest_stride();
    for (std::size_t e = 0; e < system_.equations.size(); ++e) {
      const auto split = split_of(system_.equations[e]);
      if (!split) continue;
      const auto& equation = system_.equations[e];
      const bool of_loop = split->variable < equation.indices.size();
      if (!of_loop && !replace_reductions(e, *split)) {
        left_.emplace(equation.expr, split->variable);
        --e;
        continue;
      }
      if (++splits > most_splits || (of_loop && !replace(e, *split)) || largest_stride() > most)
        return std::nullopt;
      e = static_cast<std::size_t>(-1);  // its parts are of another stride to all that read them
    }
    return splits == 0 ? std::nullopt : std::optional(std::move(system_));
  }

 private:
  [[nodiscard]] std::int64_t largest_stride() const {
    std::int64_t result = 1;
    for (const auto& equation : system_.equations) {
      for (const auto& form : equation.index) {
        for (const auto coefficient : form.coefficients) result = std::max(result, std::abs(coefficient));
      }
    }
    return result;
  }

  [[nodiscard]] std::optional<Split> split_of(const Equation& equation) const {
    std::optional<Split> result;
    const auto visit = [&](ExprId id, const Scope& scope) {
      const auto* access = std::get_if<Access>(&system_.at(id).node);
      for (const auto& writer : system_.equations) {
        if (result || access == nullptr || writer.target != access->tensor) continue;
        const auto split = split_between(*access, writer);
        const bool is_left = split && left_.contains({equation.expr, split->variable});
        if (split && !is_left && !is_affine(*access, scope, writer)) result = split;
      }
    };
    for_each_expr(system_, equation, domain_of(context_, equation), visit);
    return result;
  }

  /// True where the points at which the writer made what is read are an affine function of those that read it.
  [[nodiscard]] bool is_affine(const Access& access, const Scope& scope, const Equation& writer) const {
    const auto read = poly::Map::function(scope.points, to_poly(access.index, scope.names.size()));
    const auto written =
        poly::Map::function(domain_of(context_, writer), to_poly(writer.index, writer.indices.size()));
    const auto made_at = read.then(written.reverse());
    return made_at.is_empty() || made_at.pieces().has_value();
  }

  /// Puts the parts of an equation in its place; false where the points of one are no plain conjunctions.
  bool replace(std::size_t e, const Split& split) {
    const auto equation = system_.equations[e];
    const auto loops = equation.indices.size();
    const auto domain = domain_of(context_, equation);
    std::vector<Equation> parts;
    for (std::int64_t rest = 0; rest < split.modulus; ++rest) {
      std::vector<poly::Affine> values;
      for (std::size_t v = 0; v < loops; ++v) values.push_back(poly::variable(loops, v));
      values[split.variable] = split.modulus * values[split.variable] + poly::constant(loops, rest);
      const auto points = domain.preimage(values, loops).coalesce();
      if (points.is_empty()) continue;
      auto region = to_region(points);
      if (!region) return false;
      Substitution substituted(system_, std::move(values));
      parts.push_back({equation.target, substituted.at(equation.index), equation.indices, std::move(*region),
                       substituted(equation.expr), equation.span});
    }
    const auto place = system_.equations.begin() + static_cast<std::ptrdiff_t>(e);
    system_.equations.insert(system_.equations.erase(place), parts.begin(), parts.end());
    return true;
  }

  /// The same of an equation's reductions that may be computed in any order; false where there are none.
  bool replace_reductions(std::size_t e, const Split& split) {
    const auto equation = system_.equations[e];
    Remainders remainders;
    for_each_expr(system_, equation, domain_of(context_, equation), [&](ExprId id, const Scope& scope) {
      const auto* reduce = std::get_if<Reduce>(&system_.at(id).node);
      if (reduce == nullptr || scope.points.dimensions() != split.variable || !is_in_any_order(*reduce))
        return;
      if (auto found = remainders_of(*reduce, scope.points, split.modulus))
        remainders[id] = std::move(*found);
    });
    if (remainders.empty()) return false;
    std::vector<poly::Affine> values;
    for (std::size_t v = 0; v < equation.indices.size(); ++v)
      values.push_back(poly::variable(equation.indices.size(), v));
    const auto expr =
        Substitution(system_, std::move(values), split.modulus, std::move(remainders))(equation.expr);
    system_.equations[e].expr = expr;
    return true;
  }

  [[nodiscard]] bool is_in_any_order(const Reduce& reduce) const {
    const auto dtype = dtype_of(system_, reduce.body);
    return reduce.any_order || (dtype && !operators::is_floating(*dtype));
  }

  /// Those that a reduction has terms of: at each of some points, or at none.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> remainders_of(const Reduce& reduce,
                                                                       const poly::Set& around,
                                                                       std::int64_t modulus) const {
    const auto outer = around.dimensions();
    std::vector<poly::Affine> forms;
    for (std::size_t v = 0; v < outer; ++v) forms.push_back(poly::variable(outer + 1, v));
    const auto terms =
        around.preimage(forms, outer + 1).intersect(to_set(context_, reduce.domain, outer + 1));
    std::vector<std::size_t> keep(outer);
    std::iota(keep.begin(), keep.end(), std::size_t{0});
    std::vector<std::int64_t> result;
    for (std::int64_t rest = 0; rest < modulus; ++rest) {
      auto values = forms;
      values.push_back(modulus * poly::variable(outer + 1, outer) + poly::constant(outer + 1, rest));
      const auto present = terms.preimage(values, outer + 1).project(keep);
      if (present.is_empty()) continue;
      if (!around.is_subset(present)) return std::nullopt;
      result.push_back(rest);
    }
    return result.empty() ? std::nullopt : std::optional(std::move(result));
  }

  System system_;
  poly::Context context_;
  std::set<std::pair<ExprId, std::size_t>> left_;  ///< Expressions with reductions that stay as they are.
};

}  // namespace

System split_strides(const System& system) {
  const auto is_strided = [](const Equation& equation) {
    return std::ranges::any_of(equation.index, [](const Affine& form) { return stride_of(form) > 1; });
  };
  if (std::ranges::none_of(system.equations, is_strided)) return system;
  return Splitter(system).run().value_or(system);
}

}  // namespace cyclotron::recurrence
