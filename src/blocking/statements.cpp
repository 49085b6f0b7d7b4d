#include "statements.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::blocking {

namespace {

using recurrence::Equation;
using recurrence::System;
using recurrence::TensorId;

/// An element that an equation reads, over all that is in scope.
struct Read {
  std::size_t equation;
  TensorId tensor;
  std::vector<poly::Affine> index;
  poly::Set points;
};

void replace_variables(std::vector<recurrence::Constraint>& constraints, const auto& change) {
  for (auto& constraint : constraints) change(constraint.form);
}

class Sequencer {
 public:
  Sequencer(const System& system, const poly::Context& context) : system_(system), context_(context) {
    for (std::size_t e = 0; e < system.equations.size(); ++e) {
      const auto& equation = system.equations[e];
      domains_.push_back(recurrence::domain_of(context, equation));
      recurrence::for_each_expr(
          system, equation, domains_.back(), [&](recurrence::ExprId id, const recurrence::Scope& scope) {
            const auto* access = std::get_if<recurrence::Access>(&system.at(id).node);
            if (access == nullptr || system.at(access->tensor).role == recurrence::Role::input) return;
            reads_.push_back(
                {e, access->tensor, recurrence::to_poly(access->index, scope.names.size()), scope.points});
          });
    }
    number_statements();
  }

  System run() {
    if (count_ < 2) return system_;
    System result = system_;
    std::string name = "statement";
    const auto taken = [&](const Equation& equation) {
      return std::ranges::find(equation.indices, name) != equation.indices.end();
    };
    while (std::ranges::any_of(system_.equations, taken)) name += '_';
    for (std::size_t e = 0; e < result.equations.size(); ++e) {
      const auto back = backward(statement(e));
      if (!back || !in_order(statement(e), *back)) return system_;
      change(result, e, *back, name);
    }
    return result;
  }

 private:
  [[nodiscard]] std::size_t statement(std::size_t equation) const {
    return statements_[system_.equations[equation].target.index()];
  }

  /// Tensors by the longest way of statements that they need.
  void number_statements() {
    const auto count = system_.tensors.size();
    std::vector<std::vector<bool>> needs(count, std::vector<bool>(count));
    for (const auto& read : reads_)
      needs[system_.equations[read.equation].target.index()][read.tensor.index()] = true;
    for (std::size_t via = 0; via < count; ++via) {
      for (std::size_t from = 0; from < count; ++from) {
        for (std::size_t to = 0; to < count; ++to)
          needs[from][to] = needs[from][to] || (needs[from][via] && needs[via][to]);
      }
    }
    // Fewer tensors are needed by those that come first; the text's order tells the others apart.
    std::vector<std::pair<std::ptrdiff_t, std::size_t>> order;
    for (std::size_t t = 0; t < count; ++t) order.emplace_back(std::ranges::count(needs[t], true), t);
    std::ranges::sort(order);
    statements_.assign(count, count);
    for (const auto& [needed, t] : order) {
      if (statements_[t] != count || computes_nothing(TensorId(t))) continue;
      statements_[t] = count_;
      for (std::size_t u = 0; u < count; ++u) {
        if (needs[t][u] && needs[u][t]) statements_[u] = count_;
      }
      ++count_;
    }
  }

  [[nodiscard]] bool computes_nothing(TensorId tensor) const {
    return std::ranges::find(system_.equations, tensor, &Equation::target) == system_.equations.end();
  }

  /// The ways from elements that equations of a statement compute to those of it that they read: points, the index that is
  /// computed in `first`, and the forms of both.
  template <typename Visit>
  bool each_way(std::size_t number, const Visit& visit) const {
    for (const auto& read : reads_) {
      if (statement(read.equation) != number || statements_[read.tensor.index()] != number) continue;
      if (!visit(read)) return false;
    }
    return true;
  }

  /// Names of the coordinates of a tensor: the indices of its equations.
  [[nodiscard]] const std::vector<std::string>& names(TensorId tensor) const {
    return std::ranges::find(system_.equations, tensor, &Equation::target)->indices;
  }

  /// The indices of which elements need later ones alone; none where equations have other names for one coordinate.
  [[nodiscard]] std::optional<std::set<std::string>> backward(std::size_t number) const {
    for (const auto& equation : system_.equations) {
      if (statements_[equation.target.index()] == number && equation.indices != names(equation.target))
        return std::nullopt;
    }
    std::set<std::string> later, earlier;
    each_way(number, [&](const Read& read) {
      const auto& own = system_.equations[read.equation].indices;
      const auto& others = names(read.tensor);
      for (std::size_t v = 0; v < own.size(); ++v) {
        const auto at = std::ranges::find(others, own[v]);
        if (at == others.end()) continue;
        const auto variables = read.points.dimensions();
        const auto ahead =
            read.index[static_cast<std::size_t>(at - others.begin())] - poly::variable(variables, v);
        const auto one = poly::constant(variables, 1);
        if (!read.points.intersect({ahead - one, false}).is_empty()) later.insert(own[v]);
        if (!read.points.intersect({poly::constant(variables, 0) - ahead - one, false}).is_empty())
          earlier.insert(own[v]);
      }
      return true;
    });
    for (const auto& name : earlier) later.erase(name);
    return later;
  }

  /// Tells whether each element comes after those that it needs where loops are nested as indices are.
  [[nodiscard]] bool in_order(std::size_t number, const std::set<std::string>& back) const {
    return each_way(number, [&](const Read& read) {
      const auto& own = system_.equations[read.equation].indices;
      if (own != names(read.tensor)) return false;
      auto left = read.points;
      const auto variables = left.dimensions();
      for (std::size_t v = 0; v < own.size(); ++v) {
        auto ahead = read.index[v] - poly::variable(variables, v);
        if (back.contains(own[v])) ahead = poly::constant(variables, 0) - ahead;
        if (!left.intersect({ahead - poly::constant(variables, 1), false}).is_empty()) return false;
        left = left.intersect({ahead, true});
      }
      return true;
    });
  }

  void change(System& result, std::size_t e, const std::set<std::string>& back, const std::string& name) const {
    auto& equation = result.equations[e];
    const auto changed = [&](recurrence::Affine& form) {
      for (std::size_t v = 0; v < std::min(form.coefficients.size(), equation.indices.size()); ++v) {
        if (!back.contains(equation.indices[v])) continue;
        form.constant += form.coefficients[v] * last(equation.target, v);
        form.coefficients[v] = -form.coefficients[v];
      }
      form.coefficients.insert(form.coefficients.begin(), 0);
    };
    const auto changed_all = [&](recurrence::Region& region) {
      for (auto& conjunction : region) replace_variables(conjunction, changed);
    };
    recurrence::for_each_expr(system_, system_.equations[e], domains_[e],
                              [&](recurrence::ExprId id, const recurrence::Scope&) {
                                auto& node = result.exprs.at(id.index()).node;
                                if (auto* access = std::get_if<recurrence::Access>(&node))
                                  std::ranges::for_each(access->index, changed);
                                if (auto* reduce = std::get_if<recurrence::Reduce>(&node))
                                  changed_all(reduce->domain);
                              });
    std::ranges::for_each(equation.index, changed);
    changed_all(equation.domain);
    equation.indices.insert(equation.indices.begin(), name);
    const auto number = static_cast<std::int64_t>(statement(e));
    for (auto& conjunction : equation.domain) conjunction.push_back({{{1}, -number}, true});
  }

  /// The last place of a coordinate of a tensor's elements.
  [[nodiscard]] std::int64_t last(TensorId tensor, std::size_t coordinate) const {
    return system_.at(tensor).extents().at(coordinate) - 1;
  }

  const System& system_;
  const poly::Context& context_;
  std::vector<poly::Set> domains_;
  std::vector<Read> reads_;
  std::vector<std::size_t> statements_;  ///< By tensor.
  std::size_t count_ = 0;
};

}  // namespace

System in_statements(const System& system, const poly::Context& context) {
  return Sequencer(system, context).run();
}

}  // namespace cyclotron::blocking
