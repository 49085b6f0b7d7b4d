#include "normal_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

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

/// The function that an operator is of its operand; none where it is part of sums of products, or raises errors.
std::optional<Function> function_of(const System& system, const Apply& apply) {
  const auto& info = operators::info(apply.op);
  if (apply.op == Op::sqrt || apply.op == Op::absolute) return Function{apply.op};
  if (apply.op == Op::power) {
    const auto* exponent = std::get_if<Constant>(&system.at(apply.operands[1]).node);
    if (exponent == nullptr || *exponent == Constant{2} || exponent->imaginary != 0 || exponent->rest != 0)
      return std::nullopt;
    return Function{apply.op, *exponent};
  }
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
        const auto* other = std::get_if<Apply>(&system.at(apply.operands[1 - number]).node);
        const auto* reduce = std::get_if<Reduce>(&system.at(apply.operands[1 - number]).node);
        const bool sums =
            other != nullptr || (reduce != nullptr && reduce->kind == recurrence::Reduction::sum);
        if (value != nullptr && value->imaginary == 0 && value->rest == 0 && sums)
          return Function{apply.op, *value, number == 0};
      }
      return std::nullopt;
    }
    default: break;
  }
  if (info.arity != 1) return std::nullopt;
  return Function{apply.op};
}

bool same_terms(const std::vector<Term>& a, const std::vector<Term>& b) {
  return std::ranges::equal(a, b, [](const Term& left, const Term& right) {
    return left.coefficient == right.coefficient && left.factors == right.factors &&
           left.sums.size() == right.sums.size() && left.points == right.points;
  });
}

/// Tells whether two expressions of one equation are spelt alike.
bool is_same(const System& system, ExprId a, ExprId b) {
  const auto &left = system.at(a).node, &right = system.at(b).node;
  if (const auto* apply = std::get_if<Apply>(&left)) {
    const auto* other = std::get_if<Apply>(&right);
    return other != nullptr && apply->op == other->op && apply->flags == other->flags &&
           std::ranges::equal(apply->operands, other->operands,
                              [&](ExprId one, ExprId two) { return is_same(system, one, two); });
  }
  if (const auto* reduce = std::get_if<Reduce>(&left)) {
    const auto* other = std::get_if<Reduce>(&right);
    return other != nullptr && reduce->kind == other->kind && reduce->index == other->index &&
           reduce->domain == other->domain && is_same(system, reduce->body, other->body);
  }
  return left == right;
}

/// The reductions of an expression that are in no other, as often as it has them.
void add_reductions(const System& system, ExprId id, std::vector<ExprId>& all) {
  const auto& node = system.at(id).node;
  if (std::holds_alternative<Reduce>(node)) all.push_back(id);
  if (const auto* apply = std::get_if<Apply>(&node)) {
    for (const auto operand : apply->operands) add_reductions(system, operand, all);
  }
}

/// The numbers of the coordinates that terms depend on, of `size` around them.
std::vector<std::size_t> coordinates_of(const std::vector<Term>& terms, const poly::Set& around) {
  const auto size = around.dimensions();
  std::set<std::size_t> used;
  const auto use = [&](const poly::Affine& form) {
    for (std::size_t v = 0; v < size; ++v) {
      if (form.coefficients[v] != 0) used.insert(v);
    }
  };
  for (const auto& term : terms) {
    for (const auto& factor : term.factors) std::ranges::for_each(factor.index, use);
    const auto conditions =
        term.points.gist(insert_coordinates(around, size, term.points.dimensions() - size));
    const auto pieces = conditions.conjunctions();
    for (std::size_t v = 0; !pieces && v < size; ++v) used.insert(v);
    for (const auto& piece : pieces.value_or(std::vector<poly::Conjunction>{})) {
      for (const auto& constraint : piece.constraints) use(constraint.form);
      for (const auto& [form, divisor] : piece.divisible) use(form);
    }
  }
  return {used.begin(), used.end()};
}

/// Of one equation.
class Expander {
 public:
  Expander(NormalForm& form, const poly::Context& context, const Equation& equation,
           std::vector<std::string> names)
      : form_(form),
        system_(form.system),
        context_(context),
        target_(equation.target),
        names_(std::move(names)),
        rank_(names_.size()) {
    add_reductions(system_, equation.expr, reductions_);
  }

  std::vector<Term> expand(ExprId id, const Surroundings& scope) {
    const auto expr = system_.at(id);
    return std::visit(
        Overloaded{[&](const Constant& value) { return constant(value, scope, expr.span); },
                   [&](const Index&) -> std::vector<Term> {
                     refuse(expr.span,
                            "the value of an index is computed with, and no tile operator knows it");
                   },
                   [&](const Access& access) { return element(access, scope); },
                   [&](const Apply& apply) { return application(id, apply, scope, expr.span); },
                   [&](const Reduce& reduce) { return sum(id, reduce, scope, expr.span); }},
        expr.node);
  }

  /// The terms of an expression, and the function that it is of them.
  std::pair<std::vector<Term>, std::optional<Function>> value(ExprId id, const Surroundings& scope) {
    const auto node = system_.at(id).node;
    if (const auto* apply = std::get_if<Apply>(&node)) {
      if (const auto function = function_of(system_, *apply))
        return {expand(apply->operands[function->number_first ? 1 : 0], scope), function};
    }
    if (const auto op = extremum_of(node)) {
      auto terms = candidates(id, *op, scope);
      return {std::move(terms), Function{*op, std::nullopt, false, true}};
    }
    return {expand(id, scope), std::nullopt};
  }

 private:
  static std::optional<Op> extremum_of(const decltype(recurrence::Expr::node)& node) {
    const auto* reduce = std::get_if<Reduce>(&node);
    const auto* apply = std::get_if<Apply>(&node);
    if (reduce == nullptr && apply == nullptr) return std::nullopt;
    const auto op = reduce != nullptr ? recurrence::combining(reduce->kind) : apply->op;
    switch (op) {
      case Op::maximum:
      case Op::first_maximum:
      case Op::minimum:
      case Op::first_minimum: return op;
      default: return std::nullopt;
    }
  }

  /// One term for each value among which an expression is the greatest or least.
  std::vector<Term> candidates(ExprId id, Op op, const Surroundings& scope) {
    const auto expr = system_.at(id);
    if (extremum_of(expr.node) == op) {
      if (const auto* reduce = std::get_if<Reduce>(&expr.node))
        return candidates(reduce->body, op, within(*reduce, scope));
      const auto& operands = std::get<Apply>(expr.node).operands;
      return joined(candidates(operands[0], op, scope), candidates(operands[1], op, scope), 1);
    }
    const auto* number = std::get_if<Constant>(&expr.node);
    if (number != nullptr && number->imaginary == 0 && number->rest == 0)
      return {{number->real, {}, scope.sums, scope.points}};
    auto [terms, function] = value(id, scope);
    const bool element = !function && terms.size() == 1 && terms.front().coefficient == 1 &&
                         terms.front().factors.size() == 1 && !terms.front().factors.front().inverse &&
                         !terms.front().factors.front().conjugate &&
                         terms.front().sums.size() == scope.sums.size();
    return element ? terms : named(std::move(terms), function, scope, expr.span, false);
  }

  /// A local tensor for what is computed with more than once, or is a function of a sum: its element, in place of it, or a
  /// multiple.
  std::vector<Term> named(std::vector<Term> terms, const std::optional<Function>& function,
                          const Surroundings& scope, const Span& span, bool may_scale = true) {
    const auto size = rank_ + scope.sums.size();
    const auto kept = coordinates_of(terms, scope.points);
    if (kept.size() > most_axes(system_))
      refuse(span,
             fmt::format("part of it has a value for each of {} indices, which no tensor holds", kept.size()),
             "assign that part to a tensor first, or leave out `tile`");
    const auto place = [&](std::size_t sums) {
      std::vector<poly::Affine> forms(size, poly::constant(kept.size() + sums, 0));
      for (std::size_t d = 0; d < kept.size(); ++d) forms[kept[d]] = poly::variable(kept.size() + sums, d);
      for (std::size_t s = 0; s < sums; ++s)
        forms.push_back(poly::variable(kept.size() + sums, kept.size() + s));
      return forms;
    };
    Piece piece{scope.points.project(kept), {}, function, span, {}};
    // Sums that are multiples of each other are one tensor.
    const auto size_of = [](const Term& term) { return std::abs(term.coefficient); };
    const bool scaled =
        may_scale && !function && !terms.empty() &&
        std::ranges::all_of(terms, [&](const Term& term) { return size_of(term) == size_of(terms.front()); });
    const auto factor_of_all = scaled ? terms.front().coefficient : 1;
    for (auto& term : terms) {
      term.coefficient /= factor_of_all;
      const auto sums = term.sums.size() - scope.sums.size();
      const auto conditions = term.points.gist(insert_coordinates(scope.points, size, sums));
      term.points = conditions.preimage(place(sums), kept.size() + sums)
                        .intersect(insert_coordinates(piece.points, kept.size(), sums));
      term.sums.erase(term.sums.begin(), term.sums.begin() + std::ssize(scope.sums));
      for (auto& factor : term.factors) {
        if (system_.at(factor.tensor).dtype != system_.at(target_).dtype)
          refuse(span, "it is computed with numbers of another type");
        for (auto& form : factor.index) form = poly::substitute(form, place(sums), kept.size() + sums);
      }
    }
    piece.terms = std::move(terms);
    recurrence::Tensor tensor;
    tensor.dtype = system_.at(target_).dtype;
    tensor.role = recurrence::Role::local;
    tensor.span = span;
    tensor.variable = function ? operators::info(function->op).name : "term";
    Factor factor{TensorId(system_.tensors.size()), {}};
    for (const auto v : kept) {
      piece.names.push_back(v < rank_ ? names_[v] : scope.sums[v - rank_]);
      const auto first = scope.points.minimum(v), last = scope.points.maximum(v);
      if (!first || !last || *first < 0) refuse(span, "it is computed at places that are no elements");
      tensor.shape.push_back(*last + 1);
      factor.index.push_back(poly::variable(size, v));
    }
    tensor.tile.assign(kept.size(), 1);
    tensor.name = fmt::format("{}@{}", tensor.variable, system_.tensors.size());
    for (const auto known : named_) {
      const auto& other = form_.pieces[known.index()].front();
      if (other.function != function || system_.at(known).shape != tensor.shape ||
          !(other.points == piece.points) || !same_terms(other.terms, piece.terms))
        continue;
      factor.tensor = known;
      return {{factor_of_all, {std::move(factor)}, scope.sums, scope.points}};
    }
    named_.push_back(factor.tensor);
    system_.tensors.push_back(std::move(tensor));
    form_.pieces.push_back({std::move(piece)});
    return {{factor_of_all, {std::move(factor)}, scope.sums, scope.points}};
  }

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

  Surroundings within(const Reduce& reduce, const Surroundings& scope) const {
    const auto size = rank_ + scope.sums.size();
    Surroundings inner{{}, scope.sums, insert_coordinates(scope.points, size, 1)};
    for (const auto& form : scope.variables) inner.variables.push_back(insert_variables(form, size, 1));
    inner.variables.push_back(poly::variable(size + 1, size));
    inner.sums.push_back(reduce.index);
    inner.points = inner.points.intersect(recurrence::to_set(context_, reduce.domain, inner.variables.size())
                                              .preimage(inner.variables, size + 1));
    return inner;
  }

  std::vector<Term> sum(ExprId id, const Reduce& reduce, const Surroundings& scope, const Span& span) {
    if (extremum_of(reduce)) return function_inside(id, scope, span);
    if (reduce.kind != recurrence::Reduction::sum)
      refuse(span, fmt::format("the reduction over `{}` is no sum", reduce.index));
    auto terms = expand(reduce.body, within(reduce, scope));
    const auto same = [&](ExprId other) { return is_same(system_, id, other); };
    const bool repeated = std::ranges::count_if(reductions_, same) > 1 && holds(terms, scope);
    return repeated ? named(std::move(terms), std::nullopt, scope, span) : terms;
  }

  /// Tells whether a tensor holds what terms are.
  [[nodiscard]] bool holds(const std::vector<Term>& terms, const Surroundings& scope) const {
    return coordinates_of(terms, scope.points).size() <= most_axes(system_);
  }

  std::vector<Term> function_inside(ExprId id, const Surroundings& scope, const Span& span) {
    auto [terms, function] = value(id, scope);
    return named(std::move(terms), function, scope, span);
  }

  std::vector<Term> application(ExprId id, const Apply& apply, const Surroundings& scope, const Span& span) {
    const auto operand = [&](std::size_t number) { return expand(apply.operands.at(number), scope); };
    switch (apply.op) {
      case Op::add: return joined(operand(0), operand(1), 1);
      case Op::subtract: return joined(operand(0), operand(1), -1);
      case Op::negative: return joined({}, operand(0), -1);
      case Op::copy: return operand(0);
      case Op::multiply: return product(operand(0), operand(1), scope, span);
      case Op::divide: return product(operand(0), reciprocal(operand(1), scope, span), scope, span);
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
    if (function_of(system_, apply) || extremum_of(apply)) return function_inside(id, scope, span);
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

  std::vector<Term> power(const Apply& apply, const Surroundings& scope, const Span& span) {
    const auto* exponent = std::get_if<Constant>(&system_.at(apply.operands.at(1)).node);
    if (exponent == nullptr || !(*exponent == Constant{2}))
      refuse(span, "a power other than 2 is in no definition of a tile operator");
    const auto base = expand(apply.operands.front(), scope);
    return product(base, base, scope, span);
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

  std::vector<Term> reciprocal(std::vector<Term> terms, const Surroundings& scope, const Span& span) {
    if (terms.size() != 1 || terms.front().sums.size() != scope.sums.size())
      terms = named(std::move(terms), std::nullopt, scope, span);
    auto& term = terms.front();
    term.coefficient = 1 / term.coefficient;
    for (auto& factor : term.factors) factor.inverse = !factor.inverse;
    return terms;
  }

  /// Sums in products are tensors of their own: they stay sums, whose terms may be large beside them, and are added up once.
  void name_if_sum(std::vector<Term>& terms, const std::vector<Term>& others, const Surroundings& scope,
                   const Span& span) {
    const bool sum = terms.size() > 1 || (terms.size() == 1 && terms[0].sums.size() > scope.sums.size());
    const auto multiplies = [&](const Term& other) {
      int exponent = 0;
      return other.sums.size() > scope.sums.size() ||
             (terms.size() > 1 && std::abs(std::frexp(other.coefficient, &exponent)) != 0.5) ||
             std::ranges::any_of(other.factors, [](const Factor& factor) { return !factor.inverse; });
    };
    const bool several = terms.size() > 1 || others.size() > 1 ||
                         (others.size() == 1 && others[0].sums.size() > scope.sums.size());
    if (!sum || !several) return;
    if (holds(terms, scope)) {
      if (std::ranges::any_of(others, multiplies)) terms = named(std::move(terms), std::nullopt, scope, span);
    } else if (terms.size() > 1 && !others.empty() && operators::is_floating(system_.at(target_).dtype)) {
      refuse(span,
             "floating-point numbers that are added there may cancel, and tiles would multiply them first",
             "leave out `tile`: on scalars they are added first");
    }
  }

  /// The products of each with each; both share the sums around.
  std::vector<Term> product(std::vector<Term> a, std::vector<Term> b, const Surroundings& scope,
                            const Span& span) {
    const auto left_terms = a;
    name_if_sum(a, b, scope, span);
    name_if_sum(b, left_terms, scope, span);
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

  NormalForm& form_;
  System& system_;
  const poly::Context& context_;
  TensorId target_;
  std::vector<std::string> names_;  ///< Of the element's coordinates.
  std::size_t rank_;
  std::vector<ExprId> reductions_;
  std::vector<TensorId> named_;
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

void add_piece(NormalForm& form, const Equation& equation, const poly::Context& context) {
  const auto rank = rank_of(form.system, equation.target);
  const auto domain = recurrence::domain_of(context, equation);
  const Surroundings scope{indices_of_element(equation, domain, rank),
                           {},
                           domain.image(recurrence::to_poly(equation.index, equation.indices.size()))};
  if (scope.points.is_empty()) return;
  auto names = names_of_element(equation, rank);
  auto [terms, function] = Expander(form, context, equation, names).value(equation.expr, scope);
  form.pieces[equation.target.index()].push_back(
      {scope.points, std::move(terms), function, equation.span, std::move(names)});
}

}  // namespace

std::size_t most_axes(const System& system) {
  std::size_t most = 2;
  for (const auto& tensor : system.tensors) {
    if (tensor.role != recurrence::Role::local) most = std::max(most, tensor.shape.size());
  }
  return most;
}

NormalForm to_normal_form(const System& system, const poly::Context& context) {
  for (const auto& tensor : system.tensors) {
    if (tensor.blocked)
      refuse(tensor.span, fmt::format("`{}` is in tiles already", tensor.user_name()),
             "pass plain arrays, or leave out `tile`");
  }
  NormalForm result{system, {}};
  result.pieces.resize(system.tensors.size());
  for (const auto& equation : system.equations) add_piece(result, equation, context);
  return result;
}

}  // namespace cyclotron::blocking
