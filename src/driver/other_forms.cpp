#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/poly/effort.hpp>
#include <cyclotron/recurrence/reduced_indices.hpp>

#include "placement_search.hpp"

namespace cyclotron::driver {

std::vector<PlacementSearch::Hope> PlacementSearch::hopes(
    const std::vector<schedule::Placement>& others) const {
  const auto times = times_of(choices_);
  std::vector<Hope> result;
  for (const auto& other : others) {
    for (std::size_t n = 0; n < choices_.size(); ++n) {
      const auto& plain = choices_[n].placement;
      if (plain.schedule.space_indices == other.schedule.space_indices &&
          plain.schedule.movements == other.schedule.movements && plain.schedule.folds.empty())
        result.push_back(
            {times[n] * other.cycles / plain.cycles, &other, choices_[n].routed, is_slow(choices_[n])});
    }
  }
  std::ranges::stable_sort(result, {}, &Hope::cycles);
  return result;
}

void PlacementSearch::try_reordered() {
  const poly::EffortLimit limit(most_operations_reordered);
  double least = 0;  // of those that are worth it
  for (const auto& [cycles, other, routed, waits] :
       hopes(placements_.reordered) | std::views::take(most_reordered)) {
    const auto& schedule = other->schedule;
    const bool from_both_ends = !schedule.reductions.empty() && !schedule.inward_indices.empty();
    const bool is_long = cost_ >= (from_both_ends ? costly_kernel : long_kernel);
    const auto worth = is_very_long_ ? far_faster : is_long ? much_faster : 1;
    if (cycles * worth < best_time(choices_)) least = std::max(least, cycles);
    // Of two that promise about as much, either may be the better.
    else if (cost_ >= long_kernel || cycles >= uncertainty * least)
      continue;
    try_order(*other, orders(), routed);
  }
}

void PlacementSearch::try_swapped() {
  const auto& best = choices_[best_first(choices_).front()];
  const poly::EffortLimit limit(has_lacked(best.placement, best.routed) ? most_operations_reordered
                                : cost_ < costly_kernel                 ? most_operations_again
                                                                        : most_operations);
  const auto& grid = best.compiled.program.grid;
  if (!best.placement.is_folded || best.placement.schedule.space_indices.size() != 2 || grid[0] == 1 ||
      grid[1] == 1 || machine_.grid.size() != 2 || machine_.grid[0] != machine_.grid[1])
    return;
  auto swapped = best.placement;
  auto& space = swapped.schedule.space_indices;
  std::swap(space[0], space[1]);
  try_order(swapped, cost_ < costly_kernel ? orders() : 1, best.routed);
  forget_lack(swapped);
}

template <typename Try>
bool PlacementSearch::gains(const Try& variant) {
  const auto before = choices_.size();
  const auto time = best_time(choices_);
  variant();
  if (best_time(choices_) * about_as_fast < time) return true;
  if (choices_.size() > before) choices_.pop_back();
  return false;
}

void PlacementSearch::try_turned() {
  const bool is_costly = cost_ >= costly_kernel;
  const poly::EffortLimit limit(is_costly ? most_operations_of_routes : most_operations_again);
  const auto& first = choices_[best_first(choices_).front()];
  const auto least = (first.placement.in_turn ? far_faster : far_slower) * first.placement.cycles;
  if (cost_ >= long_kernel || first.routed || !(first.placement.in_turn || first.placement.is_folded) ||
      static_cast<double>(first.cycles.value_or(0)) < least)
    return;
  auto placement = first.placement;
  for (std::size_t d = 0; d < placement.schedule.space_indices.size(); ++d) {
    auto turned = placement;
    auto& index = turned.schedule.space_indices[d];
    if (index == "0" || is_sum(index)) continue;
    index = fmt::format("-{}", index);
    // Both dimensions may be better the other way.
    if (gains([&] { try_order(turned, 1); })) placement = turned;
    forget_lack(turned);
    if (is_costly) return;
  }
}

void PlacementSearch::try_dealt() {
  const poly::EffortLimit limit(most_operations_again);
  const auto most = cost_ < costly_kernel ? most_dealt : most_dealt_of_costly;
  for (const auto& [cycles, dealt, routed, waits] : hopes(placements_.dealt) | std::views::take(most)) {
    // PEs that wait for their neighbours' blocks may wait for less where these take turns, which estimates do not tell.
    if (cycles >= (waits ? by_chance : 1) * best_time(choices_)) continue;
    try_order(*dealt, 1, routed);
    if (is_far(*dealt)) try_order(*dealt, 1, true);
  }
  const auto& first = choices_[best_first(choices_).front()];
  if (!is_slow(first)) return;
  // Of those that are refused in blocks, the best: values then come from other PEs.
  auto others = placements_.dealt | std::views::filter([&](const schedule::Placement& other) {
                  return !is_found(other.schedule.space_indices);
                });
  const auto best = std::ranges::min_element(others, {}, &schedule::Placement::cycles);
  if (best == others.end() || best->cycles * far_faster >= best_time(choices_)) return;
  try_order(*best, 1);
  if (is_far(*best)) try_order(*best, 1, true);
}

void PlacementSearch::try_narrower() {
  const poly::EffortLimit limit(most_operations_again);
  for (auto time = no_time; best_time(choices_) * about_as_fast < time;) {
    time = best_time(choices_);
    const auto& best = choices_[best_first(choices_).front()];
    const auto& found = best.placement.schedule;
    if (cost_ >= costly_kernel || best.routed || !is_slow(best, far_faster)) return;
    const auto kind = found.folds.empty() ? schedule::FoldKind::block : found.folds.front().kind;
    const auto half = std::ranges::find_if(placements_.narrower, [&](const schedule::Placement& other) {
      const auto& fold = other.schedule.folds.front();
      return other.schedule.space_indices == found.space_indices &&
             other.schedule.movements == found.movements && fold.kind == kind &&
             fold.parts == static_cast<std::int64_t>(best.placement.pes) / 2;
    });
    if (half == placements_.narrower.end()) return;
    try_order(*half, orders());
  }
}

void PlacementSearch::try_shorter_sums() {
  const poly::EffortLimit limit(most_operations_again);
  const auto reduced = recurrence::reduced_indices(system_.system);
  for (std::size_t d = 0; d < choices_.front().placement.schedule.space_indices.size(); ++d) {
    for (bool gained = true; gained;) {
      const auto& best = choices_[best_first(choices_).front()];
      auto shorter = best.placement;
      const auto& index = shorter.schedule.space_indices[d];
      const auto pes = best.compiled.program.grid[d];
      const bool routed = best.routed;  // others are added
      if (cost_ >= costly_kernel || pes < 4 || std::ranges::find(reduced, index) == reduced.end()) break;
      std::erase(shorter.schedule.inward_indices, index);  // the terms of a PE come first
      auto& folds = shorter.schedule.folds;
      std::erase_if(folds, [&](const schedule::Fold& fold) { return fold.dimension == index; });
      folds.push_back({index, schedule::FoldKind::block, pes / 2});
      shorter.is_folded = true;
      shorter.pes /= 2;
      gained = gains([&] { try_order(shorter, 1, routed); });
    }
  }
}

void PlacementSearch::try_statements_last() {
  const auto& best = choices_[best_first(choices_).front()];
  auto placement = best.placement;
  auto& times = placement.schedule.time_indices;
  times = best.compiled.schedule.time_indices;
  // Indices of what runs one after the other: `expand_arrays`.
  std::ranges::stable_partition(times,
                                [](const std::string& index) { return !index.starts_with("statement"); });
  if (best.pes == 1 || times == best.compiled.schedule.time_indices ||
      static_cast<double>(best.cycles.value_or(0)) < far_slower * placement.fullest)
    return;
  try_variant(placement, best.routed);
}

void PlacementSearch::try_loaded() {
  const auto& best = choices_[best_first(choices_).front()];
  auto placement = best.placement;
  const auto& space = placement.schedule.space_indices;
  // On a grid each PE would hold rows and columns of matrices: many copies of all, where a few words on their way do.
  if (machine_.grid.empty() || std::ranges::count(space, "0") + 1 != std::ssize(space)) return;
  auto& movements = placement.schedule.movements;
  double elements = 0;
  for (const auto& tensor : system_.system.tensors) {
    if (!placements_.passing.contains(tensor.name) ||
        std::ranges::find(movements, tensor.name, &schedule::Movement::tensor) != movements.end())
      continue;
    movements.push_back({tensor.name, schedule::MovementKind::prefetch, {}});
    double size = 1;
    for (const auto extent : tensor.extents()) size *= static_cast<double>(extent);
    elements += size;
  }
  if (best.pes == 1 || elements == 0 || elements * static_cast<double>(best.pes) > most_loaded ||
      static_cast<double>(best.cycles.value_or(0)) < far_slower * placement.fullest)
    return;
  try_variant(placement, best.routed);
}

void PlacementSearch::try_variant(const schedule::Placement& placement, bool routed) {
  const poly::EffortLimit limit(cost_ < costly_kernel ? most_operations_again : most_operations_of_routes);
  auto& variant = this->variant(placement.schedule);
  CandidateSearch::Limits limits{.most = 1, .prove = false, .orders = schedule::Orders::likely};
  if (routed) limits.way = dataflow::Relays::routed;
  gains([&] {
    auto compiled = variant.search.run(placement.schedule, limits);
    if (compiled) keep(placement, variant, std::move(compiled), routed);
  });
}

}  // namespace cyclotron::driver
