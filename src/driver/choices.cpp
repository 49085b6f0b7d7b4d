#include "choices.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace cyclotron::driver {

std::vector<double> times_of(const std::vector<Choice>& choices) {
  double scale = 1;
  for (const auto& choice : choices)
    scale = std::max(scale, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
  std::vector<double> result;
  for (const auto& choice : choices) {
    const auto cycles = choice.cycles ? static_cast<double>(*choice.cycles) : scale * choice.placement.cycles;
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
                             : std::pair(std::numeric_limits<double>::infinity(), times[n]);
  });
  return order;
}

}  // namespace cyclotron::driver
