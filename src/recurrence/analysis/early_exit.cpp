#include <cyclotron/recurrence/early_exit.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

std::int64_t coefficient(const Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() ? form.coefficients[variable] : 0;
}

/// The variable that alone is in a form, if one is.
std::optional<std::size_t> only_variable(const Affine& form) {
  std::optional<std::size_t> found;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (found) return std::nullopt;
    found = v;
  }
  return found;
}

constexpr std::int64_t far = std::int64_t{1} << 60;

struct Interval {
  std::int64_t first = -far;
  std::int64_t last = far;
};

/// Of an index by the constraints that name it alone.
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

/// An index of some equations, inside others that have one value.
struct Loop {
  std::vector<std::string> names;  ///< Of the indices, its own the last.
  std::vector<std::int64_t> around;
  bool operator==(const Loop&) const = default;
  [[nodiscard]] std::size_t variable() const { return names.size() - 1; }
};

std::optional<Loop> loop_of(const Equation& equation, std::size_t variable) {
  if (variable >= equation.indices.size()) return std::nullopt;
  Loop result{
      {equation.indices.begin(), equation.indices.begin() + static_cast<std::ptrdiff_t>(variable + 1)}, {}};
  for (std::size_t v = 0; v < variable; ++v) {
    const auto value = pinned(equation, v);
    if (!value) return std::nullopt;
    result.around.push_back(*value);
  }
  return result;
}

/// Place of a loop's index in a tensor that the loop computes.
struct Axis {
  std::size_t dimension;
  std::int64_t offset;
};

enum class Truth : std::uint8_t { no, yes, unknown };

/// Iterations, counted from the first in which a flag is false, until a value no longer changes; none where it may
/// change for ever.
using Settling = std::optional<std::int64_t>;

Settling later(const Settling& a, const Settling& b) {
  return a && b ? Settling(std::max(*a, *b)) : std::nullopt;
}

/// The values of a loop once a flag is false, from the iteration after the first on in which it is.
class ExitAnalysis {
 public:
  ExitAnalysis(const System& system, const Loop& loop, TensorId flag)
      : system_(system), variable_(loop.variable()), flag_(flag) {
    for (const auto& equation : system.equations) in_loop_.push_back(loop_of(equation, variable_) == loop);
    for (std::size_t e = 0; e < system.equations.size(); ++e) {
      const Equation& equation = system.equations[e];
      if (!in_loop_[e] || equation.target != flag) continue;
      const Interval steps = interval_of(equation, variable_);
      first_ = std::min(first_, steps.first);
      last_ = std::max(last_, steps.last);
    }
  }

  /// The loop's early exit; none where iterations after it may change what is seen.
  std::optional<EarlyExit> run(const std::string& index) {
    for (std::size_t e = 0; e < system_.equations.size(); ++e) {
      if (in_loop_[e] && !add_axis(system_.equations[e])) return std::nullopt;
    }
    const auto axis = axes_.find(flag_);
    if (axis == axes_.end() || system_.at(flag_).shape.size() != 1 || first_ <= -far || last_ >= far)
      return std::nullopt;
    find_false();
    if (!stays_false()) return std::nullopt;
    Settling settle = 0;
    for (std::size_t e = 0; e < system_.equations.size() && settle; ++e) settle = later(settle, check(e));
    if (!settle) return std::nullopt;
    return EarlyExit{flag_, index, axis->second.offset, last_ - first_ + 1, *settle};
  }

 private:
  /// Notes where the target has the loop's index; false where elements and iterations do not go together.
  bool add_axis(const Equation& equation) {
    for (std::size_t d = 0; d < equation.index.size(); ++d) {
      if (coefficient(equation.index[d], variable_) == 0) continue;
      if (only_variable(equation.index[d]) != variable_ || coefficient(equation.index[d], variable_) != 1)
        return false;
      const auto [known, is_new] = axes_.try_emplace(equation.target, d, equation.index[d].constant);
      if (!is_new && (known->second.dimension != d || known->second.offset != equation.index[d].constant))
        return false;
    }
    return true;
  }

  /// True where the equation holds in iterations after the first of the loop.
  [[nodiscard]] bool goes_on(const Equation& equation) const {
    return interval_of(equation, variable_).last > first_;
  }

  template <class Visit>
  void each_equation(TensorId target, bool also_first, Visit visit) const {
    for (std::size_t e = 0; e < in_loop_.size(); ++e) {
      const Equation& equation = system_.equations[e];
      if (in_loop_[e] && equation.target == target && (also_first || goes_on(equation))) visit(equation);
    }
  }

  /// True where an equation of the loop reads one iteration's value in all of its own.
  [[nodiscard]] bool is_fixed(const Access& access, const Axis& axis) const {
    return coefficient(access.index[axis.dimension], variable_) == 0;
  }

  /// Number of iterations before its own that an equation of the loop reads; none where that is no one number.
  [[nodiscard]] std::optional<std::int64_t> lag_of(const Access& access, const Axis& axis) const {
    const Affine& form = access.index[axis.dimension];
    if (coefficient(form, variable_) != 1 || only_variable(form) != variable_) return std::nullopt;
    return axis.offset - form.constant;
  }

  /// Of an expression in the iterations from the `after`-th on after the first in which the flag is false.
  [[nodiscard]] Truth truth(ExprId id, std::int64_t after) const {
    const auto& node = system_.at(id).node;
    if (const auto* constant = std::get_if<Constant>(&node))
      return constant->real != 0 || constant->imaginary != 0 ? Truth::yes : Truth::no;
    if (const auto* access = std::get_if<Access>(&node)) {
      const auto known = false_after_.find(access->tensor);
      if (known == false_after_.end()) return Truth::unknown;
      const auto lag = lag_of(*access, axes_.at(access->tensor));
      return lag && *lag <= after - known->second ? Truth::no : Truth::unknown;
    }
    const auto* apply = std::get_if<Apply>(&node);
    if (apply == nullptr) return Truth::unknown;
    const auto of = [&](std::size_t operand) { return truth(apply->operands[operand], after); };
    switch (apply->op) {
      case Op::logical_not:
        return of(0) == Truth::unknown ? of(0) : of(0) == Truth::no ? Truth::yes : Truth::no;
      case Op::logical_and:
        if (of(0) == Truth::no || of(1) == Truth::no) return Truth::no;
        return of(0) == Truth::yes && of(1) == Truth::yes ? Truth::yes : Truth::unknown;
      case Op::logical_or:
        if (of(0) == Truth::yes || of(1) == Truth::yes) return Truth::yes;
        return of(0) == Truth::no && of(1) == Truth::no ? Truth::no : Truth::unknown;
      case Op::where:
        if (of(0) == Truth::unknown) return Truth::unknown;
        return of(0) == Truth::yes ? of(1) : of(2);
      default: return Truth::unknown;
    }
  }

  /// The other flags that are false when this one is, or an iteration later.
  void find_false() {
    false_after_ = {{flag_, 0}};
    for (bool more = true; more;) {
      more = false;
      for (const auto& [tensor, axis] : axes_) {
        if (system_.at(tensor).dtype != DType::boolean || false_after_.contains(tensor)) continue;
        for (const std::int64_t after : {0, 1}) {
          bool all = true, any = false;
          each_equation(tensor, after == 0, [&](const Equation& equation) {
            any = true;
            all = all && truth(equation.expr, after) == Truth::no;
          });
          if (!all || !any) continue;
          false_after_[tensor] = after;
          more = true;
          break;
        }
      }
    }
  }

  [[nodiscard]] bool stays_false() const {
    bool result = true;
    each_equation(flag_, false,
                  [&](const Equation& equation) { result = result && truth(equation.expr, 1) == Truth::no; });
    return result;
  }

  /// The operand of nested choices between values that flags take, or the expression itself.
  [[nodiscard]] ExprId resolved(ExprId id) const {
    const auto* apply = std::get_if<Apply>(&system_.at(id).node);
    if (apply == nullptr || apply->op != Op::where) return id;
    const Truth chosen = truth(apply->operands[0], 1);
    return chosen == Truth::unknown ? id : resolved(apply->operands[chosen == Truth::yes ? 1 : 2]);
  }

  struct Copy {
    TensorId of;
    std::int64_t lag;
    bool operator==(const Copy&) const = default;
  };

  /// The tensor of which all elements of another are copies, each of the same element.
  [[nodiscard]] std::optional<Copy> copy(TensorId tensor) const {
    std::optional<Copy> found;
    bool is_copy = true;
    each_equation(tensor, false, [&](const Equation& equation) {
      const auto* access = std::get_if<Access>(&system_.at(resolved(equation.expr)).node);
      const auto axis = access == nullptr ? axes_.end() : axes_.find(access->tensor);
      if (axis == axes_.end()) {
        is_copy = false;
        return;
      }
      const auto lag = lag_of(*access, axis->second);
      auto from = access->index;
      auto to = equation.index;
      from.erase(from.begin() + static_cast<std::ptrdiff_t>(axis->second.dimension));
      to.erase(to.begin() + static_cast<std::ptrdiff_t>(axes_.at(tensor).dimension));
      is_copy =
          is_copy && lag && same(equation, from, to) && (!found || *found == Copy{access->tensor, *lag});
      if (is_copy) found = {access->tensor, *lag};
    });
    return is_copy ? found : std::nullopt;
  }

  /// True where forms are equal at the points of an equation, where some indices may have one value.
  static bool same(const Equation& equation, const std::vector<Affine>& a, const std::vector<Affine>& b) {
    return std::ranges::equal(a, b, [&](const Affine& one, const Affine& other) {
      const std::size_t variables = std::max(one.coefficients.size(), other.coefficients.size());
      std::int64_t difference = one.constant - other.constant;
      for (std::size_t v = 0; v < variables; ++v) {
        const std::int64_t factor = coefficient(one, v) - coefficient(other, v);
        if (factor == 0) continue;
        const auto only = v < equation.indices.size() ? pinned(equation, v) : std::nullopt;
        if (!only) return false;
        difference += factor * *only;
      }
      return difference == 0;
    });
  }

  /// Of a tensor of the loop.
  Settling settled(TensorId tensor) {
    if (const auto known = settled_.find(tensor); known != settled_.end()) return known->second;
    settled_[tensor] = std::nullopt;  // for one that depends on itself
    if (false_after_.contains(tensor)) return settled_[tensor] = false_after_[tensor];
    std::int64_t lag = 0;
    auto at = tensor;
    for (std::size_t n = 0; n <= axes_.size(); ++n) {
      const auto next = copy(at);
      if (!next) break;
      lag += next->lag;
      at = next->of;
      if (at != tensor) continue;
      if (lag != 1) return std::nullopt;
      return settled_[tensor] = 0;
    }
    Settling result = 1;
    each_equation(tensor, false, [&](const Equation& equation) {
      result = later(result, settled(equation, resolved(equation.expr)));
    });
    return settled_[tensor] = result;
  }

  /// Of an expression.
  Settling settled(const Equation& equation, ExprId id) {
    return std::visit(
        Overloaded{[](const Constant&) { return Settling(0); },
                   [&](const Index& index) { return is_free(index.form) ? Settling(0) : std::nullopt; },
                   [&](const Access& access) { return settled(equation, access); },
                   [&](const Apply& apply) {
                     Settling result = 0;
                     for (const auto operand : apply.operands)
                       result = later(result, settled(equation, resolved(operand)));
                     return result;
                   },
                   [&](const Reduce& reduce) {
                     return is_free(reduce.domain) ? settled(equation, resolved(reduce.body)) : std::nullopt;
                   }},
        system_.at(id).node);
  }

  Settling settled(const Equation& equation, const Access& access) {
    const auto axis = axes_.find(access.tensor);
    if (axis == axes_.end()) return is_free(access.index) ? Settling(0) : std::nullopt;
    if (is_fixed(access, axis->second)) return settled_value(equation, access, axis->second);
    const auto lag = lag_of(access, axis->second);
    const auto source = lag ? settled(access.tensor) : std::nullopt;
    return source ? Settling(*lag + *source) : std::nullopt;
  }

  /// Of one iteration's value.
  Settling settled_value(const Equation& equation, const Access& access, const Axis& axis) {
    std::int64_t value = access.index[axis.dimension].constant;
    for (std::size_t v = 0; v < access.index[axis.dimension].coefficients.size(); ++v) {
      const auto factor = access.index[axis.dimension].coefficients[v];
      if (factor == 0) continue;
      const auto only = v < equation.indices.size() ? pinned(equation, v) : std::nullopt;
      if (!only) return std::nullopt;
      value += factor * *only;
    }
    return value - axis.offset <= first_ ? Settling(0) : settled(access.tensor);
  }

  /// Without the loop's index.
  [[nodiscard]] bool is_free(const Affine& form) const { return coefficient(form, variable_) == 0; }
  [[nodiscard]] bool is_free(const std::vector<Affine>& forms) const {
    return std::ranges::all_of(forms, [this](const Affine& form) { return is_free(form); });
  }
  [[nodiscard]] bool is_free(const Region& region) const {
    return std::ranges::all_of(region, [this](const std::vector<Constraint>& conjunction) {
      return std::ranges::all_of(conjunction, [this](const Constraint& one) { return is_free(one.form); });
    });
  }

  /// Of the values that an equation reads once the loop has ended, or in its iterations after the exit.
  Settling check(std::size_t e) {
    const Equation& equation = system_.equations[e];
    if (!in_loop_[e]) return check_reads(equation, equation.expr, false);
    if (!goes_on(equation)) return 0;
    if (!axes_.contains(equation.target)) {
      if (!pinned(equation, variable_)) return std::nullopt;
      return check_reads(equation, equation.expr, false);  // after the last iteration
    }
    if (system_.at(equation.target).role == Role::output && !is_zero(resolved(equation.expr)))
      return std::nullopt;
    return check_reads(equation, equation.expr, true);
  }

  [[nodiscard]] bool is_zero(ExprId id) const {
    const auto* constant = std::get_if<Constant>(&system_.at(id).node);
    return constant != nullptr && constant->real == 0 && constant->imaginary == 0 &&
           !std::signbit(constant->real) && !std::signbit(constant->imaginary);
  }

  /// Inside the loop tensors of the loop are read near the iteration, elsewhere and of one iteration what settles.
  Settling check_reads(const Equation& equation, ExprId id, bool inside) {
    return std::visit(
        Overloaded{[](const Constant&) { return Settling(0); }, [](const Index&) { return Settling(0); },
                   [&](const Access& access) { return check_read(equation, access, inside); },
                   [&](const Apply& apply) {
                     Settling result = 0;
                     for (const auto operand : apply.operands)
                       result = later(result, check_reads(equation, operand, inside));
                     return result;
                   },
                   [&](const Reduce& reduce) {
                     if (inside && !is_free(reduce.domain)) return Settling();
                     return check_reads(equation, reduce.body, inside);
                   }},
        system_.at(id).node);
  }

  Settling check_read(const Equation& equation, const Access& access, bool inside) {
    const auto axis = axes_.find(access.tensor);
    if (axis == axes_.end()) {
      const bool computed = system_.at(access.tensor).role != Role::input;
      return !inside || !computed || is_free(access.index) ? Settling(0) : std::nullopt;
    }
    if (!inside || is_fixed(access, axis->second)) return settled_value(equation, access, axis->second);
    return lag_of(access, axis->second) ? Settling(0) : std::nullopt;
  }

  const System& system_;
  std::size_t variable_;
  TensorId flag_;
  std::vector<bool> in_loop_;  // By equation.
  std::map<TensorId, Axis> axes_;
  std::int64_t first_ = far, last_ = -far;        // Iterations.
  std::map<TensorId, std::int64_t> false_after_;  // The first iteration in which the flag is false.
  std::map<TensorId, Settling> settled_;          // None also of those in hand.
};

}  // namespace

std::vector<EarlyExit> early_exits(const System& system) {
  std::vector<EarlyExit> result;
  for (std::size_t t = 0; t < system.tensors.size(); ++t) {
    const Tensor& tensor = system.tensors[t];
    if (tensor.dtype != DType::boolean || tensor.role != Role::local || tensor.shape.size() != 1) continue;
    const auto equation = std::ranges::find_if(system.equations, [&](const Equation& one) {
      return one.target == TensorId(t) && only_variable(one.index[0]);
    });
    if (equation == system.equations.end()) continue;
    const auto variable = only_variable(equation->index[0]);
    const auto loop = variable ? loop_of(*equation, *variable) : std::nullopt;
    if (!loop) continue;
    if (auto exit = ExitAnalysis(system, *loop, TensorId(t)).run(loop->names.back()))
      result.push_back(std::move(*exit));
  }
  return result;
}

}  // namespace cyclotron::recurrence
