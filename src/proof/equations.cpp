#include "equations.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/proof/trace.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "poll.hpp"
#include "points.hpp"

namespace cyclotron::proof {
namespace {

using recurrence::Equation;
using recurrence::ExprId;
using recurrence::Reduce;
using recurrence::Reduction;
using recurrence::System;

[[noreturn]] void too_large(std::int64_t limit) {
  throw CapacityError({.code = "CYC669",
                       .span = {},
                       .message = fmt::format("the recurrences have more than {} points", limit),
                       .notes = {},
                       .help = "check it exhaustively with a larger limit, or compile a smaller size"});
}

/// An element of a computed tensor: the equation and the point that define it, then its term.
struct Element {
  enum class State : std::uint8_t { unknown, open, known };
  std::uint32_t equation = none;  ///< None: never assigned.
  State state = State::unknown;
  TermId term = no_term;
  std::size_t point = 0;  ///< In the pool of points.
};

/// Computes elements on demand. No recursion from element to element, so that long chains cost no stack.
class Equations {
 public:
  Equations(const System& system, const program::Program& program, TermTable& terms, std::int64_t limit)
      : system_(system), program_(program), terms_(terms), limit_(limit), points_left_(limit) {
    match_tensors();
    for (std::uint32_t e = 0; e < system.equations.size(); ++e) define(e);
  }

  std::vector<std::vector<TermId>> outputs() {
    std::vector<std::vector<TermId>> result(program_.tensors.size());
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      if (system_.tensors[t].role != recurrence::Role::output) continue;
      auto& terms = result[program_tensor_[t]];
      for (std::size_t linear = 0; linear < elements_[t].size(); ++linear) {
        terms.push_back(compute(t, linear));
      }
    }
    // Equations that no output needs are computed all the same.
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      for (std::size_t linear = 0; linear < elements_[t].size(); ++linear) {
        if (elements_[t][linear].equation != none) (void)compute(t, linear);
      }
    }
    return result;
  }

  /// Of a computed tensor, after `outputs`; no_term where an element is never assigned.
  [[nodiscard]] std::vector<TermId> of(recurrence::TensorId tensor) const {
    std::vector<TermId> result;
    for (const Element& element : elements_[tensor.index()]) result.push_back(element.term);
    return result;
  }

 private:
  /// Each input and output of the recurrences is a tensor of the program, with the same name and shape.
  void match_tensors() {
    for (const auto& tensor : system_.tensors) {
      std::uint32_t found = none;
      for (std::uint32_t t = 0; t < program_.tensors.size(); ++t) {
        const auto& other = program_.tensors[t];
        if (other.name != tensor.name || tensor.role == recurrence::Role::local) continue;
        const bool both_inputs =
            (other.role != program::Role::output) == (tensor.role == recurrence::Role::input);
        if (other.dtype == tensor.dtype && other.shape == tensor.shape && other.tile == tensor.tile &&
            other.blocked == tensor.blocked && both_inputs) {
          found = t;
        }
      }
      program_tensor_.push_back(found);
      extents_.push_back(tensor.extents());
      auto& elements = elements_.emplace_back();
      if (tensor.role == recurrence::Role::output && found == none) no_such_tensor(tensor);
      if (tensor.role == recurrence::Role::input) continue;
      std::int64_t count = 1;
      for (const auto extent : extents_.back()) {
        if (extent > 0 && count > limit_ / extent) too_large(limit_);
        count *= extent;
      }
      elements.resize(static_cast<std::size_t>(count));
    }
  }

  [[noreturn]] void no_such_tensor(const recurrence::Tensor& tensor) const {
    throw LegalityError(
        {.code = "CYC666",
         .span = tensor.span,
         .message = fmt::format("the program has no tensor `{}` of the role, dtype, shape and tile that the "
                                "recurrences give it",
                                tensor.name),
         .notes = {},
         .help = "compare a program with the recurrences that it was compiled from"});
  }

  void spend(std::int64_t points = 1) {
    poll_.tick();
    points_left_ -= points;
    if (points_left_ < 0) too_large(limit_);
  }

  /// Notes which element each point of an equation defines.
  void define(std::uint32_t e) {
    const Equation& equation = system_.equations[e];
    const auto variables = equation.indices.size();
    const auto add = [&](const Point& point) {
      spend();
      auto& element =
          elements_[equation.target.index()][linear(equation.target, equation.index, point, equation.span)];
      if (element.equation == none) {
        element.equation = e;
        element.point = points_.size();
        points_.insert(points_.end(), point.begin(), point.end());
        return;
      }
      // Conjunctions of one domain may share points.
      if (element.equation == e && std::equal(point.begin(), point.end(),
                                              points_.begin() + static_cast<std::ptrdiff_t>(element.point))) {
        return;
      }
      fail(equation.span,
           fmt::format("`{}` is assigned twice", name(equation.target.index(), index_of(equation, point))));
    };
    if (for_each_point(equation.domain, variables, add)) return;
    // A domain whose loops do not bound one index after the other: add what isl finds to bound them.
    const poly::Context context;
    const auto domain = recurrence::domain_of(context, equation);
    if (domain.is_empty()) return;
    auto region = equation.domain;
    for (std::size_t v = 0; v < variables; ++v) {
      const auto low = domain.minimum(v);
      const auto high = domain.maximum(v);
      if (!low || !high) fail(equation.span, "the equation's domain has no bound");
      recurrence::Affine at_least{std::vector<std::int64_t>(v + 1, 0), -*low};
      at_least.coefficients[v] = 1;
      recurrence::Affine at_most{std::vector<std::int64_t>(v + 1, 0), *high};
      at_most.coefficients[v] = -1;
      for (auto& all : region) {
        all.push_back({at_least, false, 0});
        all.push_back({at_most, false, 0});
      }
    }
    CYC_CHECK(for_each_point(region, variables, add));
  }

  /// Number of the element, row-major.
  std::size_t linear(recurrence::TensorId tensor, const std::vector<recurrence::Affine>& index,
                     const Point& point, const Span& span) const {
    const auto& extents = extents_[tensor.index()];
    std::int64_t result = 0;
    for (std::size_t d = 0; d < index.size(); ++d) {
      const std::int64_t at = evaluate(index[d], point);
      if (at < 0 || at >= extents[d]) {
        fail(span, fmt::format("`{}` is used outside its {} elements in dimension {}, at {}",
                               system_.at(tensor).name, extents[d], d, at));
      }
      result = result * extents[d] + at;
    }
    return static_cast<std::size_t>(result);
  }
  std::size_t index_of(const Equation& equation, const Point& point) const {
    return linear(equation.target, equation.index, point, equation.span);
  }

  /// The term of an element of a computed tensor.
  TermId compute(std::size_t tensor, std::size_t linear) {
    wanted_.assign(1, {tensor, linear});
    while (!wanted_.empty()) {
      const auto [t, l] = wanted_.back();
      Element& element = elements_[t][l];
      if (element.state == Element::State::known) {
        wanted_.pop_back();
        continue;
      }
      if (element.equation == none)
        fail(system_.tensors[t].span, fmt::format("`{}` is never assigned", name(t, l)));
      const Equation& equation = system_.equations[element.equation];
      const auto begin = points_.begin() + static_cast<std::ptrdiff_t>(element.point);
      point_.assign(begin, begin + static_cast<std::ptrdiff_t>(equation.indices.size()));
      element.state = Element::State::open;
      const std::size_t before = wanted_.size();
      const TermId term = evaluate_expr(equation.expr);
      if (wanted_.size() > before) continue;  // once more when these are known
      element.term = term;
      element.state = Element::State::known;
      wanted_.pop_back();
    }
    return elements_[tensor][linear].term;
  }

  /// Of the point in `point_`. Where an element is not known yet, it is put on the list and the result is
  /// of no use.
  TermId evaluate_expr(ExprId id) {
    const auto& expr = system_.at(id);
    return std::visit(
        Overloaded{[&](const Number& value) { return terms_.constant(value); },
                   [&](const recurrence::Index& index) {
                     return terms_.index(evaluate(index.form, point_), index.dtype);
                   },
                   [&](const recurrence::Access& access) {
                     return read(access.tensor, linear(access.tensor, access.index, point_, expr.span),
                                 expr.span);
                   },
                   [&](const recurrence::Apply& apply) {
                     if ((apply.flags & operators::onward) != 0) {
                       if (const auto* reduce = std::get_if<Reduce>(&system_.at(apply.operands[1]).node))
                         return fold(*reduce, expr.span, &apply);
                     }
                     std::array<TermId, 8> operands;
                     CYC_CHECK(apply.operands.size() <= operands.size());
                     bool known = true;
                     for (std::size_t i = 0; i < apply.operands.size(); ++i) {
                       operands[i] = evaluate_expr(apply.operands[i]);
                       known = known && operands[i] != no_term;
                     }
                     if (!known) return no_term;
                     return terms_.apply(apply.op, apply.flags & ~operators::onward,
                                         std::span(operands.data(), apply.operands.size()));
                   },
                   [&](const Reduce& reduce) { return fold(reduce, expr.span); }},
        expr.node);
  }

  TermId read(recurrence::TensorId tensor, std::size_t linear, const Span& span) {
    const std::size_t t = tensor.index();
    if (system_.tensors[t].role == recurrence::Role::input) {
      if (program_tensor_[t] == none) no_such_tensor(system_.tensors[t]);
      return terms_.element(program_tensor_[t], static_cast<std::int64_t>(linear));
    }
    const Element& element = elements_[t][linear];
    if (element.state == Element::State::known) return element.term;
    if (element.state == Element::State::open)
      fail(span, fmt::format("`{}` depends on itself", name(t, linear)));
    wanted_.emplace_back(t, linear);
    return no_term;
  }

  /// `onto`: the sum or difference that goes on from its first operand with the terms.
  TermId fold(const Reduce& reduce, const Span& span, const recurrence::Apply* onto = nullptr) {
    const Op combine = onto != nullptr ? onto->op : combining(reduce.kind);
    TermId total = onto != nullptr ? evaluate_expr(onto->operands[0]) : no_term;
    bool known = onto == nullptr || total != no_term;
    auto values = values_after(reduce.domain, point_, span);
    if (reduce.descending) std::ranges::reverse(values);
    spend(static_cast<std::int64_t>(values.size()));
    if (values.empty() && onto == nullptr) {
      if (!has_neutral(reduce.kind)) fail(span, "a maximum or minimum over nothing has no value");
      return terms_.constant({reduce.kind == Reduction::product ? 1.0 : 0.0, 0, 0});
    }
    point_.push_back(0);
    for (std::size_t n = 0; n < values.size(); ++n) {
      point_.back() = values[n];
      const TermId term = evaluate_expr(reduce.body);
      known = known && term != no_term;
      if (!known) continue;
      const std::array<TermId, 2> both{total, term};
      total = n == 0 && onto == nullptr ? term : terms_.apply(combine, 0, both);
    }
    point_.pop_back();
    return known ? total : no_term;
  }

  [[nodiscard]] std::string name(std::size_t tensor, std::size_t linear) const {
    std::vector<std::int64_t> index(extents_[tensor].size());
    for (std::size_t d = index.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(extents_[tensor][d]);
      index[d] = static_cast<std::int64_t>(linear % extent);
      linear /= extent;
    }
    return fmt::format("{}[{}]", system_.tensors[tensor].name, fmt::join(index, ", "));
  }

  [[noreturn]] static void fail(const Span& span, std::string message) {
    throw LegalityError({.code = "CYC668",
                         .span = span,
                         .message = std::move(message),
                         .notes = {},
                         .help = "recurrence::verify should have refused these equations"});
  }

  const System& system_;
  const program::Program& program_;
  TermTable& terms_;
  std::int64_t limit_;
  std::int64_t points_left_;
  Poll poll_;
  std::vector<std::uint32_t> program_tensor_;       // By tensor of the system.
  std::vector<std::vector<std::int64_t>> extents_;  // The same.
  std::vector<std::vector<Element>> elements_;      // The same; none for inputs.
  std::vector<std::int64_t> points_;
  std::vector<std::pair<std::size_t, std::size_t>> wanted_;  // Tensor and element, the innermost last.
  Point point_;
};

}  // namespace

Expected terms_of(const System& system, const program::Program& program, TermTable& terms,
                  const std::vector<recurrence::TensorId>& others, std::int64_t limit) {
  Equations equations(system, program, terms, limit);
  Expected result{equations.outputs(), {}};
  for (const auto tensor : others) result.others.push_back(equations.of(tensor));
  return result;
}

}  // namespace cyclotron::proof
