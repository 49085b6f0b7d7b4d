#include "spaces.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::dataflow::detail {

using recurrence::Equation;
using recurrence::Reduce;
using recurrence::System;

/// Tensors read through each other that are followed to find where the last one is made, where they may depend on each
/// other.
constexpr std::size_t longest_chain = 3;

std::optional<recurrence::ExprId> reduction_of(const System& system, const Equation& equation) {
  std::optional<recurrence::ExprId> found;
  std::vector<recurrence::ExprId> todo{equation.expr};
  while (!todo.empty()) {
    const auto id = todo.back();
    todo.pop_back();
    const auto& expr = system.at(id);
    if (const auto* apply = std::get_if<recurrence::Apply>(&expr.node)) {
      todo.insert(todo.end(), apply->operands.begin(), apply->operands.end());
    } else if (const auto* reduce = std::get_if<Reduce>(&expr.node)) {
      if (found == id) continue;  // its value is used twice
      if (found) {
        throw LegalityError({.code = "CYC210",
                             .span = expr.span,
                             .message = fmt::format("the equation of `{}` has a second reduction, over `{}`",
                                                    system.at(equation.target).user_name(), reduce->index),
                             .notes = {{system.at(*found).span, "the first is here"}},
                             .help = "give the second reduction a tensor of its own"});
      }
      found = id;
      todo.push_back(reduce->body);
    }
  }
  return found;
}

recurrence::ExprId whole_of(const System& system, const Equation& equation, recurrence::ExprId reduction) {
  std::vector<recurrence::ExprId> todo{equation.expr};
  while (!todo.empty()) {
    const auto id = todo.back();
    todo.pop_back();
    const auto* apply = std::get_if<recurrence::Apply>(&system.at(id).node);
    if (apply == nullptr) continue;
    if ((apply->flags & operators::onward) != 0 && apply->operands[1] == reduction) return id;
    todo.insert(todo.end(), apply->operands.begin(), apply->operands.end());
  }
  return reduction;
}

std::vector<std::size_t> grid_dimensions(const schedule::Schedule& schedule,
                                         const std::vector<std::string>& dims) {
  std::vector<std::size_t> result;
  for (const auto& form : schedule::frame(schedule, dims).space) {
    for (std::size_t d = 0; d < dims.size(); ++d) {
      const auto axis = poly::variable(dims.size(), d);
      if (poly::is_constant(form - axis) || poly::is_constant(form + axis)) result.push_back(d);
    }
  }
  return result;
}

namespace {

/// The tensors that an equation reads.
std::set<recurrence::TensorId> read_by(const System& system, const Equation& equation) {
  std::vector<recurrence::ExprId> todo{equation.expr};
  std::set<recurrence::ExprId> seen;
  std::set<recurrence::TensorId> result;
  while (!todo.empty()) {
    const auto id = todo.back();
    todo.pop_back();
    if (!seen.insert(id).second) continue;
    const auto& node = system.at(id).node;
    if (const auto* access = std::get_if<recurrence::Access>(&node)) {
      result.insert(access->tensor);
    } else if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
      todo.insert(todo.end(), apply->operands.begin(), apply->operands.end());
    } else if (const auto* reduce = std::get_if<Reduce>(&node)) {
      todo.push_back(reduce->body);
    }
  }
  return result;
}

}  // namespace

Placement::Placement(const System& system, const poly::Context& context, const std::vector<std::string>& dims,
                     FreeIndexPlacement free_indices, const std::vector<std::size_t>& grid)
    : system_(system), context_(context), dims_(dims), free_indices_(free_indices) {
  for (const auto& equation : system.equations) read_by_.push_back(read_by(system, equation));
  const auto add = [&](const poly::Set& points, const std::vector<std::string>& names) {
    for (std::size_t v = 0; v < names.size() && !points.is_empty(); ++v) {
      const auto d = dim(names[v]);
      if (std::ranges::find(grid, d) == grid.end()) continue;
      const Range range{points.minimum(v).value(), points.maximum(v).value()};
      auto& known = grid_.try_emplace(d, range).first->second;
      known = {std::min(known.least, range.least), std::max(known.greatest, range.greatest)};
    }
  };
  for (const auto& equation : system.equations) {
    if (grid.empty()) break;
    add(recurrence::domain_of(context, equation), equation.indices);
    const auto reduction = reduction_of(system, equation);
    if (!reduction) continue;
    const auto& reduce = std::get<Reduce>(system.at(*reduction).node);
    auto names = equation.indices;
    names.push_back(reduce.index);
    add(terms_of(equation, reduce), names);
  }
}

std::size_t Placement::dim(const std::string& name) const {
  const auto place = std::ranges::find(dims_, name);
  CYC_CHECK(place != dims_.end(), name);
  return static_cast<std::size_t>(place - dims_.begin());
}

poly::Affine Placement::lift(const recurrence::Affine& form, const std::vector<std::string>& names) const {
  poly::Affine result = poly::constant(dims_.size(), form.constant);
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] != 0) result.coefficients[dim(names.at(v))] += form.coefficients[v];
  }
  return result;
}

std::vector<poly::Affine> Placement::lift(const std::vector<recurrence::Affine>& forms,
                                          const std::vector<std::string>& names) const {
  std::vector<poly::Affine> result;
  for (const auto& form : forms) result.push_back(lift(form, names));
  return result;
}

/// Points (i, r) over the equation's indices and the reduction's.
poly::Set Placement::terms_of(const Equation& equation, const Reduce& reduce) const {
  const auto outer = equation.indices.size();
  std::vector<poly::Affine> drop;
  for (std::size_t v = 0; v < outer; ++v) drop.push_back(poly::variable(outer + 1, v));
  return recurrence::domain_of(context_, equation)
      .preimage(drop, outer + 1)
      .intersect(recurrence::to_set(context_, reduce.domain, outer + 1));
}

Space Placement::inner(const Equation& equation, const Reduce& reduce) const {
  auto names = equation.indices;
  names.push_back(reduce.index);
  return place(equation, terms_of(equation, reduce), names, nullptr, false);
}

Space Placement::outer(const Equation& equation, const Reduce* reduce) const {
  return place(equation, recurrence::domain_of(context_, equation), equation.indices, reduce, true);
}

Space Placement::place(const Equation& equation, const poly::Set& points,
                       const std::vector<std::string>& names, const Reduce* reduce, bool at_end) const {
  const auto rank = dims_.size();
  std::vector<poly::Affine> variables;
  std::vector<std::size_t> own;
  for (const auto& name : names) {
    own.push_back(dim(name));
    variables.push_back(poly::variable(rank, own.back()));
  }
  std::ranges::sort(own);
  Space space{"", points.preimage(variables, rank), own, {}};
  for (std::size_t d = 0; d < rank; ++d) {
    if (std::ranges::find(own, d) != own.end()) {
      space.tuple.push_back(poly::variable(rank, d));
      continue;
    }
    const bool is_end = at_end && reduce != nullptr && dims_[d] == reduce->index;
    auto form = is_end ? place_of_total(equation, *reduce) : free_coordinate(equation, d);
    if (at_end) form = without_reductions(equation, reduce, std::move(form));
    space.tuple.push_back(std::move(form));
    space.domain = space.domain.intersect({poly::variable(rank, d) - space.tuple.back(), true});
  }
  space.domain = space.domain.coalesce();
  return space;
}

/// The form with the reduction index at its end.
poly::Affine Placement::without_reductions(const Equation& equation, const Reduce* reduce,
                                           poly::Affine form) const {
  if (reduce == nullptr || form.coefficients[dim(reduce->index)] == 0) return form;
  std::vector<poly::Affine> replace;
  for (std::size_t v = 0; v < dims_.size(); ++v) replace.push_back(poly::variable(dims_.size(), v));
  replace[dim(reduce->index)] = place_of_total(equation, *reduce);
  return poly::substitute(form, replace, dims_.size());
}

/// r_end(i): one more than the upper bound of r that the text gives, or one less than the lower one if it descends.
poly::Affine Placement::end_of(const Equation& equation, const Reduce& reduce) const {
  const auto outer = equation.indices.size();
  const std::int64_t bounding = reduce.descending ? 1 : -1;
  const auto beyond = poly::constant(dims_.size(), -bounding);
  std::vector<poly::Affine> ends;
  for (const auto& conjunction : reduce.domain) {
    for (const auto& constraint : conjunction) {
      const auto form = recurrence::to_poly(constraint.form, outer + 1);
      const auto own = form.coefficients[outer];
      if (constraint.modulus != 0 || (own != bounding && !(constraint.equality && own == -bounding)))
        continue;
      recurrence::Affine rest{form.coefficients, form.constant};
      rest.coefficients.pop_back();
      auto end = lift(rest, equation.indices);
      if (own == 1) end = -1 * end;
      end = end + beyond;
      if (std::ranges::find(ends, end) == ends.end()) ends.push_back(std::move(end));
    }
  }
  // Of several bounds (`range(n) if k <= i`) the least one, where it is one bound everywhere.
  std::vector<poly::Affine> variables;
  for (const auto& name : equation.indices) variables.push_back(poly::variable(dims_.size(), dim(name)));
  const auto points = recurrence::domain_of(context_, equation).preimage(variables, dims_.size());
  for (const auto& end : ends) {
    const bool least = std::ranges::all_of(ends, [&](const poly::Affine& other) {
      return points.satisfies({-bounding * (other - end), false});
    });
    if (least) return end;
  }
  if (ends.size() != 1) {
    throw LegalityError(
        {.code = "CYC212",
         .span = equation.span,
         .message = fmt::format(
             "the reduction over `{}` has {} upper bounds, and none of them is the least everywhere",
             reduce.index, ends.size()),
         .notes = {},
         .help = "write one range per reduction and split the equation by an index condition"});
  }
  return ends.front();
}

/// Point of the outer expression: r_end(i), or at the last term where that is beyond all other points along a grid
/// dimension, which would have a PE more for it.
poly::Affine Placement::place_of_total(const Equation& equation, const Reduce& reduce) const {
  auto end = end_of(equation, reduce);
  const auto range = grid_.find(dim(reduce.index));
  if (range == grid_.end()) return end;
  std::vector<poly::Affine> variables;
  for (const auto& name : equation.indices) variables.push_back(poly::variable(dims_.size(), dim(name)));
  const auto points = recurrence::domain_of(context_, equation).preimage(variables, dims_.size());
  const auto ends = points.image({end});
  if (ends.is_empty()) return end;
  const auto [least, greatest] = range->second;
  const auto low = ends.minimum(0).value(), high = ends.maximum(0).value();
  auto last = end;
  last.constant += reduce.descending ? 1 : -1;
  if (reduce.descending) return low < least && high < greatest ? last : end;
  return high > greatest && low > least ? last : end;
}

/// True where a form over dims is at least another at every point in scope.
bool Placement::is_later(const recurrence::Scope& scope, const poly::Affine& form,
                         const poly::Affine& other) const {
  const auto difference = form - other;
  poly::Affine local = poly::constant(scope.names.size(), difference.constant);
  for (std::size_t v = 0; v < dims_.size(); ++v) {
    if (difference.coefficients[v] == 0) continue;
    const auto place = std::ranges::find(scope.names, dims_[v]);
    if (place == scope.names.end()) return false;
    local.coefficients[static_cast<std::size_t>(place - scope.names.begin())] = difference.coefficients[v];
  }
  return scope.points.satisfies({local, false});
}

bool Placement::is_own(const Equation& equation) const {
  const auto* first = system_.equations.data();
  return std::greater_equal{}(&equation, first) && std::less{}(&equation, first + system_.equations.size());
}

/// Remembered for the system's own equations: whatever else asks may be gone before the next.
poly::Affine Placement::free_coordinate(const Equation& equation, std::size_t d, std::size_t chain) const {
  if (chain == 0 && !in_order_.contains(d)) find_in_order(d);
  if (!is_own(equation)) return find_free_coordinate(equation, d, chain);
  const std::tuple key{&equation, d, chain};
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return known_.emplace(key, find_free_coordinate(equation, d, chain)).first->second;
}

/// Finds the coordinates of all equations that lack an index and depend on none of their own, through others that lack it:
/// each after those that it reads, so that no chain of them is too long to follow.
void Placement::find_in_order(std::size_t d) const {
  const auto lacks = [&](const Equation& equation) {
    return std::ranges::find(equation.indices, dims_[d]) == equation.indices.end();
  };
  const auto count = system_.tensors.size();
  std::vector<std::vector<const Equation*>> makers(count);
  for (const auto& equation : system_.equations) {
    if (lacks(equation)) makers[equation.target.index()].push_back(&equation);
  }
  std::vector<std::vector<std::size_t>> readers(count);
  std::vector<std::size_t> left(count, 0), ready;
  for (std::size_t e = 0; e < read_by_.size(); ++e) {
    const auto target = system_.equations[e].target;
    if (!lacks(system_.equations[e])) continue;
    for (const auto tensor : read_by_[e]) {
      if (tensor == target || makers[tensor.index()].empty()) continue;
      readers[tensor.index()].push_back(target.index());
      ++left[target.index()];
    }
  }
  for (std::size_t t = 0; t < count; ++t) {
    if (left[t] == 0) ready.push_back(t);
  }
  for (std::size_t next = 0; next < ready.size(); ++next) {
    for (const auto reader : readers[ready[next]]) {
      if (--left[reader] == 0) ready.push_back(reader);
    }
  }
  auto& is_in_order = in_order_.try_emplace(d, count, false).first->second;
  for (const auto t : ready) is_in_order[t] = true;
  for (const auto t : ready) {
    for (const auto* equation : makers[t]) (void)free_coordinate(*equation, d);
  }
}

/// The coordinate of an index that the equation lacks: what another equation of the tensor has at the place
/// of that index in its subscripts (Cholesky's diagonal L[j, j] sits at i = j because another equation
/// writes L[i, j]); else where the last of the computed tensors that it reads is made (the end of an inner
/// sum); else 0, or where it is first read if that is before.
poly::Affine Placement::find_free_coordinate(const Equation& equation, std::size_t d,
                                             std::size_t chain) const {
  for (const auto& other : system_.equations) {
    if (other.target != equation.target) continue;
    for (std::size_t s = 0; s < other.index.size(); ++s) {
      // Written at U[t+1]: the element U[0] belongs to t = -1.
      const auto written = lift(other.index[s], other.indices);
      const auto shift = written - poly::variable(dims_.size(), d);
      if (poly::is_constant(shift)) return lift(equation.index[s], equation.indices) - shift;
      const auto mirrored = written + poly::variable(dims_.size(), d);
      if (poly::is_constant(mirrored)) return mirrored - lift(equation.index[s], equation.indices);
    }
  }
  auto latest = poly::constant(dims_.size(), 0);
  if (free_indices_ == FreeIndexPlacement::zero) return latest;
  if (chain > longest_chain) return latest;  // perhaps the tensors depend on each other
  bool found = false;
  const auto points = recurrence::domain_of(context_, equation);
  recurrence::for_each_expr(
      system_, equation, points, [&](recurrence::ExprId id, const recurrence::Scope& scope) {
        const auto* access = std::get_if<recurrence::Access>(&system_.at(id).node);
        if (access == nullptr || access->tensor == equation.target) return;
        for (const auto& maker : system_.equations) {
          if (maker.target != access->tensor) continue;
          if (free_indices_ == FreeIndexPlacement::in_statement &&
              is_of_earlier_statement(maker, equation, d))
            continue;
          const auto where = where_read(equation, *access, scope.names, maker, d, chain);
          if (!where || (found && !is_later(scope, *where, latest))) continue;
          latest = *where;
          found = true;
        }
      });
  if (!found) latest.constant = std::min<std::int64_t>(0, first_use(equation, d, chain));
  return latest;
}

/// True where numbers along the dims before another tell that all points of the maker come before those of the reader: as
/// those of statements do.
bool Placement::is_of_earlier_statement(const Equation& maker, const Equation& reader, std::size_t d) const {
  const auto first = constants_of(maker), second = constants_of(reader);
  for (std::size_t v = 0; v < d; ++v) {
    if (!first[v] || !second[v]) continue;
    if (*first[v] != *second[v]) return *first[v] < *second[v];
  }
  return false;
}

/// An equation's coordinate along each dim where that is one number.
Placement::Constants Placement::constants_of(const Equation& equation) const {
  if (const auto known = constants_.find(&equation); known != constants_.end()) return known->second;
  Constants result(dims_.size());
  const auto points = recurrence::domain_of(context_, equation);
  for (std::size_t v = 0; v < equation.indices.size() && !points.is_empty(); ++v) {
    const auto least = points.minimum(v);
    if (least && least == points.maximum(v)) result[dim(equation.indices[v])] = least;
  }
  if (is_own(equation)) constants_.emplace(&equation, result);
  return result;
}

/// The least coordinate `d` of the equations that read an equation's target, where that is known.
std::int64_t Placement::first_use(const Equation& equation, std::size_t d, std::size_t chain) const {
  std::int64_t first = 0;
  for (std::size_t e = 0; e < system_.equations.size(); ++e) {
    const auto& reader = system_.equations[e];
    if (reader.target == equation.target || !read_by_[e].contains(equation.target)) continue;
    const auto own = std::ranges::find(reader.indices, dims_[d]);
    if (own == reader.indices.end()) {
      const auto place = free_coordinate(reader, d, chain + 1);
      if (poly::is_constant(place)) first = std::min(first, place.constant);
    } else {
      const auto place = static_cast<std::size_t>(own - reader.indices.begin());
      first = std::min(first, recurrence::domain_of(context_, reader).minimum(place).value_or(0));
    }
  }
  return first;
}

bool Placement::differs(const Placement& other) const {
  return std::ranges::any_of(system_.equations, [&](const Equation& equation) {
    auto names = equation.indices;
    if (const auto reduction = reduction_of(system_, equation))
      names.push_back(std::get<Reduce>(system_.at(*reduction).node).index);
    for (std::size_t d = 0; d < dims_.size(); ++d) {
      const bool has = std::ranges::find(names, dims_[d]) != names.end();
      if (!has && !(free_coordinate(equation, d) == other.free_coordinate(equation, d))) return true;
    }
    return false;
  });
}

/// True where the reduction has a term at every point of the equation.
bool Placement::has_terms(const Equation& equation, const Reduce& reduce) const {
  std::vector<std::size_t> keep;
  for (std::size_t v = 0; v < equation.indices.size(); ++v) keep.push_back(v);
  return recurrence::domain_of(context_, equation).is_subset(terms_of(equation, reduce).project(keep));
}

/// Coordinate `d` of the point that makes the element which the reader accesses, in the reader's indices;
/// none where the element does not tell.
std::optional<poly::Affine> Placement::where_read(const Equation& reader, const recurrence::Access& access,
                                                  const std::vector<std::string>& names,
                                                  const Equation& maker, std::size_t d,
                                                  std::size_t chain) const {
  const auto rank = dims_.size();
  poly::Affine form = poly::variable(rank, d);
  if (std::ranges::find(maker.indices, dims_[d]) == maker.indices.end()) {
    const auto reduction = reduction_of(system_, maker);
    const auto* reduce = reduction ? &std::get<Reduce>(system_.at(*reduction).node) : nullptr;
    if (reduce != nullptr && reduce->index == dims_[d]) {
      // A total that is the element itself stays at its last term, if it has one.
      const bool stays = maker.expr == whole_of(system_, maker, *reduction) && has_terms(maker, *reduce);
      form = stays ? end_of(maker, *reduce) : place_of_total(maker, *reduce);
      if (stays) form.constant -= reduce->descending ? -1 : 1;
    } else {
      const bool ends = chain == 0 && in_order_.at(d)[maker.target.index()];
      form = without_reductions(maker, reduce, free_coordinate(maker, d, ends ? 0 : chain + 1));
    }
  }
  std::vector<poly::Affine> replace(rank, poly::constant(rank, 0));
  std::vector<bool> known(rank, false);
  for (std::size_t s = 0; s < maker.index.size(); ++s) {
    const auto subscript = lift(maker.index[s], maker.indices);
    for (std::size_t v = 0; v < rank; ++v) {
      if (!(subscript == poly::variable(rank, v))) continue;
      replace[v] = lift(access.index[s], names);
      known[v] = true;
    }
  }
  for (std::size_t v = 0; v < rank; ++v) {
    if (form.coefficients[v] != 0 && !known[v]) return std::nullopt;
  }
  form = poly::substitute(form, replace, rank);
  // Of the reader's own indices only, or a reduction index of its that will be given its end.
  for (std::size_t v = 0; v < rank; ++v) {
    const bool own = std::ranges::find(reader.indices, dims_[v]) != reader.indices.end() ||
                     std::ranges::find(names, dims_[v]) != names.end();
    if (form.coefficients[v] != 0 && !own) return std::nullopt;
  }
  return form;
}

}  // namespace cyclotron::dataflow::detail
