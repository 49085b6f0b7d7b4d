#include <cyclotron/recurrence/split_reductions.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::recurrence {

namespace {

/// The indices around an expression and the points at which it is needed; the first `loops` are the
/// equation's, the others those of reductions around it.
struct Surroundings {
  std::vector<std::string> names;
  Region domain;
  std::size_t loops = 0;
};

Surroundings inside(const Surroundings& scope, const Reduce& reduce) {
  Surroundings result{scope.names, intersection(scope.domain, reduce.domain), scope.loops};
  result.names.push_back(reduce.index);
  return result;
}

bool uses(const Affine& form, std::size_t variable) {
  return variable < form.coefficients.size() && form.coefficients[variable] != 0;
}

void forget(Affine& form, std::size_t variable) {
  if (variable < form.coefficients.size())
    form.coefficients.erase(form.coefficients.begin() + static_cast<std::ptrdiff_t>(variable));
}

class ReductionSplitter {
 public:
  explicit ReductionSplitter(const System& system) : system_(system) {}

  System run() {
    const auto equations = std::move(system_.equations);
    system_.equations.clear();
    for (const auto& equation : equations) split(equation);
    return std::move(system_);
  }

 private:
  /// A reduction that has got a tensor.
  struct Hoisted {
    ExprId reduction;
    std::vector<std::string> names;
    Region domain;
    ExprId access;
  };

  /// Appends the equations of the local tensors, then the equation itself.
  void split(Equation equation) {
    std::vector<ExprId> found;
    collect(equation.expr, found);
    if (found.size() > 1) {
      const auto outer = std::exchange(hoisted_, {});
      const auto outer_kept = std::exchange(kept_, {});
      target_ = equation.target;
      const auto kept = choose(equation, found);
      equation.expr =
          rewrite(equation.expr, kept, {equation.indices, equation.domain, equation.indices.size()});
      hoisted_ = outer;
      kept_ = outer_kept;
    }
    system_.equations.push_back(std::move(equation));
  }

  /// The reductions of an expression, outer before inner, each once.
  void collect(ExprId id, std::vector<ExprId>& found) const {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<Apply>(&node)) {
      for (const auto operand : apply->operands) collect(operand, found);
    } else if (const auto* reduce = std::get_if<Reduce>(&node)) {
      if (std::ranges::find(found, id) == found.end()) found.push_back(id);
      collect(reduce->body, found);
    }
  }

  /// The reduction that stays: of those in no other, the first that reads the target, else the first.
  [[nodiscard]] ExprId choose(const Equation& equation, const std::vector<ExprId>& found) const {
    std::vector<ExprId> outermost;
    collect_outermost(equation.expr, outermost);
    for (const auto id : outermost) {
      if (reads(id, equation.target)) return id;
    }
    if (const auto last = last_onward(equation.expr)) return *last;
    return outermost.empty() ? found.front() : outermost.front();
  }

  /// The reduction of the outermost sum that goes on from its first operand, which may go on from others.
  [[nodiscard]] std::optional<ExprId> last_onward(ExprId id) const {
    const auto* apply = std::get_if<Apply>(&system_.at(id).node);
    if (apply == nullptr) return std::nullopt;
    if (goes_onward(*apply)) return apply->operands[1];
    for (const auto operand : apply->operands) {
      if (const auto found = last_onward(operand)) return found;
    }
    return std::nullopt;
  }

  [[nodiscard]] bool goes_onward(const Apply& apply) const {
    return (apply.flags & operators::onward) != 0 &&
           std::holds_alternative<Reduce>(system_.at(apply.operands[1]).node);
  }

  void collect_outermost(ExprId id, std::vector<ExprId>& found) const {
    const auto& node = system_.at(id).node;
    if (std::holds_alternative<Reduce>(node)) found.push_back(id);
    if (const auto* apply = std::get_if<Apply>(&node)) {
      for (const auto operand : apply->operands) collect_outermost(operand, found);
    }
  }

  [[nodiscard]] bool reads(ExprId id, TensorId tensor) const {
    return std::visit(Overloaded{[](const Constant&) { return false; }, [](const Index&) { return false; },
                                 [&](const Access& access) { return access.tensor == tensor; },
                                 [&](const Apply& apply) {
                                   return std::ranges::any_of(apply.operands,
                                                              [&](ExprId o) { return reads(o, tensor); });
                                 },
                                 [&](const Reduce& reduce) { return reads(reduce.body, tensor); }},
                      system_.at(id).node);
  }

  /// The expression with every reduction but `kept`, and what it goes on from, replaced by an access.
  ExprId rewrite(ExprId id, std::optional<ExprId> kept, const Surroundings& scope) {
    const Expr expr = system_.at(id);
    return std::visit(Overloaded{[&](const Constant&) { return id; }, [&](const Index&) { return id; },
                                 [&](const Access&) { return id; },
                                 [&](const Apply& apply) {
                                   if (goes_onward(apply) && apply.operands[1] != kept) {
                                     const auto& last = system_.at(apply.operands[1]);
                                     return hoist(id, Reduce(std::get<Reduce>(last.node)), scope);
                                   }
                                   Apply result = apply;
                                   for (auto& operand : result.operands)
                                     operand = rewrite(operand, kept, scope);
                                   return result == apply ? id : add(std::move(result), expr.span);
                                 },
                                 [&](const Reduce& reduce) {
                                   if (id != kept) return hoist(id, reduce, scope);
                                   if (kept_) return *kept_;  // its value is used twice
                                   Reduce result = reduce;
                                   result.body = rewrite(reduce.body, std::nullopt, inside(scope, reduce));
                                   kept_ = result == reduce ? id : add(std::move(result), expr.span);
                                   return *kept_;
                                 }},
                      expr.node);
  }

  /// Gives a reduction a tensor and returns the access of its value; once for the same points.
  ExprId hoist(ExprId id, const Reduce& reduce, const Surroundings& scope) {
    for (const auto& known : hoisted_) {
      if (known.reduction == id && known.names == scope.names && known.domain == scope.domain)
        return known.access;
    }
    const Span span = system_.at(id).span;
    std::vector<std::size_t> kept;  // positions in the scope
    Surroundings own{{}, scope.domain, 0};
    ExprId value = id;
    for (std::size_t v = 0; v < scope.names.size(); ++v) kept.push_back(v);
    for (std::size_t v = scope.names.size(); v-- > scope.loops;) {
      if (depends(value, v)) continue;
      const auto fewer = without(own.domain, kept.size(), v);
      if (!fewer) continue;
      own.domain = *fewer;
      value = drop(value, v);
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(v));
    }
    for (const auto v : kept) own.names.push_back(scope.names[v]);
    const auto [tensor, index] = declare(reduce, own, span);
    const auto access = add(Access{tensor, spread(index, kept)}, span);
    hoisted_.push_back({id, scope.names, scope.domain, access});
    const auto target = target_;
    split({tensor, index, own.names, own.domain, value, span});
    target_ = target;
    return access;
  }

  /// A box of the points, and their subscripts in it. Tiles get two axes of their own.
  std::pair<TensorId, std::vector<Affine>> declare(const Reduce& reduce, const Surroundings& scope,
                                                   const Span& span) {
    const auto rank = scope.names.size();
    const auto points = to_set(context_, scope.domain, rank);
    const auto& target = system_.at(target_);
    Tensor tensor{local_name(target.name, reduce.index),
                  dtype_of(system_, reduce.body, target.dtype),
                  Role::local,
                  {},
                  std::vector<std::int64_t>(rank, 1),
                  target.blocked,
                  span,
                  target.user_name()};
    std::vector<Affine> index;
    for (std::size_t v = 0; v < rank; ++v) {
      const auto low = points.minimum(v), high = points.maximum(v);
      tensor.shape.push_back(low && high ? *high - *low + 1 : 0);
      Affine subscript{std::vector<std::int64_t>(v + 1, 0), -low.value_or(0)};
      subscript.coefficients.back() = 1;
      index.push_back(std::move(subscript));
    }
    if (tensor.blocked) {
      const auto shape = tile_shape(system_, reduce.body);
      for (const auto size : {shape.rows, shape.columns}) {
        tensor.shape.push_back(size);
        tensor.tile.push_back(size);
        index.emplace_back();
      }
    }
    system_.tensors.push_back(std::move(tensor));
    return {TensorId(system_.tensors.size() - 1), std::move(index)};
  }

  [[nodiscard]] std::string local_name(const std::string& tensor, const std::string& index) const {
    const auto base = fmt::format("{}_{}", tensor, index);
    auto name = base;
    const auto taken = [&](const Tensor& other) { return other.name == name; };
    for (int n = 2; std::ranges::any_of(system_.tensors, taken); ++n) name = fmt::format("{}{}", base, n);
    return name;
  }

  /// Forms over the variables at these positions, as forms over all.
  static std::vector<Affine> spread(const std::vector<Affine>& forms,
                                    const std::vector<std::size_t>& positions) {
    std::vector<Affine> result;
    for (const auto& form : forms) {
      Affine wide{{}, form.constant};
      for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
        wide.coefficients.resize(std::max(wide.coefficients.size(), positions[v] + 1), 0);
        wide.coefficients[positions[v]] = form.coefficients[v];
      }
      result.push_back(std::move(wide));
    }
    return result;
  }

  /// True where an expression, its reductions' domains included, names a variable.
  [[nodiscard]] bool depends(ExprId id, std::size_t variable) const {
    const auto form_does = [&](const Affine& form) { return uses(form, variable); };
    return std::visit(
        Overloaded{
            [](const Constant&) { return false; }, [&](const Index& index) { return form_does(index.form); },
            [&](const Access& access) { return std::ranges::any_of(access.index, form_does); },
            [&](const Apply& apply) {
              return std::ranges::any_of(apply.operands, [&](ExprId o) { return depends(o, variable); });
            },
            [&](const Reduce& reduce) {
              for (const auto& conjunction : reduce.domain) {
                for (const auto& constraint : conjunction)
                  if (form_does(constraint.form)) return true;
              }
              return depends(reduce.body, variable);
            }},
        system_.at(id).node);
  }

  /// The same expression in a scope without that variable, which it does not depend on.
  ExprId drop(ExprId id, std::size_t variable) {
    Expr expr = system_.at(id);
    std::visit(Overloaded{[](const Constant&) {}, [&](Index& index) { forget(index.form, variable); },
                          [&](Access& access) {
                            for (auto& form : access.index) forget(form, variable);
                          },
                          [&](Apply& apply) {
                            for (auto& operand : apply.operands) operand = drop(operand, variable);
                          },
                          [&](Reduce& reduce) {
                            for (auto& conjunction : reduce.domain) {
                              for (auto& constraint : conjunction) forget(constraint.form, variable);
                            }
                            reduce.body = drop(reduce.body, variable);
                          }},
               expr.node);
    return add(std::move(expr.node), expr.span);
  }

  /// The region's shadow on the other variables; none where that is no plain region.
  [[nodiscard]] std::optional<Region> without(const Region& region, std::size_t variables,
                                              std::size_t variable) const {
    std::vector<std::size_t> keep;
    for (std::size_t v = 0; v < variables; ++v) {
      if (v != variable) keep.push_back(v);
    }
    return to_region(to_set(context_, region, variables).project(keep).coalesce());
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  System system_;
  poly::Context context_;
  TensorId target_;  ///< Of the equation that is being split; names its local tensors.
  std::vector<Hoisted> hoisted_;
  std::optional<ExprId> kept_;  ///< The reduction that stays, rewritten.
};

}  // namespace

System split_reductions(const System& system) { return ReductionSplitter(system).run(); }

}  // namespace cyclotron::recurrence
