#include "uniform_tables.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence::detail {

namespace {

ExprId add(System& system, decltype(Expr::node) node, const Span& span) {
  system.exprs.push_back({std::move(node), span});
  return ExprId(system.exprs.size() - 1);
}

const Apply* applied(const System& system, ExprId id, operators::Op op) {
  const auto* apply = std::get_if<Apply>(&system.at(id).node);
  return apply != nullptr && apply->op == op ? apply : nullptr;
}

bool is_number(const System& system, ExprId id) {
  const auto& node = system.at(id).node;
  if (const auto* apply = std::get_if<Apply>(&node))
    return std::ranges::all_of(apply->operands, [&](ExprId operand) { return is_number(system, operand); });
  return std::holds_alternative<Constant>(node);
}

bool adds_nothing(const System& system, ExprId sum, ExprId term) {
  const auto* number = std::get_if<Constant>(&system.at(term).node);
  const auto dtype = dtype_of(system, sum);
  return number != nullptr && dtype && operators::is_neutral(*number, *dtype);
}

/// A form without the last of its variables; none where it names that one.
std::optional<Affine> without_last(Affine form, std::size_t variables) {
  if (form.coefficients.size() <= variables) return form;
  if (form.coefficients.back() != 0) return std::nullopt;
  form.coefficients.resize(variables);
  return form;
}

/// The expression in a scope without the last of its variables; none where it names that one, or reduces.
std::optional<ExprId> outside(System& system, ExprId id, std::size_t variables) {
  auto [node, span] = system.at(id);
  if (auto* apply = std::get_if<Apply>(&node)) {
    for (auto& operand : apply->operands) {
      const auto moved = outside(system, operand, variables);
      if (!moved) return std::nullopt;
      operand = *moved;
    }
  } else if (auto* access = std::get_if<Access>(&node)) {
    for (auto& form : access->index) {
      auto moved = without_last(form, variables);
      if (!moved) return std::nullopt;
      form = std::move(*moved);
    }
  } else if (!std::holds_alternative<Constant>(node)) {
    return std::nullopt;
  }
  return add(system, std::move(node), span);
}

/// The first and the last value of the only variable of a domain that is one range of it.
std::optional<std::pair<std::int64_t, std::int64_t>> range_of(const Region& domain, std::size_t variable) {
  std::optional<std::int64_t> first, last;
  if (domain.size() != 1 || domain.front().size() != 2) return std::nullopt;
  for (const auto& [form, equality, modulus, most] : domain.front()) {
    const bool is_bound = !equality && modulus == 0 && form.coefficients.size() == variable + 1 &&
                          std::ranges::count(form.coefficients, 0) == std::ssize(form.coefficients) - 1;
    if (is_bound && form.coefficients.back() == 1) first = -form.constant;
    if (is_bound && form.coefficients.back() == -1) last = form.constant;
  }
  return first && last ? std::optional(std::pair(*first, *last)) : std::nullopt;
}

}  // namespace

std::optional<ExprId> number_found(System& system, const Reduce& reduce, std::size_t variables) {
  using operators::Op;
  const auto* choice = reduce.kind == Reduction::sum ? applied(system, reduce.body, Op::where) : nullptr;
  const auto* is_there = choice == nullptr ? nullptr : applied(system, choice->operands[0], Op::equal);
  const auto range = range_of(reduce.domain, variables);
  if (is_there == nullptr || !range || !is_number(system, choice->operands[1]) ||
      !adds_nothing(system, reduce.body, choice->operands[2]))
    return std::nullopt;
  const auto* index = std::get_if<Index>(&system.at(is_there->operands[1]).node);
  if (index == nullptr || index->form.coefficients.size() <= variables ||
      index->form.coefficients.back() != 1)
    return std::nullopt;
  const auto number = choice->operands[1], nothing = choice->operands[2];
  auto form = index->form;
  form.coefficients.pop_back();
  const auto dtype = index->dtype;
  const auto span = system.at(reduce.body).span;
  const auto place = outside(system, is_there->operands[0], variables);
  if (!place) return std::nullopt;
  const auto compared = [&](Op op, std::int64_t value) {
    auto bound = form;
    bound.constant += value;
    return add(system, Apply{op, 0, {*place, add(system, Index{std::move(bound), dtype}, span)}}, span);
  };
  const auto from = compared(Op::greater_equal, range->first), to = compared(Op::less_equal, range->second);
  const auto is_inside = add(system, Apply{Op::logical_and, 0, {from, to}}, span);
  return add(system, Apply{Op::where, 0, {is_inside, number, nothing}}, span);
}

}  // namespace cyclotron::recurrence::detail
