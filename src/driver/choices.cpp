#include "choices.hpp"

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>

#include "search_limits.hpp"

namespace cyclotron::driver {

namespace {

/// The time over the estimate of the worst of those choices that are simulated; none where none is.
std::optional<double> share_of(std::span<const Choice> choices, const auto& condition) {
  std::optional<double> result;
  for (const auto& choice : choices | std::views::filter(condition)) {
    if (choice.cycles)
      result = std::max(result.value_or(1), static_cast<double>(*choice.cycles) / choice.placement.cycles);
  }
  return result;
}

}  // namespace

std::vector<double> times_of(const std::vector<Choice>& choices) {
  const auto share = share_of(choices, [](const Choice&) { return true; }).value_or(1);
  std::vector<double> result;
  for (const auto& choice : choices) {
    // Lines of PEs wait in turn, and one PE never does: that tells nothing of a grid.
    const auto is_alike = [&](const Choice& other) { return other.wide == choice.wide; };
    const auto estimate = uncertainty * share_of(choices, is_alike).value_or(share) * choice.placement.cycles;
    const auto cycles =
        choice.cycles ? static_cast<double>(*choice.cycles) : std::max(estimate, choice.at_least);
    result.push_back(cycles * choice.lost_iterations);
  }
  return result;
}

double best_time(const std::vector<Choice>& choices) {
  const auto times = times_of(choices);
  return *std::ranges::min_element(times);
}

std::vector<std::size_t> best_first(const std::vector<Choice>& choices) {
  const auto times = times_of(choices);
  const auto limit = about_as_fast * best_time(choices);
  std::vector<std::size_t> order(choices.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t n) {
    return times[n] <= limit ? std::pair(static_cast<double>(choices[n].pes), times[n])
                             : std::pair(no_time, times[n]);
  });
  return order;
}

}  // namespace cyclotron::driver
