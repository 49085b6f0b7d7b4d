// Schedules for those who give none.
#include <algorithm>

#include <cyclotron/schedule/schedule.hpp>

#include "placements.hpp"
#include "sequential.hpp"

namespace cyclotron::schedule {

namespace {

using recurrence::Equation;
using recurrence::System;
using Names = std::vector<std::string>;

bool is_among(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// The indices in the subscripts of the equation's target, in the order of its dimensions. One of a single element has
/// nothing to spread, and is left out beside others.
Names subscripts(const System& system, const Equation& equation) {
  Names all, long_ones;
  const auto extents = system.at(equation.target).extents();
  const auto add = [](Names& names, const std::string& name) {
    if (!is_among(names, name)) names.push_back(name);
  };
  for (std::size_t d = 0; d < equation.index.size(); ++d) {
    const auto& form = equation.index[d];
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      if (form.coefficients[v] == 0) continue;
      add(all, equation.indices[v]);
      if (extents[d] > 1) add(long_ones, equation.indices[v]);
    }
  }
  return long_ones.empty() ? all : long_ones;
}

/// The indices of the deepest reductions of an expression, outermost first.
Names reduction_nest(const System& system, recurrence::ExprId id) {
  const auto& node = system.at(id).node;
  Names result;
  if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
    for (const auto operand : apply->operands) {
      auto nest = reduction_nest(system, operand);
      if (nest.size() > result.size()) result = std::move(nest);
    }
  } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
    result = reduction_nest(system, reduce->body);
    result.insert(result.begin(), reduce->index);
  }
  return result;
}

/// Of the indices of a target those that are places of elements: loops whose iterations make its values in turn
/// have none. Where all are such loops, those of an output are places, as in a scan; of a local tensor's several
/// the innermost is.
Names places(const System& system, const Equation& equation, const SequentialIndices& sequential) {
  auto all = subscripts(system, equation);
  std::erase_if(all, [&](const std::string& index) { return sequential.exits.contains(index); });
  auto result = all;
  std::erase_if(result, [&](const std::string& index) { return sequential.carried.contains(index); });
  if (!result.empty()) return result;
  if (system.at(equation.target).role != recurrence::Role::local) return all;
  return all.size() > 1 ? Names{all.back()} : result;
}

/// The indices that are spread over the grid: those of places of the deepest equation, of several the one with the
/// most. Where all elements are single, those of reductions of reductions.
Names chosen_indices(const System& system) {
  const auto sequential = sequential_indices(system);
  Names chosen;
  std::size_t depth = 0;
  for (const auto& equation : system.equations) {
    auto here = places(system, equation, sequential);
    const auto indices = equation.indices.size();
    if (here.empty() || indices < depth) continue;
    if (indices == depth && here.size() <= chosen.size()) continue;
    depth = indices;
    chosen = std::move(here);
  }
  if (!chosen.empty()) return chosen;
  for (const auto& equation : system.equations) {
    auto nest = reduction_nest(system, equation.expr);
    if (!nest.empty()) nest.pop_back();  // terms are added one after the other
    if (nest.size() > chosen.size()) chosen = std::move(nest);
  }
  return chosen;
}

}  // namespace

std::vector<Schedule> defaults(const System& system, const std::vector<std::int64_t>& grid) {
  auto indices = chosen_indices(system);
  indices.resize(std::min(indices.size(), grid_dimensions(grid)));
  std::vector<Schedule> result;
  for (;; indices.pop_back()) {
    result.push_back({spread(indices, grid), {}, {}});
    if (indices.empty()) return result;
  }
}

}  // namespace cyclotron::schedule
