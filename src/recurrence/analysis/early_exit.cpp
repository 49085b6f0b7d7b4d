#include <cyclotron/recurrence/early_exit.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <cyclotron/support/overloaded.hpp>

#include "copy_results.hpp"
#include "exit_loops.hpp"
#include "kept_values.hpp"

namespace cyclotron::recurrence {

namespace exits {

namespace {

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
      : system_(system), loop_(loop), variable_(loop.variable()), flag_(flag) {
    for (const auto& equation : system.equations) in_loop_.push_back(loop.holds(equation));
    for (std::size_t e = 0; e < system.equations.size(); ++e) {
      const Equation& equation = system.equations[e];
      if (!in_loop_[e] || equation.target != flag) continue;
      const Interval steps = interval_of(equation, variable_);
      first_ = std::min(first_, steps.first);
      last_ = std::max(last_, steps.last);
    }
  }

  /// The loop's early exit; none where iterations after it may change what is seen.
  std::optional<EarlyExit> run() {
    for (std::size_t e = 0; e < system_.equations.size(); ++e) {
      if (in_loop_[e] && !add_axis(system_.equations[e])) return std::nullopt;
    }
    const auto axis = axes_.find(flag_);
    if (axis == axes_.end() || axis->second.dimension + 1 != system_.at(flag_).shape.size() ||
        first_ <= -far || last_ >= far)
      return std::nullopt;
    find_false();
    if (!stays_false()) return std::nullopt;
    is_flag_ = true;
    std::map<TensorId, std::vector<ElementCopy>> copied;
    for (const auto& [tensor, own] : axes_) copied[tensor] = copies(tensor);
    kept_ = kept_values(copied, held());
    Settling settle = 0;
    for (std::size_t e = 0; e < system_.equations.size(); ++e) {
      settle = later(settle, check(e));
      if (settle) continue;
      obstacle_ = EquationId(e);
      return std::nullopt;
    }
    EarlyExit result{flag_, loop_.names.back(), axis->second.offset, last_ - first_ + 1, *settle, {}};
    for (const auto& [dimension, form] : axis->second.around)
      result.around.emplace_back(loop_.names[*only_variable(form)], form.constant);
    return result;
  }

  /// Of a flag that stays false: the equation that sees what the loop does after that.
  [[nodiscard]] std::optional<EquationId> obstacle() const { return is_flag_ ? obstacle_ : std::nullopt; }
  /// The index of a loop around on which the iterations of this one depend; empty: there is none.
  [[nodiscard]] std::string bounded_by() const {
    std::string result;
    each_equation(flag_, true, [&](const Equation& equation) {
      for (const auto& conjunction : equation.domain) {
        for (const auto& constraint : conjunction) {
          if (constraint.modulus != 0 || coefficient(constraint.form, variable_) == 0) continue;
          for (std::size_t v = 0; v < variable_; ++v) {
            if (coefficient(constraint.form, v) != 0) result = loop_.names[v];
          }
        }
      }
    });
    return result;
  }
  /// Of the loop's tensors that have its index.
  [[nodiscard]] const std::map<TensorId, Axis>& axes() const { return axes_; }
  /// The last iteration.
  [[nodiscard]] std::int64_t last() const { return last_; }

 private:
  /// Notes where the target has the loop's index; false where elements and iterations do not go together.
  bool add_axis(const Equation& equation) {
    std::optional<Axis> own;
    for (std::size_t d = 0; d < equation.index.size(); ++d) {
      if (coefficient(equation.index[d], variable_) == 0) continue;
      if (own || only_variable(equation.index[d]) != variable_ ||
          coefficient(equation.index[d], variable_) != 1)
        return false;
      own = Axis{d, equation.index[d].constant};
    }
    if (!own) return true;
    for (std::size_t v = 0; v < loop_.around.size(); ++v) {
      if (loop_.around[v]) continue;
      const auto names = [&](const Affine& form) {
        return only_variable(form) == v && coefficient(form, v) == 1;
      };
      const auto form = std::ranges::find_if(equation.index, names);
      if (form == equation.index.end()) return false;
      own->around.emplace(form - equation.index.begin(), plain(*form, v));
    }
    const auto [known, is_new] = axes_.try_emplace(equation.target, *own);
    return is_new || known->second == *own;
  }

  /// Without zeros at its end.
  static Affine plain(const Affine& form, std::size_t variable) {
    Affine result{std::vector<std::int64_t>(variable + 1, 0), form.constant};
    result.coefficients.back() = 1;
    return result;
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

  /// The value of an index of a loop around, if it has one in all equations of this loop.
  [[nodiscard]] std::optional<std::int64_t> only_value(std::size_t variable) const {
    std::optional<std::int64_t> result;
    for (std::size_t e = 0; e < in_loop_.size(); ++e) {
      if (!in_loop_[e]) continue;
      const auto value = pinned(system_.equations[e], variable);
      if (!value || (result && result != value)) return std::nullopt;
      result = value;
    }
    return result;
  }

  /// Number of iterations before its own that an equation of the loop reads; none where that is no one number, or of
  /// another run of the loop.
  [[nodiscard]] std::optional<std::int64_t> lag_of(const Access& access, const Axis& axis) const {
    for (const auto& [dimension, own] : axis.around) {
      const Affine& form = access.index[dimension];
      const auto variable = only_variable(form);
      if (variable) {
        if (coefficient(form, *variable) != 1 || plain(form, *variable) != own) return std::nullopt;
        continue;
      }
      // Of a loop around with one iteration, subscripts are numbers.
      const auto only = only_value(own.coefficients.size() - 1);
      if (!only || form.constant != *only + own.constant) return std::nullopt;
    }
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

  /// The other flags that are false when this one is, or an iteration later: all of which that follows where the others
  /// are, by induction over what loops inside compute one after the other.
  void find_false() {
    for (const auto& [tensor, axis] : axes_) {
      if (system_.at(tensor).dtype == DType::boolean) false_after_[tensor] = 0;
    }
    false_after_[flag_] = 0;
    for (bool changes = true; std::exchange(changes, false);) {
      for (auto flag = false_after_.begin(); flag != false_after_.end();) {
        auto& [tensor, after] = *flag;
        if (tensor == flag_ || is_false(tensor, after)) {
          ++flag;
          continue;
        }
        changes = true;
        flag = after++ == 0 ? flag : false_after_.erase(flag);
      }
    }
  }

  [[nodiscard]] bool is_false(TensorId tensor, std::int64_t after) const {
    bool all = true, any = false;
    each_equation(tensor, after == 0, [&](const Equation& equation) {
      any = true;
      all = all && truth(equation.expr, after) == Truth::no;
    });
    return all && any;
  }

  [[nodiscard]] bool stays_false() const {
    bool result = true;
    each_equation(flag_, false,
                  [&](const Equation& equation) { result = result && truth(equation.expr, 1) == Truth::no; });
    return result;
  }

  /// The operand that is left of nested choices by flags, or the expression itself.
  [[nodiscard]] ExprId resolved(ExprId id) const {
    const auto* apply = std::get_if<Apply>(&system_.at(id).node);
    if (apply == nullptr) return id;
    if (apply->op == Op::where) {
      const Truth chosen = truth(apply->operands[0], 1);
      return chosen == Truth::unknown ? id : resolved(apply->operands[chosen == Truth::yes ? 1 : 2]);
    }
    if (apply->op != Op::logical_or && apply->op != Op::logical_and) return id;
    const Truth neutral = apply->op == Op::logical_or ? Truth::no : Truth::yes;
    if (truth(apply->operands[1], 1) == neutral) return resolved(apply->operands[0]);
    return truth(apply->operands[0], 1) == neutral ? resolved(apply->operands[1]) : id;
  }

  /// The access that is left of an equation's expression, if it is to a tensor of the loop.
  [[nodiscard]] const Access* rest(const Equation& equation) const {
    const auto* access = std::get_if<Access>(&system_.at(resolved(equation.expr)).node);
    return access != nullptr && axes_.contains(access->tensor) ? access : nullptr;
  }

  /// Without the loop's own subscript.
  static std::vector<Affine> element(std::vector<Affine> index, const Axis& axis) {
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis.dimension));
    return index;
  }

  /// The copies that make a tensor's elements in iterations that change none; empty where an equation computes them.
  [[nodiscard]] std::vector<ElementCopy> copies(TensorId tensor) const {
    std::vector<ElementCopy> result;
    bool all = true;
    each_equation(tensor, false, [&](const Equation& equation) {
      const auto* access = rest(equation);
      const auto lag = access != nullptr ? lag_of(*access, axes_.at(access->tensor)) : std::nullopt;
      all = all && lag;
      if (!all) return;
      result.push_back({&equation, element(equation.index, axes_.at(tensor)), access->tensor, *lag,
                        element(access->index, axes_.at(access->tensor))});
    });
    return all ? result : std::vector<ElementCopy>();
  }

  /// The elements of variables that the loop's tensors hold, as far as they say it, without the loop's own subscript.
  [[nodiscard]] HeldElements held() const {
    HeldElements result;
    for (const auto& [tensor, axis] : axes_) {
      auto forms = system_.at(tensor).holds;
      const auto is_of_loop = [&](const Affine& form) { return coefficient(form, axis.dimension) != 0; };
      if (forms.empty() || std::ranges::any_of(forms, is_of_loop)) continue;
      for (Affine& form : forms) {
        if (axis.dimension < form.coefficients.size())
          form.coefficients.erase(form.coefficients.begin() + static_cast<std::ptrdiff_t>(axis.dimension));
      }
      result[system_.at(tensor).user_name()].emplace(tensor, std::move(forms));
    }
    return result;
  }

  /// Of a form at the points of an equation, where it is one number.
  static std::optional<std::int64_t> value(const Equation& equation, const Affine& form) {
    std::int64_t result = form.constant;
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      const auto only = form.coefficients[v] == 0     ? std::optional<std::int64_t>(0)
                        : v < equation.indices.size() ? pinned(equation, v)
                                                      : std::nullopt;
      if (!only) return std::nullopt;
      result += form.coefficients[v] * *only;
    }
    return result;
  }

  /// Of a tensor of the loop.
  Settling settled(TensorId tensor) {
    if (const auto known = settled_.find(tensor); known != settled_.end()) return known->second;
    settled_[tensor] = std::nullopt;  // for one that depends on itself
    if (false_after_.contains(tensor)) return settled_[tensor] = false_after_[tensor];
    if (kept_.contains(tensor)) return settled_[tensor] = kept_[tensor];
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
    const auto iteration = value(equation, access.index[axis.dimension]);
    if (!iteration) return std::nullopt;
    return *iteration - axis.offset <= first_ ? Settling(0) : settled(access.tensor);
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
  const Loop& loop_;
  std::size_t variable_;
  TensorId flag_;
  std::vector<bool> in_loop_;  // By equation.
  std::map<TensorId, Axis> axes_;
  std::int64_t first_ = far, last_ = -far;  // Iterations.
  bool is_flag_ = false;                    // It stays false.
  std::optional<EquationId> obstacle_;
  std::map<TensorId, std::int64_t> false_after_;  // The first iteration in which the flag is false.
  std::map<TensorId, Settling> settled_;          // None also of those in hand.
  std::map<TensorId, std::int64_t> kept_;         // The iteration from which on the tensor keeps its values.
};

}  // namespace

}  // namespace exits

std::vector<EarlyExit> early_exits(const System& system) {
  if (!exits::may_have_flags(system)) return {};
  const System seen = exits::with_first_indices(exits::with_loops_first(system).value_or(system));
  std::vector<EarlyExit> result;
  for (std::size_t t = 0; t < seen.tensors.size(); ++t) {
    const auto loop = exits::flag_loop(seen, TensorId(t));
    if (!loop) continue;
    if (auto exit = exits::ExitAnalysis(seen, *loop, TensorId(t)).run()) result.push_back(std::move(*exit));
  }
  return result;
}

std::vector<LostExit> lost_exits(const System& system) {
  if (!exits::may_have_flags(system)) return {};
  const System seen = exits::with_first_indices(exits::with_loops_first(system).value_or(system));
  std::vector<LostExit> result;
  for (std::size_t t = 0; t < seen.tensors.size(); ++t) {
    const auto loop = exits::flag_loop(seen, TensorId(t));
    if (!loop) continue;
    exits::ExitAnalysis analysis(seen, *loop, TensorId(t));
    if (analysis.run()) continue;
    const auto because = analysis.obstacle();
    auto outer = because ? std::string() : analysis.bounded_by();
    if (because || !outer.empty()) result.push_back({TensorId(t), because, std::move(outer)});
  }
  return result;
}

System copy_results(const System& system) {
  System result = exits::with_loops_first(system).value_or(system);
  bool changed = false;
  for (std::size_t t = 0; t < system.tensors.size(); ++t) {
    const auto loop = exits::flag_loop(result, TensorId(t));
    const auto known = [](const std::optional<std::int64_t>& value) { return value.has_value(); };
    if (!loop || std::ranges::all_of(loop->around, known)) continue;
    const System seen = exits::with_first_indices(result);
    exits::ExitAnalysis analysis(seen, *loop, TensorId(t));
    if (!analysis.run()) continue;
    result = exits::copy_results(result, *loop, analysis.axes(), analysis.last());
    changed = true;
  }
  // Other equations nest as before: an order of all indices is to agree with each of them.
  return changed ? exits::nested_as(std::move(result), system) : system;
}

}  // namespace cyclotron::recurrence
