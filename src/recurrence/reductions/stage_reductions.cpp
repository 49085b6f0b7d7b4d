#include <cyclotron/recurrence/stage_reductions.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "variable_map.hpp"

namespace cyclotron::recurrence {

namespace {

class Stager {
 public:
  Stager(const System& system, const std::vector<std::string>& indices)
      : system_(system), indices_(indices) {}

  System run() {
    for (auto& equation : system_.equations) {
      rewritten_.clear();
      VariableMap map(equation.indices.size());
      std::iota(map.begin(), map.end(), std::size_t{0});
      equation.expr = rewrite(equation.expr, map);
    }
    if (!nested_) refuse_indices();
    return std::move(system_);
  }

 private:
  /// A value used twice in scopes that change alike stays one value.
  ExprId rewrite(ExprId id, const VariableMap& map) {
    if (const auto known = rewritten_.find({id, map}); known != rewritten_.end()) return known->second;
    const Expr expr = system_.at(id);
    const auto result =
        std::visit(Overloaded{[&](const Constant&) { return id; },
                              [&](const Index& index) {
                                Index moved{map_variables(index.form, map), index.dtype};
                                return moved == index ? id : add(std::move(moved), expr.span);
                              },
                              [&](const Access& access) {
                                Access moved = access;
                                for (auto& form : moved.index) form = map_variables(form, map);
                                return moved == access ? id : add(std::move(moved), expr.span);
                              },
                              [&](const Apply& apply) {
                                Apply moved = apply;
                                for (auto& operand : moved.operands) operand = rewrite(operand, map);
                                return moved == apply ? id : add(std::move(moved), expr.span);
                              },
                              [&](const Reduce&) { return rewrite_nest(id, map); }},
                   expr.node);
    rewritten_.emplace(std::pair{id, map}, result);
    return result;
  }

  struct Nested {
    Reduce reduce;
    Span span;
    std::size_t variable;  ///< As it was.
  };

  /// The place of an index in the order; those that are not in it do not move.
  [[nodiscard]] std::size_t stage(const Reduce& reduce) const {
    return static_cast<std::size_t>(std::ranges::find(indices_, reduce.index) - indices_.begin());
  }
  [[nodiscard]] bool is_staged(const Reduce& reduce) const { return stage(reduce) < indices_.size(); }

  ExprId rewrite_nest(ExprId id, VariableMap map) {
    std::vector<Nested> nest;  // Outermost first.
    for (ExprId at = id;;) {
      const auto& expr = system_.at(at);
      const auto* reduce = std::get_if<Reduce>(&expr.node);
      const bool joins = reduce != nullptr &&
                         (nest.empty() || (is_staged(nest.front().reduce) && is_staged(*reduce) &&
                                           reduce->kind == nest.front().reduce.kind && !reduce->descending));
      if (!joins) break;
      nest.push_back({*reduce, expr.span, map.size() + nest.size()});
      at = reduce->body;
    }
    nested_ = nested_ || nest.size() > 1;
    const auto first = map.size();
    const ExprId innermost = nest.back().reduce.body;
    std::ranges::stable_sort(nest, std::greater{}, [&](const Nested& one) { return stage(one.reduce); });
    map.resize(first + nest.size());
    for (std::size_t n = 0; n < nest.size(); ++n) map[nest[n].variable] = first + n;
    ExprId body = rewrite(innermost, map);
    for (std::size_t n = nest.size(); n-- > 0;) {
      Reduce reduce = nest[n].reduce;
      reduce.domain = map_variables(reduce.domain, map);
      require_known(reduce, first + n, nest[n].span);
      reduce.body = body;
      body = add(std::move(reduce), nest[n].span);
    }
    return body;
  }

  /// The range of a reduction over that variable depends on those around it alone.
  void require_known(const Reduce& reduce, std::size_t variable, const Span& span) const {
    for (const auto& conjunction : reduce.domain) {
      for (const auto& constraint : conjunction) {
        if (constraint.form.coefficients.size() <= variable + 1) continue;
        throw ScheduleError(
            {.code = "CYC318",
             .span = span,
             .message = fmt::format("the schedule reduces in the stages {}, but the range of `{}` depends on "
                                    "the index of a stage before it",
                                    fmt::join(indices_, ", "), reduce.index),
             .notes = {},
             .help = fmt::format("name `{}` before the indices that its range depends on", reduce.index)});
      }
    }
  }

  [[noreturn]] void refuse_indices() const {
    throw ScheduleError(
        {.code = "CYC318",
         .span = {},
         .message = fmt::format("the schedule reduces in the stages {}, but no two of these are indices of "
                                "reductions of one kind, one directly within the other",
                                fmt::join(indices_, ", ")),
         .notes = {},
         .help =
             "name the indices of a sum over several, as `cy.sum` of a matrix has them, and those between"});
  }

  ExprId add(decltype(Expr::node) node, const Span& span) {
    system_.exprs.push_back({std::move(node), span});
    return ExprId(system_.exprs.size() - 1);
  }

  System system_;
  const std::vector<std::string>& indices_;
  bool nested_ = false;
  std::map<std::pair<ExprId, VariableMap>, ExprId> rewritten_;
};

}  // namespace

System stage_reductions(const System& system, const std::vector<std::string>& indices) {
  return indices.empty() ? system : Stager(system, indices).run();
}

}  // namespace cyclotron::recurrence
