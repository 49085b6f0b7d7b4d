#include <cyclotron/recurrence/split_strides.hpp>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <numeric>
#include <optional>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

constexpr std::size_t most_splits = 16;

/// A loop to be replaced by one for each remainder.
struct Split {
  std::size_t loop = 0;
  std::int64_t modulus = 1;
};

std::int64_t stride_of(const Affine& subscript) {
  std::int64_t stride = 0;
  for (const auto coefficient : subscript.coefficients) stride = std::gcd(stride, coefficient);
  return stride;
}

/// The loop by whose remainders an access reads what a writer does or does not assign; none where that is one.
std::optional<Split> split_between(const Access& access, const Equation& writer, std::size_t loops) {
  for (std::size_t d = 0; d < writer.index.size(); ++d) {
    const auto stride = stride_of(writer.index[d]);
    if (stride <= 1) continue;
    const auto& read = access.index[d].coefficients;
    for (std::size_t v = 0; v < std::min(loops, read.size()); ++v) {
      const auto modulus = stride / std::gcd(stride, read[v]);
      if (modulus > 1) return Split{v, modulus};
    }
  }
  return std::nullopt;
}

/// An expression with the variables of its scope replaced, added to a system.
class Substitution {
 public:
  Substitution(System& system, std::vector<poly::Affine> values)
      : system_(system), values_(std::move(values)) {}

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
                   [&](const Reduce& reduce) { return Node(reduced(reduce)); }},
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

  Reduce reduced(const Reduce& reduce) {
    const auto outer = values_;
    for (auto& form : values_) form.coefficients.push_back(0);
    values_.push_back(poly::variable(outer.size() + 1, outer.size()));
    auto result = reduce;
    for (auto& conjunction : result.domain) {
      for (auto& constraint : conjunction) constraint.form = at(constraint.form);
    }
    result.body = (*this)(reduce.body);
    values_ = outer;
    return result;
  }

  System& system_;
  std::vector<poly::Affine> values_;  ///< Of the variables in scope.
  std::map<ExprId, ExprId> copies_;
};

class Splitter {
 public:
  explicit Splitter(const System& system) : system_(system) {}

  /// None where there is nothing to split, or too much.
  std::optional<System> run() {
    std::size_t splits = 0;
    for (std::size_t e = 0; e < system_.equations.size(); ++e) {
      const auto split = split_of(system_.equations[e]);
      if (!split) continue;
      if (++splits > most_splits || !replace(e, *split)) return std::nullopt;
      e = static_cast<std::size_t>(-1);  // its parts are of another stride to all that read them
    }
    return splits == 0 ? std::nullopt : std::optional(std::move(system_));
  }

 private:
  [[nodiscard]] std::optional<Split> split_of(const Equation& equation) const {
    std::optional<Split> result;
    const auto visit = [&](ExprId id, const Scope& scope) {
      const auto* access = std::get_if<Access>(&system_.at(id).node);
      for (const auto& writer : system_.equations) {
        if (result || access == nullptr || writer.target != access->tensor) continue;
        const auto split = split_between(*access, writer, equation.indices.size());
        if (split && !is_affine(*access, scope, writer)) result = split;
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
      values[split.loop] = split.modulus * values[split.loop] + poly::constant(loops, rest);
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

  System system_;
  poly::Context context_;
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
