#include "exit_loops.hpp"

#include <algorithm>
#include <functional>
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

namespace {

bool may_be_flag(const Tensor& tensor) {
  return tensor.dtype == DType::boolean && tensor.role == Role::local && !tensor.shape.empty();
}

}  // namespace

bool may_have_flags(const System& system) { return std::ranges::any_of(system.tensors, may_be_flag); }

std::optional<Loop> flag_loop(const System& system, TensorId flag) {
  if (!may_be_flag(system.at(flag))) return std::nullopt;
  for (const Equation& equation : system.equations) {
    if (equation.target != flag) continue;
    if (auto loop = loop_of(equation)) return loop;
  }
  return std::nullopt;
}

namespace {

/// Rewrites the forms of an equation's expression; what it shares with others stays.
class FormRewriter {
 public:
  FormRewriter(System& system, std::function<void(Affine&)> rewrite)
      : system_(system), rewrite_(std::move(rewrite)) {}

  ExprId rewritten(ExprId id) {
    if (const auto known = known_.find(id); known != known_.end()) return known->second;
    Expr expr = system_.at(id);
    std::visit(Overloaded{[](const Constant&) {}, [&](Index& index) { rewrite_(index.form); },
                          [&](Access& access) { std::ranges::for_each(access.index, rewrite_); },
                          [&](Apply& apply) {
                            for (ExprId& operand : apply.operands) operand = rewritten(operand);
                          },
                          [&](Reduce& reduce) {
                            rewrite(reduce.domain);
                            reduce.body = rewritten(reduce.body);
                          }},
               expr.node);
    system_.exprs.push_back(std::move(expr));
    return known_[id] = ExprId(system_.exprs.size() - 1);
  }

  void rewrite(Region& region) const {
    for (auto& conjunction : region) {
      for (Constraint& constraint : conjunction) rewrite_(constraint.form);
    }
  }

 private:
  System& system_;
  std::function<void(Affine&)> rewrite_;
  std::map<ExprId, ExprId> known_;
};

/// Puts the indices of an equation in another order. `places`: the new one of each index.
void reorder(System& system, Equation& equation, const std::vector<std::size_t>& places) {
  auto names = equation.indices;
  for (std::size_t v = 0; v < names.size(); ++v) equation.indices[places[v]] = std::move(names[v]);
  const auto reordered = [&places](Affine& form) {
    const auto old = form.coefficients;
    form.coefficients.resize(std::max(old.size(), places.size()));
    for (std::size_t v = 0; v < places.size(); ++v)
      form.coefficients[places[v]] = v < old.size() ? old[v] : 0;
  };
  FormRewriter rewriter(system, reordered);
  std::ranges::for_each(equation.index, reordered);
  rewriter.rewrite(equation.domain);
  equation.expr = rewriter.rewritten(equation.expr);
}

/// An index that is an earlier one, plus a number.
struct Follower {
  std::size_t index;
  std::size_t first;
  std::int64_t distance;
  bool operator==(const Follower&) const = default;
};

std::optional<Follower> follower(const Constraint& constraint) {
  if (!constraint.equality || constraint.modulus != 0) return std::nullopt;
  std::vector<std::size_t> named;
  for (std::size_t v = 0; v < constraint.form.coefficients.size(); ++v) {
    if (constraint.form.coefficients[v] != 0) named.push_back(v);
  }
  if (named.size() != 2) return std::nullopt;
  const auto factor = coefficient(constraint.form, named[1]);
  if (factor * factor != 1 || coefficient(constraint.form, named[0]) != -factor) return std::nullopt;
  return Follower{named[1], named[0], -factor * constraint.form.constant};
}

/// Of all points of an equation.
std::vector<Follower> followers(const Equation& equation) {
  std::vector<Follower> result;
  for (std::size_t c = 0; c < equation.domain.size(); ++c) {
    std::vector<Follower> own;
    for (const Constraint& constraint : equation.domain[c]) {
      if (const auto one = follower(constraint)) own.push_back(*one);
    }
    if (c == 0) result = own;
    std::erase_if(result, [&](const Follower& one) { return std::ranges::find(own, one) == own.end(); });
  }
  return result;
}

}  // namespace

System with_first_indices(System system) {
  std::set<std::string> of_loops;
  for (std::size_t t = 0; t < system.tensors.size(); ++t) {
    if (const auto loop = flag_loop(system, TensorId(t))) of_loops.insert(loop->names.back());
  }
  for (Equation& equation : system.equations) {
    for (const Follower& one : followers(equation)) {
      if (of_loops.contains(equation.indices[one.index])) continue;
      FormRewriter rewriter(system, [&one](Affine& form) {
        const auto factor = coefficient(form, one.index);
        if (factor == 0) return;
        form.coefficients[one.index] = 0;
        form.coefficients[one.first] += factor;
        form.constant += factor * one.distance;
      });
      equation.expr = rewriter.rewritten(equation.expr);
    }
  }
  return system;
}

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
    reorder(*result, result->equations[e], places);
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
    reorder(system, system.equations[e], places);
  }
  return system;
}

}  // namespace cyclotron::recurrence::exits
