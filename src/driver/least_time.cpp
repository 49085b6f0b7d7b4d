#include <cyclotron/driver/least_time.hpp>

#include <algorithm>
#include <map>
#include <queue>
#include <span>
#include <utility>

#include "port_traffic.hpp"

namespace cyclotron::driver {

namespace {

using Pe = std::span<const std::int64_t>;

/// The cycles of a value of so many words on its way.
std::int64_t way(Pe from, Pe to, const Distance& distance, std::int64_t words) {
  std::int64_t sum = 0, largest = 0;
  for (std::size_t d = 0; d < from.size(); ++d) {
    if (from[d] == anywhere || to[d] == anywhere) continue;
    const auto difference = from[d] < to[d] ? to[d] - from[d] : from[d] - to[d];
    sum += difference;
    largest = std::max(largest, difference);
  }
  if (sum == 0) return 0;
  const auto hops = distance.kind == Distance::Kind::manhattan ? sum
                    : distance.kind == Distance::Kind::largest ? largest
                                                               : 1;
  const auto behind = (words - 1) / distance.words_per_cycle;  // the last word comes after the first
  return std::min(hops * (distance.hop + behind), distance.at_most + behind);
}

}  // namespace

std::int64_t least_time_alone(std::vector<Job>& jobs) {
  std::ranges::sort(jobs, {}, &Job::release);
  std::priority_queue<std::pair<std::int64_t, std::int64_t>> ready;  // way to the end, cycles that are left
  std::int64_t now = 0, result = 0;
  for (std::size_t n = 0; n < jobs.size() || !ready.empty();) {
    if (ready.empty()) now = std::max(now, jobs[n].release);
    for (; n < jobs.size() && jobs[n].release <= now; ++n) ready.emplace(jobs[n].after, jobs[n].cycles);
    auto [after, cycles] = ready.top();
    ready.pop();
    const auto run = n < jobs.size() ? std::min(cycles, jobs[n].release - now) : cycles;
    now += run;
    if (run < cycles) ready.emplace(after, cycles - run);
    if (run == cycles) result = std::max(result, now + after);
  }
  return result;
}

std::int64_t least_time(const recurrence::OperationGraph& graph, const std::vector<std::int64_t>& pes,
                        std::size_t dimensions, const Distance& distance, const Ports& ports, bool ordered) {
  const auto count = graph.cycles.size();
  const auto pe = [&](std::size_t node) { return Pe(pes).subspan(node * dimensions, dimensions); };
  const PortTraffic traffic(graph, pes, dimensions, ports, !ordered);
  auto release = traffic.arrivals();
  auto after = traffic.departures();
  const auto first = [&](std::size_t node) { return ordered ? graph.first[node] : graph.first[node + 1]; };
  std::int64_t result = 0;
  for (std::size_t node = 0; node < count; ++node) {
    for (auto at = first(node); at < graph.first[node + 1]; ++at) {
      const auto before = graph.waits_for[at];
      release[node] = std::max(release[node], release[before] + graph.cycles[before] +
                                                  way(pe(before), pe(node), distance, graph.words[before]));
    }
    result = std::max(result, release[node] + graph.cycles[node] + after[node]);
  }
  for (auto node = count; node-- > 0;) {
    for (auto at = first(node); at < graph.first[node + 1]; ++at) {
      const auto before = graph.waits_for[at];
      after[before] = std::max(after[before], way(pe(before), pe(node), distance, graph.words[before]) +
                                                  graph.cycles[node] + after[node]);
    }
  }
  std::map<std::vector<std::int64_t>, std::vector<Job>> jobs;
  for (std::size_t node = 0; node < count; ++node) {
    const auto place = pe(node);
    if (graph.cycles[node] == 0 || place.empty() || std::ranges::find(place, anywhere) != place.end())
      continue;
    jobs[{place.begin(), place.end()}].push_back({release[node], graph.cycles[node], after[node]});
  }
  for (auto& [place, own] : jobs) result = std::max(result, least_time_alone(own));
  return std::max(result, traffic.least_time(release, after));
}

}  // namespace cyclotron::driver
