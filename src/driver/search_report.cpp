// The outcome that a search of placements tells, to other searches and to users.
#include <algorithm>
#include <ranges>
#include <utility>

#include "placement_search.hpp"
#include "slow_defaults.hpp"

namespace cyclotron::driver {

bool PlacementSearch::lacked_effort() const {
  return std::ranges::any_of(lacked_, [&](const Lacked& one) { return is_open(one); });
}

double PlacementSearch::time_in_order() const {
  auto least = no_time;
  const auto times = times_of(choices_);
  for (std::size_t n = 0; n < times.size(); ++n) {
    if (choices_[n].placement.schedule.time_indices.empty()) least = std::min(least, times[n]);
  }
  return std::max(time_, least);
}

double PlacementSearch::expected() const {
  if (!is_slow(taken())) return std::min(time_in_order(), taken().placement.cycles);
  if (taken().routed) return time_in_order();  // its ways are what was not estimated
  // All estimates of a kernel may be as much too small.
  auto times = no_time;
  for (const auto& choice : choices_)
    times = std::min(times, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
  return time_ / std::max(times, 1.0);
}

double PlacementSearch::largest_estimate() const {
  double times = 1;
  for (const auto& choice : choices_) {
    if (choice.cycles.value_or(0) > 0)
      times = std::max(times, choice.placement.cycles / static_cast<double>(*choice.cycles));
  }
  return time_ * times;
}

std::optional<double> PlacementSearch::promise() const {
  std::optional<double> least;
  for (const auto* placements : {&placements_.defaults, &placements_.others}) {
    for (const auto& placement : *placements)
      least = std::min(least.value_or(placement.fullest), placement.fullest);
  }
  return least;
}

std::optional<Diagnostic> PlacementSearch::warning(const Choice& taken) const {
  const auto& system = taken.variant->reordered.system;
  if (const auto* best = much_better(taken); best != nullptr) {
    return refused_is_faster(system.kernel, taken.pes, best->placement.schedule,
                             times(taken, best->placement), best->refusal.diagnostic);
  }
  const bool narrow = is_narrow(taken);
  if (!narrow && !taken.placement.schedule.is_serpentine) return std::nullopt;
  auto left = lacked_ | std::views::filter([&](const Lacked& lacked) {
                return is_open(lacked) && !is_found(lacked.placement.schedule.space_indices);
              });
  const auto best =
      std::ranges::min_element(left, {}, [&](const Lacked& lacked) { return lacked.placement.cycles; });
  const auto worth = narrow ? much_faster : far_faster;  // a line through rows has as many PEs as a grid
  if (best == left.end() || taken.placement.cycles < worth * best->placement.cycles) return std::nullopt;
  return unknown_may_be_faster(system, taken.pes, best->placement.schedule, times(taken, best->placement));
}

double PlacementSearch::times(const Choice& taken, const schedule::Placement& other) {
  const auto estimate = taken.placement.cycles / other.cycles;
  if (!taken.cycles) return estimate;
  const auto most = static_cast<double>(*taken.cycles) / other.least;
  return std::clamp(estimate, much_faster, std::max(much_faster, most));
}

const PlacementSearch::Refused* PlacementSearch::much_better(const Choice& other) const {
  // With reductions in another order they may have been legal, on long ways they may be.
  auto others = refused_ | std::views::filter([&](const Refused& refused) {
                  if (has_lacked(refused.placement, true)) return false;
                  return std::ranges::none_of(choices_, [&](const Choice& choice) {
                    const auto &found = choice.placement.schedule, &lost = refused.placement.schedule;
                    return found.space_indices == lost.space_indices && found.movements == lost.movements;
                  });
                });
  const auto best = std::ranges::min_element(others, {}, [](const Refused& refused) {
    return std::pair(refused.placement.in_turn, refused.placement.cycles);
  });
  if (best == others.end() || best->placement.in_turn) return nullptr;
  const bool is_better = other.placement.cycles / best->placement.cycles >= much_faster;
  return is_better ? &*best : nullptr;  // nor where both take no time
}

}  // namespace cyclotron::driver
