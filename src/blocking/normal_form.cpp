#include "normal_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include <cyclotron/poly/inverse.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::blocking {

using operators::Op;
using recurrence::Access;
using recurrence::Apply;
using recurrence::Constant;
using recurrence::Equation;
using recurrence::ExprId;
using recurrence::Index;
using recurrence::Reduce;

void refuse(const Span& span, const std::string& reason, std::string help) {
  throw LegalityError(
      {.code = "CYC231",
       .span = span,
       .message = reason,
       .notes = {},
       .help = help.empty() ? "leave out `tile`, which compiles the kernel on scalars" : std::move(help)});
}

poly::Affine insert_variables(const poly::Affine& form, std::size_t at, std::size_t count) {
  poly::Affine result = form;
  result.coefficients.insert(result.coefficients.begin() + static_cast<std::ptrdiff_t>(at), count, 0);
  return result;
}

poly::Set insert_coordinates(const poly::Set& set, std::size_t at, std::size_t count) {
  if (count == 0) return set;
  const auto dimensions = set.dimensions() + count;
  std::vector<poly::Affine> forms;
  for (std::size_t v = 0; v < dimensions; ++v) {
    if (v < at || v >= at + count) forms.push_back(poly::variable(dimensions, v));
  }
  return set.preimage(forms, dimensions);
}

std::vector<poly::Affine> identity_forms(std::size_t variables, std::size_t count) {
  std::vector<poly::Affine> forms;
  for (std::size_t v = 0; v < count; ++v) forms.push_back(poly::variable(variables, v));
  return forms;
}

poly::Set project_first(const poly::Set& set, std::size_t count) {
  if (count == set.dimensions()) return set;
  std::vector<std::size_t> keep;
  for (std::size_t v = 0; v < count; ++v) keep.push_back(v);
  return set.project(keep);
}

bool equal_on(const poly::Set& points, const poly::Affine& a, const poly::Affine& b) {
  return a == b || points.satisfies({a - b, true});
}

std::optional<std::size_t> plain_variable(const poly::Affine& form) {
  std::optional<std::size_t> variable;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (variable || form.coefficients[v] != 1) return std::nullopt;
    variable = v;
  }
  return form.constant == 0 ? variable : std::nullopt;
}

std::optional<WindowForm> window_form(const poly::Affine& form, std::size_t rank) {
  std::vector<std::size_t> variables;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    if (form.coefficients[v] != 1) return std::nullopt;
    variables.push_back(v);
  }
  if (form.constant != 0 || variables.size() != 2 || variables[0] >= rank || variables[1] < rank)
    return std::nullopt;
  return WindowForm{variables[0], variables[1]};
}

namespace {

/// The kernel's variables in terms of the element's coordinates and the sums, and the points there.
struct Surroundings {
  std::vector<poly::Affine> variables;
  std::vector<std::string> sums;
  poly::Set points;
};

/// Of one equation.
class Expander {
 public:
  Expander(const System& system, const poly::Context& context, std::size_t rank)
      : system_(system), context_(context), rank_(rank) {}

  std::vector<Term> expand(ExprId id, const Surroundings& scope) const {
    const auto& expr = system_.at(id);
    return std::visit(
        Overloaded{[&](const Constant& value) { return constant(value, scope, expr.span); },
                   [&](const Index&) -> std::vector<Term> {
                     refuse(expr.span,
                            "the value of an index is computed with, and no tile operator knows it");
                   },
                   [&](const Access& access) { return element(access, scope); },
                   [&](const Apply& apply) { return application(apply, scope, expr.span); },
                   [&](const Reduce& reduce) { return sum(reduce, scope, expr.span); }},
        expr.node);
  }

 private:
  static std::vector<Term> constant(const Constant& value, const Surroundings& scope, const Span& span) {
    if (value.imaginary != 0 || value.rest != 0)
      refuse(span, "a constant is no number that tiles are scaled by");
    if (value.real == 0) return {};
    return {{value.real, {}, scope.sums, scope.points}};
  }

  std::vector<Term> element(const Access& access, const Surroundings& scope) const {
    Factor factor{access.tensor, {}};
    const auto variables = rank_ + scope.sums.size();
    for (const auto& form : access.index) {
      factor.index.push_back(
          poly::substitute(recurrence::to_poly(form, scope.variables.size()), scope.variables, variables));
    }
    return {{1, {std::move(factor)}, scope.sums, scope.points}};
  }

  std::vector<Term> sum(const Reduce& reduce, const Surroundings& scope, const Span& span) const {
    if (reduce.kind != recurrence::Reduction::sum)
      refuse(span, fmt::format("the reduction over `{}` is no sum", reduce.index));
    const auto size = rank_ + scope.sums.size();
    Surroundings inner{{}, scope.sums, insert_coordinates(scope.points, size, 1)};
    for (const auto& form : scope.variables) inner.variables.push_back(insert_variables(form, size, 1));
    inner.variables.push_back(poly::variable(size + 1, size));
    inner.sums.push_back(reduce.index);
    inner.points = inner.points.intersect(recurrence::to_set(context_, reduce.domain, inner.variables.size())
                                              .preimage(inner.variables, size + 1));
    return expand(reduce.body, inner);
  }

  std::vector<Term> application(const Apply& apply, const Surroundings& scope, const Span& span) const {
    const auto operand = [&](std::size_t number) { return expand(apply.operands.at(number), scope); };
    switch (apply.op) {
      case Op::add: return joined(operand(0), operand(1), 1);
      case Op::subtract: return joined(operand(0), operand(1), -1);
      case Op::negative: return joined({}, operand(0), -1);
      case Op::copy: return operand(0);
      case Op::multiply: return product(operand(0), operand(1), scope);
      case Op::divide: return product(operand(0), reciprocal(operand(1), scope, span), scope);
      case Op::power: return power(apply, scope, span);
      case Op::conj: return conjugated(operand(0));
      case Op::to_float32:
      case Op::to_float64:
      case Op::to_complex64:
      case Op::to_complex128:
      case Op::to_int64:
        if (is_small_integer(apply.operands.front())) return operand(0);
        if (auto terms = operand(0); sums_nothing(terms)) return {};
        break;
      default: break;
    }
    refuse(span, fmt::format("`{}` inside an equation is in no definition of a tile operator",
                             operators::info(apply.op).name));
  }

  /// A whole number that every type of tiles has.
  [[nodiscard]] bool is_small_integer(ExprId id) const {
    const auto* value = std::get_if<Constant>(&system_.at(id).node);
    return value != nullptr && std::abs(value->real) < 1 << 24 && std::trunc(value->real) == value->real;
  }

  static bool sums_nothing(const std::vector<Term>& terms) {
    return std::ranges::all_of(terms, [](const Term& term) { return term.points.is_empty(); });
  }

  std::vector<Term> power(const Apply& apply, const Surroundings& scope, const Span& span) const {
    const auto* exponent = std::get_if<Constant>(&system_.at(apply.operands.at(1)).node);
    if (exponent == nullptr || !(*exponent == Constant{2}))
      refuse(span, "a power other than 2 is in no definition of a tile operator");
    const auto base = expand(apply.operands.front(), scope);
    return product(base, base, scope);
  }

  static std::vector<Term> joined(std::vector<Term> a, std::vector<Term> b, double sign) {
    for (auto& term : b) {
      term.coefficient *= sign;
      a.push_back(std::move(term));
    }
    return a;
  }

  static std::vector<Term> conjugated(std::vector<Term> terms) {
    for (auto& term : terms) {
      for (auto& factor : term.factors) factor.conjugate = !factor.conjugate;
    }
    return terms;
  }

  static std::vector<Term> reciprocal(std::vector<Term> terms, const Surroundings& scope, const Span& span) {
    if (terms.size() != 1 || terms.front().sums.size() != scope.sums.size())
      refuse(span, "a divisor is a sum, which is in no definition of a tile operator",
             "assign the sum to a tensor first, and divide by its element");
    auto& term = terms.front();
    term.coefficient = 1 / term.coefficient;
    for (auto& factor : term.factors) factor.inverse = !factor.inverse;
    return terms;
  }

  /// The products of each with each; both share the sums around.
  std::vector<Term> product(const std::vector<Term>& a, const std::vector<Term>& b,
                            const Surroundings& scope) const {
    const auto shared = rank_ + scope.sums.size();
    std::vector<Term> result;
    for (const auto& left : a) {
      for (const auto& right : b) {
        const auto left_sums = left.sums.size() - scope.sums.size();
        const auto right_sums = right.sums.size() - scope.sums.size();
        Term term{left.coefficient * right.coefficient,
                  {},
                  left.sums,
                  insert_coordinates(left.points, shared + left_sums, right_sums)
                      .intersect(insert_coordinates(right.points, shared, left_sums))};
        term.sums.insert(term.sums.end(), right.sums.begin() + static_cast<std::ptrdiff_t>(scope.sums.size()),
                         right.sums.end());
        for (auto factor : left.factors) {
          for (auto& form : factor.index) form = insert_variables(form, shared + left_sums, right_sums);
          term.factors.push_back(std::move(factor));
        }
        for (auto factor : right.factors) {
          for (auto& form : factor.index) form = insert_variables(form, shared, left_sums);
          term.factors.push_back(std::move(factor));
        }
        result.push_back(std::move(term));
      }
    }
    return result;
  }

  const System& system_;
  const poly::Context& context_;
  std::size_t rank_;
};

/// The equation's indices as forms of the element that it assigns.
std::vector<poly::Affine> indices_of_element(const Equation& equation, const poly::Set& domain,
                                             std::size_t rank) {
  const auto count = equation.indices.size();
  auto forms = recurrence::to_poly(equation.index, count);
  // An index that the element does not tell is fixed by the others.
  std::vector<std::size_t> fixed;
  std::vector<poly::Affine> values(count);
  std::vector<poly::Affine> extended = forms;
  for (std::size_t v = 0; v < count; ++v) {
    const bool told = std::ranges::any_of(forms, [v](const auto& form) { return form.coefficients[v] != 0; });
    if (told) continue;
    const auto value = domain.equality_for(v);
    if (!value) refuse(equation.span, fmt::format("`{}` is no function of the element", equation.indices[v]));
    extended.push_back(poly::variable(count, v) - *value);  // 0 on the domain
  }
  auto inverse = poly::left_inverse(extended, count);
  if (!inverse) refuse(equation.span, "the subscripts that are assigned do not determine the indices");
  std::vector<poly::Affine> onto = identity_forms(rank, rank);
  while (onto.size() < extended.size()) onto.push_back(poly::constant(rank, 0));
  for (auto& form : *inverse) form = poly::substitute(form, onto, rank);
  return *inverse;
}

std::vector<std::string> names_of_element(const Equation& equation, std::size_t rank) {
  std::vector<std::string> names;
  for (std::size_t d = 0; d < rank; ++d) {
    std::string name;
    const auto& coefficients = equation.index[d].coefficients;
    for (std::size_t v = 0; v < coefficients.size(); ++v) {
      if (coefficients[v] != 0 && name.empty()) name = equation.indices[v];
    }
    names.push_back(std::move(name));
  }
  return names;
}

/// The function that an operator is of its operand; none where it is part of sums of products, or raises errors.
std::optional<Function> function_of(const System& system, const Apply& apply) {
  const auto& info = operators::info(apply.op);
  if (apply.op == Op::sqrt) return Function{};
  if (!operators::is_elementwise(apply.op) || info.typing != operators::Typing::same || apply.flags != 0)
    return std::nullopt;
  switch (apply.op) {
    case Op::negative:
    case Op::copy:
    case Op::conj: return std::nullopt;
    case Op::maximum:
    case Op::minimum:
    case Op::first_maximum:
    case Op::first_minimum: {
      for (const std::size_t number : {0, 1}) {
        const auto* value = std::get_if<Constant>(&system.at(apply.operands[number]).node);
        if (value != nullptr && value->imaginary == 0 && value->rest == 0)
          return Function{apply.op, *value, number == 0};
      }
      return std::nullopt;
    }
    default: break;
  }
  if (info.arity != 1) return std::nullopt;
  return Function{apply.op};
}

Piece piece_of(const System& system, const Equation& equation, const poly::Context& context) {
  const auto rank = rank_of(system, equation.target);
  const auto domain = recurrence::domain_of(context, equation);
  Surroundings scope{indices_of_element(equation, domain, rank),
                     {},
                     domain.image(recurrence::to_poly(equation.index, equation.indices.size()))};
  Piece piece{scope.points, {}, std::nullopt, equation.span, names_of_element(equation, rank)};
  auto expr = equation.expr;
  if (const auto* apply = std::get_if<Apply>(&system.at(expr).node)) {
    piece.function = function_of(system, *apply);
    if (piece.function) expr = apply->operands[piece.function->number_first ? 1 : 0];
  }
  piece.terms = Expander(system, context, rank).expand(expr, scope);
  return piece;
}

}  // namespace

NormalForm to_normal_form(const System& system, const poly::Context& context) {
  for (const auto& tensor : system.tensors) {
    if (tensor.blocked)
      refuse(tensor.span, fmt::format("`{}` is in tiles already", tensor.user_name()),
             "pass plain arrays, or leave out `tile`");
  }
  NormalForm result;
  result.pieces.resize(system.tensors.size());
  for (const auto& equation : system.equations) {
    auto piece = piece_of(system, equation, context);
    if (!piece.points.is_empty()) result.pieces[equation.target.index()].push_back(std::move(piece));
  }
  return result;
}

}  // namespace cyclotron::blocking
