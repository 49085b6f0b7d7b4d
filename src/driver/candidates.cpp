#include "candidates.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/poly/effort.hpp>

namespace cyclotron::driver {

namespace {

/// The candidates, in order, for one schedule that leaves things open. Link maps and rings may lead straight to PEs that
/// are several hops away on a mesh; where they do not, their links between neighbours may serve. Wavefronts come last.
std::vector<Candidate> candidates(const recurrence::System& system, const schedule::Schedule& schedule,
                                  const std::vector<dataflow::Relays>& ways) {
  std::vector<Candidate> result;
  const auto add = [&](const schedule::Schedule& completion, dataflow::FreeIndexPlacement free_indices) {
    for (const auto way : ways) result.push_back({completion, free_indices, way});
  };
  for (const auto& completion : schedule::completions(system, schedule)) {
    const bool first = result.empty();
    add(completion, dataflow::FreeIndexPlacement::where_read);
    if (first) add(completion, dataflow::FreeIndexPlacement::zero);
  }
  for (const auto& wavefront : schedule::wavefronts(system, schedule))
    add(wavefront, dataflow::FreeIndexPlacement::where_read);
  return result;
}

/// True where the candidate would be compiled as one before it was.
bool is_repeated(const Candidate& candidate, const recurrence::System& system) {
  if (candidate.free_indices != dataflow::FreeIndexPlacement::zero) return false;
  const auto matters = attempt([&] { return dataflow::free_index_matters(system); });
  return matters && !*matters;
}

}  // namespace

CandidateSearch::CandidateSearch(const recurrence::System& system, const machine::Machine& machine,
                                 const Log& log)
    : system_(system), machine_(machine), log_(log) {}

Expected<Compiled, Refusal> CandidateSearch::run(const schedule::Schedule& schedule, Limits limits) {
  using enum dataflow::Relays;
  if (limits.routed) return try_ways(schedule, limits, {routed});
  const bool shortcuts = !machine_.link_maps.empty() || machine::wraps_around(machine_);
  is_far_ = false;
  auto compiled =
      try_ways(schedule, limits, shortcuts ? std::vector{none, between_neighbours} : std::vector{shared});
  if (compiled || !is_far_ || limits.most < Limits{}.most) return compiled;
  for (const auto way : {routed, routed_in_turns}) {
    auto other = try_ways(schedule, limits, {way});
    if (other) return other;
  }
  return compiled;
}

Expected<Compiled, Refusal> CandidateSearch::try_ways(const schedule::Schedule& schedule, Limits limits,
                                                      const std::vector<dataflow::Relays>& ways) {
  const bool is_limited = limits.most < Limits{}.most;
  std::size_t more_of_far = 1;
  const bool has_budget = limits.operations_of_orders < Limits{}.operations_of_orders;
  std::optional<poly::EffortBudget> budget;
  std::optional<Refusal> first;
  const auto all = candidates(system_, schedule, ways);
  for (const auto& candidate : all) {
    if (first && limits.most == 0) break;
    if (is_repeated(candidate, system_)) continue;
    if (has_budget && !budget && first && first->obstacle() == Obstacle::distance &&
        !(candidate.schedule == all.front().schedule))
      budget.emplace(limits.operations_of_orders);
    --limits.most;
    ++tried_;
    auto compiled = compile_candidate(system_, candidate, machine_, !refused_, log_);
    if (compiled && limits.prove) compiled = proven(std::move(*compiled), system_);
    if (compiled) return compiled;
    refused_ = true;
    const auto obstacle = compiled.error().obstacle();
    is_far_ = is_far_ || obstacle == Obstacle::distance;
    if (!first && obstacle == Obstacle::schedule) return compiled;
    if (!first) first = compiled.error();
    // Another order of time would cost as much effort, and need as much memory.
    if (obstacle == Obstacle::effort || obstacle == Obstacle::capacity) break;
    if (obstacle == Obstacle::distance && is_limited)
      limits.most = std::min(limits.most, std::exchange(more_of_far, 0));
  }
  return first.value();
}

}  // namespace cyclotron::driver
