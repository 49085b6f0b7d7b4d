// Slow, obvious evaluators of recurrences and of dataflow on scalars, point by point: what the compiler is
// compared with.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::testing {

using Point = std::vector<std::int64_t>;
using Elements = std::map<Point, double>;         ///< Of one tensor.
using Tensors = std::map<std::string, Elements>;  ///< By name.

inline bool contains(const std::vector<poly::Conjunction>& pieces, const Point& point) {
  return std::ranges::any_of(pieces, [&](const poly::Conjunction& piece) {
    const auto holds = [&](const poly::Constraint& c) {
      const auto value = poly::evaluate(c.form, point);
      return c.equality ? value == 0 : value >= 0;
    };
    const auto divides = [&](const auto& c) { return poly::evaluate(c.first, point) % c.second == 0; };
    return std::ranges::all_of(piece.constraints, holds) && std::ranges::all_of(piece.divisible, divides);
  });
}

/// The points of a bounded set in lexicographic order, by trying all of its bounding box.
inline std::vector<Point> points_of(const poly::Set& set) {
  std::vector<Point> result;
  if (set.is_empty()) return result;
  const auto pieces = set.conjunctions();
  CYC_CHECK(pieces.has_value());
  Point low, high;
  for (std::size_t d = 0; d < set.dimensions(); ++d) {
    low.push_back(set.minimum(d).value());
    high.push_back(set.maximum(d).value());
  }
  for (Point point = low;;) {
    if (contains(*pieces, point)) result.push_back(point);
    std::size_t d = point.size();
    while (d > 0 && point[d - 1] == high[d - 1]) {
      point[d - 1] = low[d - 1];
      --d;
    }
    if (d == 0) return result;
    ++point[d - 1];
  }
}

inline double apply_scalar(operators::Op op, const std::vector<double>& x) {
  using operators::Op;
  switch (op) {
    case Op::add: return x[0] + x[1];
    case Op::subtract: return x[0] - x[1];
    case Op::multiply:
    case Op::matmul: return x[0] * x[1];
    case Op::divide: return x[0] / x[1];
    case Op::maximum: return std::max(x[0], x[1]);
    case Op::minimum: return std::min(x[0], x[1]);
    case Op::negative: return -x[0];
    case Op::sqrt:
    case Op::cholesky: return std::sqrt(x[0]);
    case Op::multiply_add:
    case Op::matmul_add: return x[0] + x[1] * x[2];
    case Op::matmul_subtract: return x[0] - x[1] * x[2];
    default: CYC_CHECK(false, "an operator that the tests use"); return 0;
  }
}

/// All elements of all tensors that the equations assign, and the inputs.
class SystemEvaluator {
 public:
  SystemEvaluator(const recurrence::System& system, Tensors inputs)
      : system_(system), values_(std::move(inputs)) {
    const poly::Context context;
    for (std::size_t e = 0; e < system.equations.size(); ++e) {
      const auto& equation = system.equations[e];
      for (const auto& point : points_of(recurrence::domain_of(context, equation))) {
        sources_[name(equation.target)][at(equation.index, point)] = {e, point};
      }
    }
  }

  Tensors run() {
    for (const auto& [tensor, elements] : sources_) {
      for (const auto& [element, source] : elements) (void)value(tensor, element);
    }
    return values_;
  }

 private:
  [[nodiscard]] const std::string& name(recurrence::TensorId id) const { return system_.at(id).name; }
  static Point at(const std::vector<recurrence::Affine>& forms, const Point& point) {
    Point result;
    for (const auto& form : recurrence::to_poly(forms, point.size()))
      result.push_back(poly::evaluate(form, point));
    return result;
  }

  double value(const std::string& tensor, const Point& element) {
    const auto known = values_[tensor].find(element);
    if (known != values_[tensor].end()) return known->second;
    CYC_CHECK(sources_[tensor].contains(element), tensor);
    const auto& [equation, point] = sources_[tensor].at(element);
    const double result = evaluate(system_.equations[equation].expr, point);
    values_[tensor][element] = result;
    return result;
  }

  double evaluate(recurrence::ExprId id, const Point& point) {
    return std::visit(Overloaded{[](const recurrence::Constant& c) { return c.real; },
                                 [&](const recurrence::Index& index) {
                                   return static_cast<double>(at({index.form}, point).front());
                                 },
                                 [&](const recurrence::Access& access) {
                                   return value(name(access.tensor), at(access.index, point));
                                 },
                                 [&](const recurrence::Apply& apply) {
                                   std::vector<double> operands;
                                   for (const auto operand : apply.operands)
                                     operands.push_back(evaluate(operand, point));
                                   return apply_scalar(apply.op, operands);
                                 },
                                 [&](const recurrence::Reduce& reduce) { return fold(reduce, point); }},
                      system_.at(id).node);
  }

  double fold(const recurrence::Reduce& reduce, Point point) {
    using operators::Op;
    static constexpr Op combine[] = {Op::add, Op::multiply, Op::maximum, Op::minimum};
    std::optional<double> total;
    point.push_back(0);
    for (auto value = -range_; value <= range_; ++value) {
      point.back() = reduce.descending ? -value : value;
      const bool inside = std::ranges::any_of(reduce.domain, [&](const auto& all) {
        return std::ranges::all_of(all, [&](const recurrence::Constraint& c) {
          const auto v = poly::evaluate(recurrence::to_poly(c.form, point.size()), point);
          if (c.modulus != 0) return v % c.modulus == 0;
          return c.equality ? v == 0 : v >= 0;
        });
      });
      if (!inside) continue;
      const double term = evaluate(reduce.body, point);
      total = total ? apply_scalar(combine[static_cast<std::size_t>(reduce.kind)], {*total, term}) : term;
    }
    return total.value_or(reduce.kind == recurrence::Reduction::product ? 1 : 0);
  }

  static constexpr std::int64_t range_ = 16;
  const recurrence::System& system_;
  Tensors values_;
  std::map<std::string, std::map<Point, std::pair<std::size_t, Point>>> sources_;
};

/// Return what the Export rules store, computing each value from the one rule that defines it.
class GraphEvaluator {
 public:
  GraphEvaluator(const dataflow::Graph& graph, const Tensors& inputs)
      : graph_(graph), inputs_(inputs), values_(graph.flows.size()), rules_(graph.flows.size()) {
    for (std::size_t r = 0; r < graph.rules.size(); ++r) {
      if (std::holds_alternative<dataflow::Export>(graph.rules[r].action)) continue;
      for (const auto& point : points_of(graph.rules[r].domain)) {
        const bool first = rules_[graph.rules[r].flow.index()].emplace(point, r).second;
        CYC_CHECK(first, "two rules define a value");
      }
    }
  }

  Tensors run() {
    Tensors stored;
    for (const auto& rule : graph_.rules) {
      if (!std::holds_alternative<dataflow::Export>(rule.action)) continue;
      const auto& flow = graph_.at(rule.flow);
      for (const auto& point : points_of(rule.domain)) {
        const bool first = stored[graph_.at(flow.tensor).name]
                               .emplace(at(flow.element, point), value(rule.flow, point))
                               .second;
        CYC_CHECK(first, "an element is stored twice");
      }
    }
    return stored;
  }

 private:
  static Point at(const std::vector<poly::Affine>& forms, const Point& point) {
    Point result;
    for (const auto& form : forms) result.push_back(poly::evaluate(form, point));
    return result;
  }

  double value(dataflow::FlowId flow, const Point& point) {
    auto& known = values_[flow.index()];
    const auto found = known.find(point);
    if (found != known.end()) {
      CYC_CHECK(found->second.has_value(), "a value depends on itself");
      return *found->second;
    }
    known[point] = std::nullopt;
    const auto rule = rules_[flow.index()].find(point);
    CYC_CHECK(rule != rules_[flow.index()].end(), "no rule defines a value: " + flow_text(graph_, flow));
    const double result = defined_by(graph_.rules[rule->second], point);
    values_[flow.index()][point] = result;
    return result;
  }

  double defined_by(const dataflow::Rule& rule, const Point& point) {
    const auto& flow = graph_.at(rule.flow);
    return std::visit(Overloaded{[&](const dataflow::Inject&) {
                                   return inputs_.at(graph_.at(flow.tensor).name).at(at(flow.element, point));
                                 },
                                 [&](const dataflow::Transfer& transfer) {
                                   return value(transfer.source, at(transfer.from, point));
                                 },
                                 [&](const dataflow::Compute& compute) { return compute_at(compute, point); },
                                 [](const dataflow::Export&) { return 0.0; }},
                      rule.action);
  }

  double compute_at(const dataflow::Compute& compute, const Point& point) {
    std::vector<double> terms;
    for (const auto& term : compute.terms) {
      terms.push_back(std::visit(Overloaded{[&](const dataflow::FlowRef& ref) {
                                              Point source = point;
                                              for (std::size_t d = 0; d < source.size(); ++d)
                                                source[d] += ref.offset[d];
                                              return value(ref.flow, source);
                                            },
                                            [](const dataflow::Constant& c) { return c.real; },
                                            [&](const dataflow::Index& index) {
                                              return static_cast<double>(poly::evaluate(index.form, point));
                                            },
                                            [&](const dataflow::Apply& apply) {
                                              std::vector<double> operands;
                                              for (const auto operand : apply.operands)
                                                operands.push_back(terms[operand]);
                                              return apply_scalar(apply.op, operands);
                                            }},
                                 term));
    }
    return terms.back();
  }

  const dataflow::Graph& graph_;
  const Tensors& inputs_;
  std::vector<std::map<Point, std::optional<double>>> values_;
  std::vector<std::map<Point, std::size_t>> rules_;
};

/// Inputs of small integers; square ones are lower-triangular factors or products of them, so that
/// solving is exact.
inline Tensors sample_inputs(const recurrence::System& system) {
  Tensors inputs;
  const poly::Context context;
  const auto factor = [](std::int64_t i, std::int64_t j) -> double {
    if (j > i) return 0;
    return i == j ? static_cast<double>(1 + i % 2) : static_cast<double>((3 * i + 5 * j) % 5 - 2);
  };
  for (const auto& tensor : system.tensors) {
    if (tensor.role != recurrence::Role::input) continue;
    for (const auto& point : points_of(recurrence::elements_of(context, tensor))) {
      double value = static_cast<double>(tensor.name.front() % 7);
      for (const auto p : point) value = std::fmod(3 * value + 5 * static_cast<double>(p) + 1, 11);
      if (tensor.name == "L") value = factor(point[0], point[1]);
      if (system.kernel == "cholesky") {
        value = 0;
        for (std::int64_t k = 0; k < 16; ++k) value += factor(point[0], k) * factor(point[1], k);
      }
      inputs[tensor.name][point] = value - (system.kernel == "cholesky" || tensor.name == "L" ? 0 : 5);
    }
  }
  return inputs;
}

/// The elements of one output, from sample inputs.
inline Elements outputs(const recurrence::System& system, const std::string& name) {
  return SystemEvaluator(system, sample_inputs(system)).run().at(name);
}

}  // namespace cyclotron::testing
