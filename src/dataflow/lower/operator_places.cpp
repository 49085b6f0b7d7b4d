#include <cyclotron/dataflow/operator_places.hpp>

#include <algorithm>
#include <utility>

#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/recurrence/early_exit.hpp>
#include <cyclotron/recurrence/omit_determined.hpp>
#include <cyclotron/recurrence/split_bounds.hpp>
#include <cyclotron/recurrence/split_reductions.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "spaces.hpp"

namespace cyclotron::dataflow {

namespace {

using recurrence::System;

/// An equation's points, and those of its reduction's terms.
struct EquationSpaces {
  Space result;
  std::optional<Space> terms;
};

std::vector<EquationSpaces> spaces_of(const System& system, const detail::Placement& placement) {
  std::vector<EquationSpaces> result;
  for (const auto& equation : system.equations) {
    const auto id = detail::reduction_of(system, equation);
    const auto* reduce = id ? &std::get<recurrence::Reduce>(system.at(*id).node) : nullptr;
    result.push_back({placement.outer(equation, reduce), std::nullopt});
    if (reduce != nullptr) result.back().terms = placement.inner(equation, *reduce);
  }
  return result;
}

class Places {
 public:
  Places(const System& system, const recurrence::OperationGraph& graph, const std::vector<std::string>& space,
         std::int64_t unknown)
      : system_(system), graph_(graph), dims_(schedule::index_names(system)), unknown_(unknown) {
    for (const auto& name : space) {
      const auto at = std::ranges::find(dims_, name);
      grid_.emplace_back(at == dims_.end() ? std::nullopt : std::optional(at - dims_.begin()));
    }
  }

  [[nodiscard]] OperatorPlaces of(FreeIndexPlacement free_indices) const {
    std::vector<std::size_t> along;
    for (const auto d : grid_) {
      if (d) along.push_back(static_cast<std::size_t>(*d));
    }
    const detail::Placement placement(system_, context_, dims_, free_indices, along);
    const auto spaces = spaces_of(system_, placement);
    const auto rank = grid_.size();
    OperatorPlaces result{std::vector(graph_.cycles.size() * rank, unknown_), {}, {}};
    for (std::size_t g = 0; g < rank; ++g) {
      const auto [first, last] = range(spaces, g);
      result.first.push_back(first);
      result.last.push_back(last);
    }
    for (const auto& kind : graph_.kinds) {
      const auto& own = spaces.at(kind.equation);
      const auto& tuple = kind.is_term ? own.terms.value().tuple : own.result.tuple;
      for (std::size_t n = 0; n < kind.nodes.size(); ++n) {
        for (std::size_t g = 0; g < rank; ++g)
          result.coordinates[kind.nodes[n] * rank + g] = at(kind, n, tuple, g);
      }
    }
    return result;
  }

 private:
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> range(const std::vector<EquationSpaces>& spaces,
                                                            std::size_t g) const {
    std::optional<std::pair<std::int64_t, std::int64_t>> result;
    const auto add = [&](const Space& space) {
      if (space.domain.is_empty()) return;
      const auto d = static_cast<std::size_t>(grid_[g].value());
      const auto least = space.domain.minimum(d).value(), greatest = space.domain.maximum(d).value();
      result = result ? std::pair(std::min(result->first, least), std::max(result->second, greatest))
                      : std::pair(least, greatest);
    };
    for (const auto& [own, terms] : spaces) {
      if (!grid_[g]) break;
      add(own);
      if (terms) add(*terms);
    }
    return result.value_or(std::pair(0, 0));
  }

  /// Along one dimension of the grid, of the operator's n-th point.
  [[nodiscard]] std::int64_t at(const recurrence::OperationKind& kind, std::size_t n,
                                const std::vector<poly::Affine>& tuple, std::size_t g) const {
    if (!grid_[g]) return 0;
    const auto& form = tuple[static_cast<std::size_t>(*grid_[g])];
    auto result = form.constant;
    for (std::size_t v = 0; v < kind.indices.size(); ++v) {
      const auto d = std::ranges::find(dims_, kind.indices[v]) - dims_.begin();
      result += form.coefficients[static_cast<std::size_t>(d)] * kind.points[n * kind.indices.size() + v];
    }
    return result;
  }

  const System& system_;
  const recurrence::OperationGraph& graph_;
  poly::Context context_;
  std::vector<std::string> dims_;
  std::vector<std::optional<std::ptrdiff_t>> grid_;
  std::int64_t unknown_;
};

}  // namespace

std::optional<System> equations_to_lower(const System& system, const System& kernel) {
  const auto is_kept = [](const std::string&) { return false; };
  const auto plain = recurrence::omit_determined(recurrence::copy_results(kernel), is_kept);
  if (!(plain == kernel)) return std::nullopt;
  return recurrence::split_bounds(recurrence::split_reductions(system));
}

std::vector<OperatorPlaces> operator_places(const System& system, const recurrence::OperationGraph& graph,
                                            const std::vector<std::string>& space, std::int64_t unknown) {
  const Places places(system, graph, space, unknown);
  std::vector<OperatorPlaces> result;
  using enum FreeIndexPlacement;
  for (const auto free_indices : {where_read, zero, in_statement}) {
    auto own = places.of(free_indices);
    if (std::ranges::find(result, own) == result.end()) result.push_back(std::move(own));
  }
  return result;
}

}  // namespace cyclotron::dataflow
