#include "statements.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <cyclotron/recurrence/sets.hpp>

#include "normal_form.hpp"

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

/// Tells whether loops may be nested as the indices of all equations are, and those of one tensor have one order.
bool in_one_order(const System& system, const poly::Context& context) {
  std::map<TensorId, std::vector<std::string>> names;
  std::vector<std::vector<std::string>> nests;
  for (const auto& equation : system.equations) {
    if (names.try_emplace(equation.target, equation.indices).first->second != equation.indices) return false;
    recurrence::for_each_expr(
        system, equation, recurrence::domain_of(context, equation),
        [&](recurrence::ExprId, const recurrence::Scope& scope) { nests.push_back(scope.names); });
  }
  return recurrence::consistent_order(nests).has_value();
}

/// The indices of the equation that has most, by place, for all.
System with_names_by_place(const System& system, const poly::Context& context) {
  auto result = system;
  const auto size = [](const Equation& equation) { return equation.indices.size(); };
  const auto names = std::ranges::max_element(system.equations, {}, size)->indices;
  for (auto& equation : result.equations) {
    const std::vector<std::string> own(names.begin(), names.begin() + std::ssize(equation.indices));
    recurrence::for_each_expr(
        system, equation, recurrence::domain_of(context, equation),
        [&](recurrence::ExprId id, const recurrence::Scope&) {
          auto* reduce = std::get_if<recurrence::Reduce>(&result.exprs.at(id.index()).node);
          while (reduce != nullptr && std::ranges::find(own, reduce->index) != own.end())
            reduce->index += "_2";
        });
    equation.indices = own;
  }
  return result;
}

class Sequencer {
 public:
  Sequencer(const System& system, const poly::Context& context) : system_(system) {
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

  std::optional<System> run() {
    if (count_ < 2 || !find_places()) return std::nullopt;
    System result = system_;
    std::string name = "statement";
    const auto taken = [&](const Equation& equation) {
      return std::ranges::find(equation.indices, name) != equation.indices.end();
    };
    while (std::ranges::any_of(system_.equations, taken)) name += '_';
    for (std::size_t e = 0; e < result.equations.size(); ++e) {
      const auto back = backward(statement(e));
      if (!in_order(statement(e), back)) return std::nullopt;
      change(result, e, back, name);
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
    // Those that come first need fewer others; the text's order tells the rest apart.
    std::vector<std::pair<std::size_t, std::size_t>> order;
    for (std::size_t t = 0; t < count; ++t) {
      std::size_t before = 0;
      for (std::size_t u = 0; u < count; ++u) before += needs[t][u] && !needs[u][t] ? 1 : 0;
      order.emplace_back(before, t);
    }
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

  /// Finds where elements of tensors with fewer axes than others of their statement are computed: with those of the others
  /// that they read.
  bool find_places() {
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      places_.push_back(identity_forms(system_.tensors[t].shape.size(), system_.tensors[t].shape.size()));
      depths_.push_back(system_.tensors[t].shape.size());
    }
    for (std::size_t t = 0; t < depths_.size(); ++t) {
      for (std::size_t u = 0; u < depths_.size(); ++u) {
        if (statements_[t] == statements_[u]) depths_[t] = std::max(depths_[t], places_[u].size());
      }
    }
    for (const auto& read : reads_) {
      const auto target = system_.equations[read.equation].target.index();
      auto& place = places_[target];
      const auto rank = system_.tensors[target].shape.size();
      if (statement(read.equation) != statements_[read.tensor.index()] || rank == depths_[target] ||
          read.index.size() < depths_[target])
        continue;
      for (auto d = rank; d < depths_[target]; ++d) {
        auto form = read.index[d];
        form.coefficients.resize(rank);
        if (insert_variables(form, rank, read.points.dimensions() - rank) != read.index[d]) return false;
        if (place.size() == d) place.push_back(form);
        if (place[d] != form) return false;
      }
    }
    for (std::size_t t = 0; t < depths_.size(); ++t) {
      if (statements_[t] < count_ && places_[t].size() < depths_[t]) return false;
    }
    return true;
  }

  [[nodiscard]] bool computes_nothing(TensorId tensor) const {
    return std::ranges::find(system_.equations, tensor, &Equation::target) == system_.equations.end();
  }

  /// Visits what equations of a statement read of it, until one is not as it should be.
  template <typename Visit>
  bool each_way(std::size_t number, const Visit& visit) const {
    for (const auto& read : reads_) {
      if (statement(read.equation) != number || statements_[read.tensor.index()] != number) continue;
      if (!visit(read)) return false;
    }
    return true;
  }

  /// The loops of a statement, by place.
  [[nodiscard]] std::vector<std::string> loops(std::size_t number) const {
    for (const auto& equation : system_.equations) {
      const auto target = equation.target.index();
      if (statements_[target] == number && equation.indices.size() == depths_[target])
        return equation.indices;
    }
    return {};
  }

  /// By how much each loop is ahead of the element computed where the one that is read is.
  [[nodiscard]] std::vector<poly::Affine> ahead(const Read& read) const {
    const auto& own = places_[system_.equations[read.equation].target.index()];
    const auto& other = places_[read.tensor.index()];
    const auto variables = read.points.dimensions();
    const auto here = identity_forms(variables, system_.equations[read.equation].indices.size());
    std::vector<poly::Affine> result;
    for (std::size_t d = 0; d < own.size(); ++d) {
      result.push_back(poly::substitute(other[d], read.index, variables) -
                       poly::substitute(own[d], here, variables));
    }
    return result;
  }

  static bool is_positive(const poly::Set& points, const poly::Affine& form) {
    return !points.intersect({form - poly::constant(points.dimensions(), 1), false}).is_empty();
  }

  /// The loops of which elements need later iterations alone.
  [[nodiscard]] std::set<std::size_t> backward(std::size_t number) const {
    std::set<std::size_t> later, earlier;
    each_way(number, [&](const Read& read) {
      const auto forms = ahead(read);
      for (std::size_t d = 0; d < forms.size(); ++d) {
        if (is_positive(read.points, forms[d])) later.insert(d);
        if (is_positive(read.points, -1 * forms[d])) earlier.insert(d);
      }
      return true;
    });
    for (const auto loop : earlier) later.erase(loop);
    return later;
  }

  /// Tells whether each element comes after those that it needs.
  [[nodiscard]] bool in_order(std::size_t number, const std::set<std::size_t>& back) const {
    return each_way(number, [&](const Read& read) {
      auto left = read.points;
      auto forms = ahead(read);
      for (std::size_t d = 0; d < forms.size(); ++d) {
        if (is_positive(left, back.contains(d) ? -1 * forms[d] : forms[d])) return false;
        left = left.intersect({forms[d], true});
      }
      return true;
    });
  }

  void change(System& result, std::size_t e, const std::set<std::size_t>& back,
              const std::string& name) const {
    auto& equation = result.equations[e];
    const auto rank = equation.indices.size(), depth = depths_[equation.target.index()];
    const auto names = loops(statement(e));
    const auto& place = places_[equation.target.index()];
    const auto changed = [&](recurrence::Affine& form) {
      form.coefficients.resize(std::max(form.coefficients.size(), rank));
      for (const auto d : back) {
        if (d >= rank) continue;
        form.constant += form.coefficients[d] * last(equation.target, d);
        form.coefficients[d] = -form.coefficients[d];
      }
      form.coefficients.insert(form.coefficients.begin() + static_cast<std::ptrdiff_t>(rank), depth - rank,
                               0);
      form.coefficients.insert(form.coefficients.begin(), 0);
    };
    const auto changed_all = [&](recurrence::Region& region) {
      for (auto& conjunction : region) {
        for (auto& constraint : conjunction) changed(constraint.form);
      }
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
    equation.indices = names;
    equation.indices.insert(equation.indices.begin(), name);
    const auto number = static_cast<std::int64_t>(statement(e));
    for (auto& conjunction : equation.domain) {
      conjunction.push_back({{{1}, -number}, true});
      for (auto d = rank; d < depth; ++d) {
        recurrence::Affine form{place[d].coefficients, place[d].constant};
        changed(form);
        form.coefficients[d + 1] = -1;
        conjunction.push_back({std::move(form), true});
      }
    }
  }

  /// The last place of a coordinate of a tensor's elements.
  [[nodiscard]] std::int64_t last(TensorId tensor, std::size_t coordinate) const {
    return system_.at(tensor).extents().at(coordinate) - 1;
  }

  const System& system_;
  std::vector<poly::Set> domains_;
  std::vector<Read> reads_;
  std::vector<std::size_t> statements_;  ///< By tensor.
  std::vector<std::size_t> depths_;      ///< Of its statement's loops, by tensor.
  std::vector<std::vector<poly::Affine>>
      places_;  ///< In the loops of its statement, by tensor and over its elements.
  std::size_t count_ = 0;
};

}  // namespace

System in_statements(const System& system, const poly::Context& context) {
  const bool ordered = in_one_order(system, context);
  const auto renamed = ordered ? system : with_names_by_place(system, context);
  return Sequencer(renamed, context).run().value_or(system);
}

}  // namespace cyclotron::blocking
