#include "exit_loops.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence::exits {

std::int64_t coefficient(const Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() ? form.coefficients[variable] : 0;
}

std::optional<std::size_t> only_variable(const Affine& form) {
  std::optional<std::size_t> found;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (found) return std::nullopt;
    found = v;
  }
  return found;
}

Interval interval_of(const std::vector<Constraint>& conjunction, std::size_t variable) {
  Interval result;
  for (const auto& constraint : conjunction) {
    const auto& form = constraint.form;
    const auto a = coefficient(form, variable);
    if (constraint.modulus != 0 || only_variable(form) != variable || (a != 1 && a != -1)) continue;
    const std::int64_t bound = a == 1 ? -form.constant : form.constant;
    if (constraint.equality || a == 1) result.first = std::max(result.first, bound);
    if (constraint.equality || a == -1) result.last = std::min(result.last, bound);
  }
  return result;
}

Interval interval_of(const Equation& equation, std::size_t variable) {
  Interval result{far, -far};
  for (const auto& conjunction : equation.domain) {
    const auto [first, last] = interval_of(conjunction, variable);
    result.first = std::min(result.first, first);
    result.last = std::max(result.last, last);
  }
  return result;
}

std::optional<std::int64_t> pinned(const Equation& equation, std::size_t variable) {
  const auto [first, last] = interval_of(equation, variable);
  return first == last ? std::optional(first) : std::nullopt;
}

bool Loop::holds(const Equation& equation) const {
  if (equation.indices.size() < names.size() ||
      !std::equal(names.begin(), names.end(), equation.indices.begin()))
    return false;
  for (std::size_t v = 0; v < around.size(); ++v) {
    if (around[v] && pinned(equation, v) != around[v]) return false;
  }
  return true;
}

std::optional<Loop> loop_of(const Equation& equation) {
  std::vector<std::size_t> variables;
  for (const Affine& form : equation.index) {
    const auto variable = only_variable(form);
    if (!variable || *variable >= equation.indices.size() || coefficient(form, *variable) != 1 ||
        (!variables.empty() && *variable <= variables.back()))
      return std::nullopt;
    variables.push_back(*variable);
  }
  if (variables.empty()) return std::nullopt;
  const auto end = equation.indices.begin() + static_cast<std::ptrdiff_t>(variables.back() + 1);
  Loop result{{equation.indices.begin(), end}, {}};
  for (std::size_t v = 0; v < variables.back(); ++v) {
    const auto value = pinned(equation, v);
    const bool is_loop = std::ranges::find(variables, v) != variables.end();
    if (!is_loop && !value) return std::nullopt;
    result.around.push_back(is_loop ? std::nullopt : value);
  }
  return result;
}

std::optional<Loop> flag_loop(const System& system, TensorId flag) {
  const Tensor& tensor = system.at(flag);
  if (tensor.dtype != DType::boolean || tensor.role != Role::local || tensor.shape.empty())
    return std::nullopt;
  for (const Equation& equation : system.equations) {
    if (equation.target != flag) continue;
    if (auto loop = loop_of(equation)) return loop;
  }
  return std::nullopt;
}

namespace {

/// Puts the indices of an equation in another order.
class Reordering {
 public:
  /// `places`: the new one of each index.
  Reordering(System& system, std::vector<std::size_t> places) : system_(system), places_(std::move(places)) {}

  void apply(Equation& equation) {
    auto names = equation.indices;
    for (std::size_t v = 0; v < names.size(); ++v) equation.indices[places_[v]] = std::move(names[v]);
    for (Affine& form : equation.index) reorder(form);
    reorder(equation.domain);
    equation.expr = reordered(equation.expr);
  }

 private:
  void reorder(Affine& form) const {
    const auto old = form.coefficients;
    form.coefficients.resize(std::max(old.size(), places_.size()));
    for (std::size_t v = 0; v < places_.size(); ++v)
      form.coefficients[places_[v]] = v < old.size() ? old[v] : 0;
  }

  void reorder(Region& region) const {
    for (auto& conjunction : region) {
      for (Constraint& constraint : conjunction) reorder(constraint.form);
    }
  }

  ExprId reordered(ExprId id) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    Expr expr = system_.at(id);
    std::visit(Overloaded{[](const Constant&) {}, [&](Index& index) { reorder(index.form); },
                          [&](Access& access) {
                            for (Affine& form : access.index) reorder(form);
                          },
                          [&](Apply& apply) {
                            for (ExprId& operand : apply.operands) operand = reordered(operand);
                          },
                          [&](Reduce& reduce) {
                            reorder(reduce.domain);
                            reduce.body = reordered(reduce.body);
                          }},
               expr.node);
    system_.exprs.push_back(std::move(expr));
    return known_[id] = ExprId(system_.exprs.size() - 1);
  }

  System& system_;
  std::vector<std::size_t> places_;
  std::map<ExprId, ExprId> known_;
};

}  // namespace

std::optional<System> with_loops_first(const System& system) {
  std::set<std::string> of_loops;
  for (std::size_t t = 0; t < system.tensors.size(); ++t) {
    if (const auto loop = flag_loop(system, TensorId(t)))
      of_loops.insert(loop->names.begin(), loop->names.end());
  }
  std::optional<System> result;
  for (std::size_t e = 0; e < system.equations.size(); ++e) {
    const Equation& equation = system.equations[e];
    std::vector<std::size_t> first, last;
    for (std::size_t v = 0; v < equation.indices.size(); ++v)
      (pinned(equation, v) && !of_loops.contains(equation.indices[v]) ? last : first).push_back(v);
    if (first.empty() || last.empty() || last.front() > first.back()) continue;
    std::vector<std::size_t> places(equation.indices.size());
    first.insert(first.end(), last.begin(), last.end());
    for (std::size_t v = 0; v < first.size(); ++v) places[first[v]] = v;
    if (!result) result = system;
    Reordering(*result, std::move(places)).apply(result->equations[e]);
  }
  return result;
}

System nested_as(System system, const System& other) {
  std::vector<std::vector<std::string>> nests;
  for (const Equation& equation : other.equations) nests.push_back(equation.indices);
  const auto order = nesting_order(std::move(nests));
  for (std::size_t e = 0; e < system.equations.size(); ++e) {
    const auto names = system.equations[e].indices;
    auto wanted = names;
    std::ranges::sort(wanted, {}, [&](const std::string& name) { return std::ranges::find(order, name); });
    if (wanted == names) continue;
    std::vector<std::size_t> places;
    for (const auto& name : names)
      places.push_back(static_cast<std::size_t>(std::ranges::find(wanted, name) - wanted.begin()));
    Reordering(system, std::move(places)).apply(system.equations[e]);
  }
  return system;
}

}  // namespace cyclotron::recurrence::exits
