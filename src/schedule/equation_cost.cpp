#include "equation_cost.hpp"

#include <algorithm>
#include <cmath>

#include <cyclotron/operators/operators.hpp>

namespace cyclotron::schedule {

using recurrence::Equation;
using recurrence::ExprId;
using recurrence::System;

namespace {

/// The values that a coordinate has in a set.
Loop loop_of(const poly::Set& points, std::size_t coordinate) {
  const auto low = points.minimum(coordinate).value_or(0), high = points.maximum(coordinate).value_or(0);
  const auto step = high > low ? points.step(coordinate) : 1;
  return {.extent = static_cast<double>(std::max<std::int64_t>((high - low) / step + 1, 1)),
          .first = static_cast<double>(low),
          .step = static_cast<double>(step)};
}

/// Shares of the second of two coordinates in the values of the first, by three of these: exact where bounds are straight.
Share share_of(const poly::Set& both, const Loop& other) {
  const auto at = [&](double place) {
    const auto value = other.first + std::floor(place * (other.extent - 1)) * other.step;
    auto form = poly::variable(2, 0);
    form.constant = -static_cast<std::int64_t>(value);
    const auto there = both.intersect(poly::Constraint{std::move(form), true});
    return there.is_empty() ? 0 : loop_of(there, 1).extent;
  };
  const double first = at(0), middle = at(0.5), last = at(1);
  const auto most = std::max({first, middle, last, 1.0});
  return {most, std::clamp((first + 4 * middle + last) / 6, 1.0, most)};
}

}  // namespace

EquationCost::EquationCost(const System& system, const std::vector<std::string>& names,
                           const SequentialIndices& sequential)
    : system_(system), names_(names), sequential_(sequential) {
  for (const auto& equation : system.equations) find_bounds(equation);
}

void EquationCost::add(const Equation& equation) {
  const auto domain = recurrence::domain_of(poly::Context(), equation);
  if (domain.is_empty()) return;
  const recurrence::Scope scope{equation.indices, domain};
  const auto loops = loops_of(scope);
  add_operators(0, loops);  // a copy, too, is somewhere
  chain_ = 0;
  dimensions_ = equation.indices.size();
  if (!add_to_element(equation, loops)) add(equation.expr, scope, loops, 0);
  std::vector<Loop> outer;  // that run in turn
  for (const auto& loop : loops) {
    const bool carried = sequential_.carried.contains(names_[loop.index]);
    const auto way = found_.find(loop.index);
    if (way != found_.end()) way->second.around = outer;
    // From neighbour to neighbour, iterations of outer loops follow each other as wavefronts do.
    if (carried) found_[loop.index] = {loop, chain_ + 1, {}};
    if (carried || sequential_.exits.contains(names_[loop.index])) outer.push_back(loop);
  }
  for (auto& [index, way] : found_) {
    const bool reduced = std::ranges::find(loops, index, &Loop::index) == loops.end();
    if (reduced) way.around = outer;
    ways.push_back(std::move(way));
  }
  found_.clear();
}

void EquationCost::find_bounds(const Equation& equation) {
  const auto operands = [&](ExprId id, recurrence::Op op) {
    const auto* apply = std::get_if<recurrence::Apply>(&system_.at(id).node);
    return apply != nullptr && apply->op == op ? apply->operands : std::vector<ExprId>{};
  };
  // The variable that a number, which does not depend on it, is compared with.
  const auto variable = [&](ExprId id, recurrence::Op op) -> std::optional<std::size_t> {
    const auto sides = operands(id, op);
    if (sides.empty()) return std::nullopt;
    const auto* number = std::get_if<recurrence::Access>(&system_.at(sides[0]).node);
    const auto* index = std::get_if<recurrence::Index>(&system_.at(sides[1]).node);
    if (number == nullptr || index == nullptr) return std::nullopt;
    for (std::size_t v = 0; v < index->form.coefficients.size(); ++v) {
      if (index->form.coefficients[v] != 0 && !names(*number, v)) return v;
    }
    return std::nullopt;
  };
  const auto sides = operands(equation.expr, recurrence::Op::logical_and);
  if (sides.empty()) return;
  const auto first = variable(sides[0], recurrence::Op::less_equal);
  if (first && first == variable(sides[1], recurrence::Op::greater))
    bounded.insert(
        static_cast<std::size_t>(std::ranges::find(names_, equation.indices[*first]) - names_.begin()));
}

std::vector<Loop> EquationCost::loops_of(const recurrence::Scope& scope) const {
  std::vector<Loop> result;
  for (std::size_t v = 0; v < scope.names.size(); ++v) {
    result.push_back(loop_of(scope.points, v));
    result.back().index =
        static_cast<std::size_t>(std::ranges::find(names_, scope.names[v]) - names_.begin());
  }
  for (const auto& [u, v] : bounding(scope.points)) {
    if (result[u].extent == 1 || result[v].extent == 1) continue;
    result[u].within[result[v].index] = share_of(scope.points.project({v, u}), result[v]);
    result[v].within[result[u].index] = share_of(scope.points.project({u, v}), result[u]);
  }
  return result;
}

std::set<std::pair<std::size_t, std::size_t>> EquationCost::bounding(const poly::Set& points) {
  std::set<std::pair<std::size_t, std::size_t>> result;
  for (const auto& part : points.conjunctions().value_or(std::vector<poly::Conjunction>())) {
    for (const auto& constraint : part.constraints) {
      const auto& factors = constraint.form.coefficients;
      for (std::size_t v = 0; v < factors.size(); ++v) {
        for (std::size_t u = 0; u < v; ++u) {
          if (factors[u] != 0 && factors[v] != 0) result.emplace(u, v);
        }
      }
    }
  }
  return result;
}

void EquationCost::add(ExprId id, const recurrence::Scope& scope, const std::vector<Loop>& loops,
                       double after) {
  const auto& node = system_.at(id).node;
  if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
    const bool takes_time = operators::info(apply->op).flops_per_element != 0;
    if (takes_time) add_operators(1, loops);
    for (const auto operand : apply->operands) add(operand, scope, loops, after + (takes_time ? 1 : 0));
  } else if (const auto* access = std::get_if<recurrence::Access>(&node)) {
    if (system_.at(access->tensor).role != recurrence::Role::input) chain_ = std::max(chain_, after);
    add_ways(*access, loops);
  } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
    add_reduction(*reduce, scope, after);
  }
}

void EquationCost::add_operators(double cycles, const std::vector<Loop>& loops) {
  if (works.empty() || works.back().selection || works.back().loops != loops) works.push_back({0, loops});
  works.back().cycles += cycles;
}

bool EquationCost::names(const recurrence::Access& access, std::size_t variable) {
  return std::ranges::any_of(access.index, [&](const recurrence::Affine& form) {
    return variable < form.coefficients.size() && form.coefficients[variable] != 0;
  });
}

const recurrence::Access* EquationCost::table_of(const recurrence::Reduce& reduce,
                                                 const recurrence::Scope& scope) const {
  const auto chosen = chosen_by(reduce.body);
  const auto last = scope.names.size() - 1;
  if (chosen.empty() || chosen.front() < dimensions_ || chosen.back() != last) return nullptr;
  const auto& choice = std::get<recurrence::Apply>(system_.at(reduce.body).node);
  const auto* table = std::get_if<recurrence::Access>(&system_.at(choice.operands[1]).node);
  const auto named = [&](std::size_t variable) { return names(*table, variable); };
  return table != nullptr && std::ranges::all_of(chosen, named) ? table : nullptr;
}

std::vector<std::size_t> EquationCost::chosen_by(ExprId id) const {
  const auto* choice = std::get_if<recurrence::Apply>(&system_.at(id).node);
  if (choice == nullptr || choice->op != recurrence::Op::where) return {};
  const auto* test = std::get_if<recurrence::Apply>(&system_.at(choice->operands[0]).node);
  if (test == nullptr || test->op != recurrence::Op::equal) return {};
  for (const auto operand : test->operands) {
    const auto* number = std::get_if<recurrence::Index>(&system_.at(operand).node);
    if (number == nullptr) continue;
    const auto& factors = number->form.coefficients;
    std::vector<std::size_t> result;
    for (std::size_t v = 0; v < factors.size(); ++v) {
      if (factors[v] != 0) result.push_back(v);
    }
    return result;
  }
  return {};
}

bool EquationCost::sums_choices(const recurrence::Reduce& reduce, std::size_t variable) const {
  const auto* inner = std::get_if<recurrence::Reduce>(&system_.at(reduce.body).node);
  if (inner == nullptr) return false;
  const auto chosen = chosen_by(inner->body);
  const bool has = std::ranges::find(chosen, variable) != chosen.end() && chosen.front() >= dimensions_;
  return has || sums_choices(*inner, variable);
}

std::optional<std::pair<ExprId, ExprId>> EquationCost::update_of(ExprId id) const {
  const auto* apply = std::get_if<recurrence::Apply>(&system_.at(id).node);
  if (apply == nullptr) return std::nullopt;
  if (apply->op == recurrence::Op::add || apply->op == recurrence::Op::subtract)
    return std::pair(apply->operands[0], apply->operands[1]);
  if (apply->op != recurrence::Op::where) return std::nullopt;
  if (!chosen_by(id).empty()) return std::pair(apply->operands[2], id);
  const auto in_branch = update_of(apply->operands[1]);
  const auto& otherwise = system_.at(apply->operands[2]).node;
  const bool stays = in_branch && system_.at(in_branch->first).node == otherwise;
  return stays ? in_branch : std::nullopt;
}

bool EquationCost::add_to_element(const Equation& equation, const std::vector<Loop>& loops) {
  const auto update = update_of(equation.expr);
  if (!update) return false;
  const auto chosen = chosen_by(update->second);
  const auto& before = system_.at(update->first).node;
  const auto* last = std::get_if<recurrence::Access>(&before);
  const bool starts = std::holds_alternative<recurrence::Constant>(before);
  if (chosen.empty() || (!starts && (last == nullptr || last->tensor != equation.target))) return false;
  Selection selection;
  for (const auto v : chosen) selection.along.push_back(loops[v].index);
  for (const auto& loop : loops) {
    if (sequential_.carried.contains(names_[loop.index])) selection.moving.insert(loop.index);
  }
  works.push_back({operators_of_selection, loops, std::move(selection)});
  chain_ = 1;
  return true;
}

void EquationCost::add_bounded_read(const recurrence::Access& access, const std::vector<Loop>& loops) {
  const auto& tensor = system_.at(access.tensor);
  BoundedRead read{&tensor, {}, {}};
  bool of_rows = false;
  for (std::size_t v = 0; v < loops.size(); ++v) {
    const bool named = names(access, v);
    (named ? read.along : read.moving).push_back(loops[v].index);
    read.is_bounded = read.is_bounded || (named && bounded.contains(loops[v].index));
    of_rows = of_rows || (!named && sequential_.rows.contains(names_[loops[v].index]));
    read.is_ending = read.is_ending || (named && sequential_.exits.contains(names_[loops[v].index]));
  }
  read.is_ending = read.is_ending && of_rows;
  if ((read.is_bounded || of_rows) && tensor.role == recurrence::Role::input)
    bounded_reads.push_back(std::move(read));
}

void EquationCost::add_ways(const recurrence::Access& access, const std::vector<Loop>& loops) {
  add_bounded_read(access, loops);
  for (std::size_t v = 0; v < loops.size(); ++v) {
    const bool named = names(access, v);
    const auto& tensor = system_.at(access.tensor);
    const bool computed = tensor.role != recurrence::Role::input;
    if (named || loops[v].extent == 1) continue;
    const auto* input = computed ? nullptr : &tensor;
    if (input != nullptr) passing.insert(tensor.name);
    auto& way =
        found_.try_emplace(loops[v].index, Way{loops[v], 1, {}, computed, false, input}).first->second;
    if (way.input != input) way.input = nullptr;
  }
}

void EquationCost::add_reduction(const recurrence::Reduce& reduce, const recurrence::Scope& outer,
                                 double after) {
  const auto count = outer.names.size();
  std::vector<poly::Affine> drop;
  for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
  recurrence::Scope scope{
      outer.names, outer.points.preimage(drop, count + 1)
                       .intersect(recurrence::to_set(outer.points.context(), reduce.domain, count + 1))};
  scope.names.push_back(reduce.index);
  if (scope.points.is_empty()) return;
  const auto loops = loops_of(scope);
  if (const auto* table = table_of(reduce, scope)) {
    Selection selection;
    for (const auto v : chosen_by(reduce.body)) selection.along.push_back(loops[v].index);
    const auto& tensor = system_.at(table->tensor);
    if (tensor.role == recurrence::Role::input) selection.input = &tensor.name;
    selection.elements = 1;
    for (const auto extent : tensor.extents()) selection.elements *= static_cast<double>(extent);
    for (std::size_t v = 0; v < loops.size(); ++v) {
      if (!names(*table, v)) selection.moving.insert(loops[v].index);
    }
    works.push_back({operators_of_selection, loops, std::move(selection)});
    found_.try_emplace(loops.back().index, Way{loops.back(), 1, {}});  // the number passes all of them
    add_ways(*table, loops);
    return;
  }
  const auto* body = std::get_if<recurrence::Apply>(&system_.at(reduce.body).node);
  const bool sums = sums_choices(reduce, loops.size() - 1);
  if (!sums && (body == nullptr || body->op != recurrence::Op::multiply)) add_operators(1, loops);
  found_.try_emplace(loops.back().index, Way{loops.back(), 1, {}, !sums, true});
  add(reduce.body, scope, loops, after + 1);
}

}  // namespace cyclotron::schedule
