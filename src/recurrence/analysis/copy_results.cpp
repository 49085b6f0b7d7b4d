#include "copy_results.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence::exits {

namespace {

/// Copies the values that a run of a loop leaves to the next one.
class ResultCopier {
 public:
  ResultCopier(const System& system, const Loop& loop, const std::map<TensorId, Axis>& axes,
               std::int64_t last)
      : result_(system), loop_(loop), axes_(axes), last_(last) {}

  System run() {
    const std::size_t equations = result_.equations.size();
    if (!loop_.around.back()) return std::move(result_);  // nothing comes after the loop in those around
    for (std::size_t e = 0; e < equations; ++e) {
      reads_after_others_ = is_after_others(result_.equations[e]);
      result_.equations[e].expr = replaced(ExprId(result_.equations[e].expr));
    }
    for (std::size_t e = 0; e < equations; ++e) {
      const auto copy = copies_.find(result_.equations[e].target);
      if (copy != copies_.end() && loop_.holds(result_.equations[e]))
        add_copy(result_.equations[e], copy->second);
    }
    return std::move(result_);
  }

 private:
  /// True where the equation comes after a loop around this one, and so after more than one run of this one.
  [[nodiscard]] bool is_after_others(const Equation& reader) const {
    bool elsewhere = false;
    for (std::size_t v = 0; v < loop_.around.size(); ++v) {
      const bool same = v < reader.indices.size() && reader.indices[v] == loop_.names[v];
      if (!loop_.around[v] && elsewhere) return true;
      elsewhere = elsewhere || !same || (loop_.around[v] && pinned(reader, v) != loop_.around[v]);
    }
    return false;
  }

  /// True where the access is to what an earlier run of the loop left.
  [[nodiscard]] bool is_result(const Access& access, const Axis& axis) const {
    const Affine& form = access.index[axis.dimension];
    if (!std::ranges::all_of(form.coefficients, [](auto c) { return c == 0; }) ||
        form.constant != last_ + axis.offset)
      return false;
    return reads_after_others_ || std::ranges::any_of(axis.around, [&](const auto& outer) {
             const Affine& at = access.index[outer.first];
             return only_variable(at) != only_variable(outer.second) || at.constant != outer.second.constant;
           });
  }

  /// The expression with the copies in place of the results; itself where it reads none.
  ExprId replaced(ExprId id) {
    Expr expr = result_.at(id);
    const bool changed =
        std::visit(Overloaded{[](const Constant&) { return false; }, [](const Index&) { return false; },
                              [&](Access& access) { return replace(access); },
                              [&](Apply& apply) {
                                bool any = false;
                                for (ExprId& operand : apply.operands) {
                                  const ExprId old = operand;
                                  operand = replaced(old);
                                  any = any || operand != old;
                                }
                                return any;
                              },
                              [&](Reduce& reduce) {
                                const ExprId old = reduce.body;
                                reduce.body = replaced(old);
                                return reduce.body != old;
                              }},
                   expr.node);
    return changed ? add(std::move(expr)) : id;
  }

  bool replace(Access& access) {
    const auto axis = axes_.find(access.tensor);
    if (axis == axes_.end() || !is_result(access, axis->second)) return false;
    access.index.erase(access.index.begin() + static_cast<std::ptrdiff_t>(axis->second.dimension));
    access.tensor = copy_of(access.tensor, axis->second.dimension);
    return true;
  }

  TensorId copy_of(TensorId tensor, std::size_t dimension) {
    const auto [known, is_new] = copies_.try_emplace(tensor, TensorId(result_.tensors.size()));
    if (!is_new) return known->second;
    Tensor copy = result_.at(tensor);
    copy.variable = copy.user_name();
    copy.role = Role::local;
    copy.holds.clear();
    copy.shape.erase(copy.shape.begin() + static_cast<std::ptrdiff_t>(dimension));
    copy.tile.erase(copy.tile.begin() + static_cast<std::ptrdiff_t>(dimension));
    do copy.name += "_end";
    while (std::ranges::find(result_.tensors, copy.name, &Tensor::name) != result_.tensors.end());
    result_.tensors.push_back(std::move(copy));
    return known->second;
  }

  ExprId add(Expr expr) {
    result_.exprs.push_back(std::move(expr));
    return ExprId(result_.exprs.size() - 1);
  }

  /// The copy of what an equation assigns in the last iteration, one step after the loop.
  void add_copy(const Equation& equation, TensorId target) {
    const std::size_t variable = loop_.variable();
    std::vector<std::optional<std::int64_t>> fixed(equation.indices.size());
    fixed[variable] = last_;
    for (std::size_t v = variable + 1; v < fixed.size(); ++v) fixed[v] = pinned(equation, v);
    Equation copy{target, {}, {}, {}, {}, equation.span};
    for (std::size_t v = 0; v < fixed.size(); ++v) {
      if (!fixed[v]) copy.indices.push_back(equation.indices[v]);
    }
    const auto moved = [&](const Affine& form) {
      Affine result{{}, form.constant};
      for (std::size_t v = 0; v < fixed.size(); ++v) {
        if (fixed[v]) {
          result.constant += coefficient(form, v) * *fixed[v];
        } else {
          result.coefficients.push_back(coefficient(form, v));
        }
      }
      return result;
    };
    for (const auto& conjunction : equation.domain) {
      std::vector<Constraint> all;
      bool holds = true;
      for (Constraint constraint : conjunction) {
        constraint.form.constant -= coefficient(constraint.form, variable - 1);  // one step later
        constraint.form = moved(constraint.form);
        const auto& [form, equality, modulus, most] = constraint;
        if (!std::ranges::all_of(form.coefficients, [](auto c) { return c == 0; })) {
          all.push_back(std::move(constraint));
        } else if (modulus == 0) {
          holds = holds && (equality ? form.constant == 0 : form.constant >= 0);
        } else {
          holds = holds && ((form.constant % modulus) + modulus) % modulus <= most;
        }
      }
      if (holds) copy.domain.push_back(std::move(all));
    }
    if (copy.domain.empty()) return;
    Access access{equation.target, {}};
    for (const Affine& form : equation.index) access.index.push_back(moved(form));
    copy.index = access.index;
    copy.index.erase(copy.index.begin() + static_cast<std::ptrdiff_t>(axes_.at(equation.target).dimension));
    copy.expr = add({std::move(access), equation.span});
    result_.equations.push_back(std::move(copy));
  }

  System result_;
  const Loop& loop_;
  const std::map<TensorId, Axis>& axes_;
  std::int64_t last_;
  bool reads_after_others_ = false;
  std::map<TensorId, TensorId> copies_;
};

}  // namespace

System copy_results(const System& system, const Loop& loop, const std::map<TensorId, Axis>& axes,
                    std::int64_t last) {
  return ResultCopier(system, loop, axes, last).run();
}

}  // namespace cyclotron::recurrence::exits
