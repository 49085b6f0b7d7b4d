// Placements for those who give none, and what a run costs on each, about.
#include "placements.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "sequential.hpp"

namespace cyclotron::schedule {

namespace {

using recurrence::Equation;
using recurrence::ExprId;
using recurrence::System;
using Names = std::vector<std::string>;

/// Indices that are tried, the longest: pairs of them are a few hundred, and triples.
constexpr std::size_t most_indices = 24, most_indices_of_cubes = 10;
/// Reductions from both ends are tried where the estimate is so many times better.
constexpr double much_shorter = 1.05;

/// A loop around an operation, and how many values its index has there.
struct Loop {
  std::size_t index = 0;
  double extent = 1;
};

/// Operators of one PE: so many cycles at each point of the loops.
struct Work {
  double cycles = 0;
  std::vector<Loop> loops;
};

/// The way of values from point to point along an index, where it is space: so many cycles a point, in each iteration of
/// the loops further out that run one after the other in time.
struct Way {
  Loop along;
  double cycles = 1;
  std::vector<Loop> around;
  bool computed = false;  ///< They start or end where a reduction does.
};

/// Collects the operators and ways of an equation.
class EquationCost {
 public:
  EquationCost(const System& system, const Names& names) : system_(system), names_(names) {}

  void add(const Equation& equation, const SequentialIndices& sequential) {
    const auto domain = recurrence::domain_of(poly::Context(), equation);
    if (domain.is_empty()) return;
    const recurrence::Scope scope{equation.indices, domain};
    const auto loops = loops_of(scope);
    const auto before = works.size();
    add(equation.expr, scope, loops);
    const auto operators = static_cast<double>(works.size() - before);
    std::vector<Loop> outer;  // that run in turn
    for (const auto& loop : loops) {
      const bool carried = sequential.carried.contains(names_[loop.index]);
      const auto way = found_.find(loop.index);
      if (way != found_.end()) way->second.around = outer;
      // From neighbour to neighbour, iterations of outer loops follow each other as wavefronts do.
      if (carried) found_[loop.index] = {loop, operators + 1, {}};
      if (carried || sequential.exits.contains(names_[loop.index])) outer.push_back(loop);
    }
    for (auto& [index, way] : found_) {
      const bool reduced = std::ranges::find(loops, index, &Loop::index) == loops.end();
      if (reduced) way.around = outer;
      ways.push_back(std::move(way));
    }
    found_.clear();
  }

  std::vector<Work> works;
  std::vector<Way> ways;

 private:
  [[nodiscard]] std::vector<Loop> loops_of(const recurrence::Scope& scope) const {
    std::vector<Loop> result;
    for (std::size_t v = 0; v < scope.names.size(); ++v) {
      const auto index = std::ranges::find(names_, scope.names[v]) - names_.begin();
      const auto low = scope.points.minimum(v).value_or(0), high = scope.points.maximum(v).value_or(0);
      result.push_back(
          {static_cast<std::size_t>(index), static_cast<double>(std::max<std::int64_t>(high - low + 1, 1))});
    }
    return result;
  }

  void add(ExprId id, const recurrence::Scope& scope, const std::vector<Loop>& loops) {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
      if (operators::info(apply->op).flops_per_element != 0) works.push_back({1, loops});
      for (const auto operand : apply->operands) add(operand, scope, loops);
    } else if (const auto* access = std::get_if<recurrence::Access>(&node)) {
      add_ways(*access, loops);
    } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
      add_reduction(*reduce, scope);
    }
  }

  /// A value is needed at all points along the indices that its subscripts do not name.
  void add_ways(const recurrence::Access& access, const std::vector<Loop>& loops) {
    for (std::size_t v = 0; v < loops.size(); ++v) {
      const bool named = std::ranges::any_of(access.index, [&](const recurrence::Affine& form) {
        return v < form.coefficients.size() && form.coefficients[v] != 0;
      });
      const bool computed = system_.at(access.tensor).role != recurrence::Role::input;
      if (!named) found_.try_emplace(loops[v].index, Way{loops[v], 1, {}, computed});
    }
  }

  /// A sum of products is one operator a term.
  void add_reduction(const recurrence::Reduce& reduce, const recurrence::Scope& outer) {
    const auto count = outer.names.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
    recurrence::Scope scope{
        outer.names, outer.points.preimage(drop, count + 1)
                         .intersect(recurrence::to_set(outer.points.context(), reduce.domain, count + 1))};
    scope.names.push_back(reduce.index);
    if (scope.points.is_empty()) return;
    const auto loops = loops_of(scope);
    const auto* body = std::get_if<recurrence::Apply>(&system_.at(reduce.body).node);
    if (body == nullptr || body->op != recurrence::Op::multiply) works.push_back({1, loops});
    found_.try_emplace(loops.back().index, Way{loops.back(), 1, {}, true});
    add(reduce.body, scope, loops);
  }

  const System& system_;
  const Names& names_;
  std::map<std::size_t, Way> found_;  ///< Of the equation at hand, by index.
};

/// Estimates of cycles, of any placement.
class Estimates {
 public:
  Estimates(const System& system, const std::vector<std::int64_t>& grid)
      : names_(index_names(system)), extents_(names_.size(), 1), grid_(grid), cost_(system, names_) {
    const auto sequential = sequential_indices(system);
    carried_ = sequential.carried;
    const auto free = recurrence::indices_in_any_order(system);
    in_any_order_ = {free.begin(), free.end()};
    for (const auto& equation : system.equations) cost_.add(equation, sequential);
    const auto widen = [&](const Loop& loop) {
      extents_[loop.index] = std::max(extents_[loop.index], loop.extent);
    };
    for (const auto& work : cost_.works) std::ranges::for_each(work.loops, widen);
    for (const auto& way : cost_.ways) widen(way.along);
    for (std::size_t n = 0; n < names_.size(); ++n) {
      if (extents_[n] > 1 && !sequential.exits.contains(names_[n])) candidates_.push_back(n);
    }
    const auto most = grid_dimensions(grid) > 2 ? most_indices_of_cubes : most_indices;
    std::ranges::stable_sort(candidates_, std::greater{}, [&](std::size_t n) { return extents_[n]; });
    candidates_.resize(std::min(candidates_.size(), most));
    std::ranges::sort(candidates_);
  }

  /// Indices that may be space, in nesting order.
  [[nodiscard]] Names candidates() const {
    Names result;
    for (const auto n : candidates_) result.push_back(names_[n]);
    return result;
  }

  [[nodiscard]] Placement of(Schedule schedule) const {
    std::vector<double> parts(names_.size(), 0);  // PEs along the indices in space
    Placement result;
    std::set<std::size_t> inwards;
    for (std::size_t d = 0; d < schedule.space_indices.size(); ++d) {
      const auto n =
          static_cast<std::size_t>(std::ranges::find(names_, schedule.space_indices[d]) - names_.begin());
      if (n == names_.size()) continue;
      result.in_turn = result.in_turn || carried_.contains(names_[n]);
      if (std::ranges::find(schedule.inward_indices, names_[n]) != schedule.inward_indices.end())
        inwards.insert(n);
      parts[n] = extents_[n];
      if (d < grid_.size()) parts[n] = std::min(parts[n], static_cast<double>(grid_[d]));
      result.pes *= parts[n];
    }
    for (const auto& work : cost_.works) {
      double cycles = work.cycles;
      for (const auto& loop : work.loops) {
        const bool spread = parts[loop.index] > 0;
        cycles *=
            spread ? std::min(loop.extent, std::ceil(extents_[loop.index] / parts[loop.index])) : loop.extent;
      }
      result.cycles += cycles;
    }
    result.least = result.cycles;
    for (const auto& way : cost_.ways) {
      double cycles = way.cycles * std::min(parts[way.along.index], way.along.extent);
      if (way.computed && inwards.contains(way.along.index)) cycles /= 2;
      result.least += cycles;
      for (const auto& loop : way.around) cycles *= parts[loop.index] > 0 ? 1 : loop.extent;
      result.cycles += cycles;
    }
    result.schedule = std::move(schedule);
    return result;
  }

  /// The placement with its reductions from both ends of the grid, where they may have that order and are shorter so.
  [[nodiscard]] std::optional<Placement> inwards(const Placement& placement) const {
    auto schedule = placement.schedule;
    for (const auto& index : schedule.space_indices) {
      if (in_any_order_.contains(index)) schedule.inward_indices.push_back(index);
    }
    if (schedule.inward_indices.empty()) return std::nullopt;
    std::ranges::sort(schedule.inward_indices);
    auto result = of(std::move(schedule));
    return result.cycles * much_shorter < placement.cycles ? std::optional(std::move(result)) : std::nullopt;
  }

 private:
  Names names_;
  std::vector<double> extents_;  ///< Of each index, the most in any equation.
  const std::vector<std::int64_t>& grid_;
  EquationCost cost_;
  std::set<std::string> carried_, in_any_order_;
  std::vector<std::size_t> candidates_;
};

/// All choices of some indices, from none to so many, in order.
void for_each_choice(const Names& from, std::size_t most, const std::function<void(const Names&)>& visit) {
  Names chosen;
  const std::function<void(std::size_t)> choose = [&](std::size_t next) {
    visit(chosen);
    if (chosen.size() == most) return;
    for (; next < from.size(); ++next) {
      chosen.push_back(from[next]);
      choose(next + 1);
      chosen.pop_back();
    }
  };
  choose(0);
}

}  // namespace

std::size_t grid_dimensions(const std::vector<std::int64_t>& grid) { return grid.empty() ? 2 : grid.size(); }

std::vector<std::string> spread(const Names& indices, const std::vector<std::int64_t>& grid) {
  if (grid.size() <= 1) return indices;
  std::vector<std::size_t> largest(grid.size());
  std::iota(largest.begin(), largest.end(), 0);
  std::ranges::stable_sort(largest, std::greater{}, [&](std::size_t d) { return grid[d]; });
  largest.resize(indices.size());
  std::ranges::sort(largest);
  Names result(grid.size(), "0");
  for (std::size_t n = 0; n < indices.size(); ++n) result[largest[n]] = indices[n];
  return result;
}

Placements placements(const System& system, const std::vector<std::int64_t>& grid) {
  const Estimates estimates(system, grid);
  Placements result;
  for (auto& schedule : defaults(system, grid)) result.defaults.push_back(estimates.of(std::move(schedule)));
  const bool square = std::ranges::adjacent_find(grid, std::not_equal_to{}) == grid.end();
  const auto is_default = [&](const Names& space) {
    return std::ranges::any_of(result.defaults, [&](const Placement& placement) {
      const auto& other = placement.schedule.space_indices;
      return square ? std::ranges::is_permutation(other, space) : other == space;
    });
  };
  for_each_choice(estimates.candidates(), grid_dimensions(grid), [&](const Names& indices) {
    for (auto order = indices;;) {
      const auto space = spread(order, grid);
      if (!is_default(space)) result.others.push_back(estimates.of({space, {}, {}}));
      if (square || !std::ranges::next_permutation(order, {}, [&](const std::string& name) {
                       return std::ranges::find(indices, name);
                     }).found)
        break;
    }
  });
  for (const auto* placements : {&result.defaults, &result.others}) {
    for (const auto& placement : *placements) {
      if (auto inwards = estimates.inwards(placement)) result.inwards.push_back(std::move(*inwards));
    }
  }
  std::ranges::stable_sort(result.others, {}, &Placement::cycles);
  return result;
}

}  // namespace cyclotron::schedule
