#include <cyclotron/recurrence/pass_edge.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence {

namespace {

/// Elements of a tensor that an equation computes or reads, by the indices in scope.
struct Use {
  std::vector<std::string> names;
  std::vector<poly::Affine> index;
  Span span;
  bool is_one_of_several = false;  ///< Other subscripts read them too.
};

/// The only variable of a form, which has the factor 1.
std::optional<std::size_t> variable_of(const poly::Affine& form) {
  std::optional<std::size_t> result;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (result || form.coefficients[v] != 1) return std::nullopt;
    result = v;
  }
  return result;
}

class EdgePasser {
 public:
  EdgePasser(const System& system, const Edge& edge) : system_(system), result_(system), edge_(edge) {
    for (const auto& equation : system_.equations) visit(equation);
  }

  std::optional<System> run(const std::set<std::string>& tensors) {
    if (!at_) return std::nullopt;
    std::vector<Equation> first;  // inputs, before all else
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      const auto& tensor = system_.tensors[t];
      if (!tensors.contains(tensor.name)) continue;
      if (!copy(TensorId(t), tensor.role == Role::input,
                tensor.role == Role::input ? first : result_.equations))
        return std::nullopt;
    }
    result_.equations.insert(result_.equations.begin(), first.begin(), first.end());
    return std::move(result_);
  }

 private:
  /// Notes the values of the edge's index, and of the number of a statement that begins every nest, and all names.
  void visit(const Equation& equation) {
    const auto points = domain_of(context_, equation);
    for_each_expr(system_, equation, points, [&](ExprId, const Scope& scope) {
      for (std::size_t v = 0; v < scope.names.size(); ++v) {
        names_.insert(scope.names[v]);
        if (scope.names[v] == edge_.index)
          widen(at_, edge_.last, edge_.last ? scope.points.maximum(v) : scope.points.minimum(v));
      }
    });
    const auto number = equation.indices.empty() ? std::nullopt : points.minimum(0);
    const bool is_numbered = number && equation.indices.front() == statement && points.maximum(0) == number;
    are_numbered_ = are_numbered_ && is_numbered;
    widen(first_statement_, false, number);
    widen(last_statement_, true, number);
  }

  static void widen(std::optional<std::int64_t>& bound, bool upwards, std::optional<std::int64_t> value) {
    if (value && (!bound || (upwards ? *value > *bound : *value < *bound))) bound = value;
  }

  /// Copies a tensor's elements at the edge: what else there is then has them in another tensor. Inputs that are read in
  /// several ways are copied once more, at the place of one of them, from where others may have them.
  bool copy(TensorId tensor, bool comes_in, std::vector<Equation>& equations) {
    const auto [use, elements] = comes_in ? reads(tensor) : writes(tensor);
    if (elements.is_empty()) return false;
    const auto inside = moved(tensor);
    const auto first = first_statement_.value_or(0), last = last_statement_.value_or(0);
    if (!comes_in) return add(use, elements, {inside, tensor}, nest(use, "out"), last + 2, equations);
    if (!use.is_one_of_several)
      return add(use, elements, {tensor, inside}, nest(use, "in"), first - 2, equations);
    const auto between = named_like(inside);
    return add(use, elements, {tensor, between}, nest(use, "in"), first - 4, equations) &&
           add(use, elements, {between, inside}, nest(use, ""), first - 2, equations);
  }

  struct Nest {
    std::vector<std::string> indices;
    std::vector<std::size_t> axes;  ///< Those that the subscripts are.
    bool is_at_edge = true;
  };

  /// Adds an equation that copies elements; false where these are no region.
  bool add(const Use& use, const poly::Set& elements, std::pair<TensorId, TensorId> from_to, Nest nest,
           std::int64_t number, std::vector<Equation>& equations) {
    const auto count = nest.indices.size();
    std::vector<poly::Affine> forms;
    Access access{from_to.first, {}};
    for (std::size_t a = 0; a < nest.axes.size(); ++a) {
      const auto offset = variable_of(use.index[a]) ? use.index[a].constant : 0;
      forms.push_back(poly::variable(count, nest.axes[a]) + poly::constant(count, offset));
      access.index.push_back({forms.back().coefficients, offset});
    }
    const auto fixed = [&](const std::string& name, std::int64_t value) -> poly::Constraint {
      const auto v = static_cast<std::size_t>(std::ranges::find(nest.indices, name) - nest.indices.begin());
      return {poly::variable(count, v) - poly::constant(count, value), true};
    };
    auto points = elements.preimage(forms, count);
    if (nest.is_at_edge) points = points.intersect(fixed(edge_.index, *at_));
    if (are_numbered_) points = points.intersect(fixed(statement, number));
    const auto domain = to_region(points.coalesce());
    if (!domain) return false;
    Equation equation{from_to.second, access.index, std::move(nest.indices), *domain, {}, use.span};
    result_.exprs.push_back({std::move(access), use.span});
    equation.expr = ExprId(result_.exprs.size() - 1);
    equations.push_back(std::move(equation));
    return true;
  }

  [[nodiscard]] std::pair<Use, poly::Set> writes(TensorId tensor) const {
    Use use;
    auto elements = poly::Set::empty(context_, system_.at(tensor).shape.size());
    for (const auto& equation : system_.equations) {
      if (equation.target != tensor) continue;
      auto index = to_poly(equation.index, equation.indices.size());
      elements = elements.unite(domain_of(context_, equation).image(index));
      note(use, {equation.indices, std::move(index), equation.span});
    }
    return {std::move(use), elements.coalesce()};
  }

  [[nodiscard]] std::pair<Use, poly::Set> reads(TensorId tensor) const {
    Use use;
    auto elements = poly::Set::empty(context_, system_.at(tensor).shape.size());
    for (const auto& equation : system_.equations) {
      for_each_expr(system_, equation, domain_of(context_, equation), [&](ExprId id, const Scope& scope) {
        const auto* access = std::get_if<Access>(&system_.at(id).node);
        if (access == nullptr || access->tensor != tensor) return;
        auto index = to_poly(access->index, scope.names.size());
        elements = elements.unite(scope.points.image(index));
        note(use, {scope.names, std::move(index), system_.at(id).span});
      });
    }
    return {std::move(use), elements.coalesce()};
  }

  /// Keeps the use of which most subscripts are indices.
  static void note(Use& best, Use other) {
    const auto known = [](const Use& use) {
      return std::ranges::count_if(use.index, [](const auto& form) { return variable_of(form).has_value(); });
    };
    const bool is_first = best.names.empty() && best.index.empty();
    const bool several = best.is_one_of_several || (!is_first && best.index != other.index);
    if (is_first || known(other) > known(best)) best = std::move(other);
    best.is_one_of_several = several;
  }

  /// A new local of the same elements.
  TensorId named_like(TensorId tensor) {
    Tensor copy = result_.at(tensor);
    copy.variable = copy.user_name();
    copy.role = Role::local;
    do copy.name += "_inside";
    while (std::ranges::find(result_.tensors, copy.name, &Tensor::name) != result_.tensors.end());
    result_.tensors.push_back(std::move(copy));
    return TensorId(result_.tensors.size() - 1);
  }

  /// Another tensor of the same elements, which is computed, and has the place of this one in all equations.
  TensorId moved(TensorId tensor) {
    const auto other = named_like(tensor);
    for (auto& expr : result_.exprs) {
      if (auto* access = std::get_if<Access>(&expr.node); access != nullptr && access->tensor == tensor)
        access->tensor = other;
    }
    for (auto& equation : result_.equations) {
      if (equation.target == tensor) equation.target = other;
    }
    return other;
  }

  /// The indices of a copy, as those of the use are nested: at the edge, where they have names of their own, or at the
  /// place of the use.
  Nest nest(const Use& use, const std::string& at_edge) {
    Nest result{{}, std::vector<std::size_t>(use.index.size(), 0), !at_edge.empty()};
    auto& [indices, axes, is_at_edge] = result;
    if (are_numbered_) indices.push_back(statement);
    const auto add = [&](std::size_t axis, std::string name) {
      axes[axis] = indices.size();
      indices.push_back(std::move(name));
    };
    for (std::size_t v = 0; v < use.names.size(); ++v) {
      const bool is_edge = is_at_edge && use.names[v] == edge_.index;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        if (variable_of(use.index[a]) != v) continue;
        const bool is_known = is_edge || std::ranges::find(indices, use.names[v]) != indices.end();
        add(a, is_known ? fresh(use.names[v], at_edge) : use.names[v]);
      }
      if (is_edge) indices.push_back(edge_.index);
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (!variable_of(use.index[a])) add(a, fresh("element", at_edge));
    }
    if (is_at_edge && std::ranges::find(indices, edge_.index) == indices.end())
      indices.push_back(edge_.index);
    return result;
  }

  std::string fresh(const std::string& name, const std::string& at_edge) {
    auto result = fmt::format("{}_{}", name, at_edge.empty() ? "inside" : at_edge);
    while (!names_.insert(result).second) result += "_";
    return result;
  }

  static constexpr auto statement = "statement";

  poly::Context context_;
  const System& system_;
  System result_;
  const Edge& edge_;
  std::set<std::string> names_;
  std::optional<std::int64_t> at_, first_statement_, last_statement_;
  bool are_numbered_ = true;
};

}  // namespace

std::optional<System> pass_edge(const System& system, const std::set<std::string>& tensors,
                                const Edge& edge) {
  return EdgePasser(system, edge).run(tensors);
}

}  // namespace cyclotron::recurrence
