#include "candidates.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/poly/effort.hpp>

#include "slow_defaults.hpp"

namespace cyclotron::driver {

namespace {

/// Operations of integer sets on one PE, where the first candidate is refused, for the other places of indices that
/// equations lack: about a second; and for all other orders, which rarely help: a quarter of that.
constexpr unsigned long most_operations_of_other_places = 8'000'000,
                        most_operations_of_other_orders = 2'000'000;
/// For ways past other PEs, where links are missing: many stages of an algorithm take their time.
constexpr unsigned long most_operations_of_long_ways = 200'000'000;

/// The candidates, in order, for one schedule that leaves things open. Link maps and rings may lead straight to PEs that
/// are several hops away on a mesh; where they do not, their links between neighbours may serve. Wavefronts come last,
/// but before other likely orders: of 1,400 random kernels whose first candidate was refused they helped 35, these 1.
std::vector<Candidate> candidates(const recurrence::System& system, const schedule::Schedule& schedule,
                                  schedule::Orders orders, const std::vector<dataflow::Relays>& ways,
                                  bool operands) {
  std::vector<Candidate> result;
  const auto add = [&](const schedule::Schedule& completion, dataflow::FreeIndexPlacement free_indices,
                       bool in_turn = false) {
    for (const auto way : ways) result.push_back({completion, free_indices, way, operands, in_turn});
  };
  const auto completions = schedule::completions(system, schedule, orders);
  add(completions.front(), dataflow::FreeIndexPlacement::where_read);
  add(completions.front(), dataflow::FreeIndexPlacement::zero);
  if (is_on_one_pe(schedule)) add(completions.front(), dataflow::FreeIndexPlacement::in_statement);
  std::vector rest(completions.begin() + 1, completions.end());
  const auto wavefronts = schedule::wavefronts(system, schedule);
  rest.insert(orders == schedule::Orders::likely ? rest.begin() : rest.end(), wavefronts.begin(),
              wavefronts.end());
  for (const auto& completion : rest) add(completion, dataflow::FreeIndexPlacement::where_read);
  // A value on a long way has to be made in an earlier step.
  if (orders == schedule::Orders::all && ways.front() == dataflow::Relays::routed) {
    using enum dataflow::FreeIndexPlacement;
    for (const auto free_indices : {where_read, zero, in_statement}) {
      for (const auto& wave : schedule::wavefronts_along_one(system, schedule)) add(wave, free_indices);
    }
    for (const auto free_indices : {where_read, zero, in_statement}) {
      if (const auto in_turn = schedule::in_text_order(system, schedule)) add(*in_turn, free_indices, true);
    }
  }
  return result;
}

/// True where the candidate would be compiled as one before it was.
bool is_repeated(const Candidate& candidate, const recurrence::System& system) {
  using enum dataflow::FreeIndexPlacement;
  const auto is_like = [&](dataflow::FreeIndexPlacement other) {
    const auto matters =
        attempt([&] { return dataflow::free_index_matters(system, candidate.free_indices, other); });
    return matters && !*matters;
  };
  if (candidate.free_indices == where_read) return false;
  return is_like(where_read) || (candidate.free_indices == in_statement && is_like(zero));
}

/// True where less than all is tried.
bool is_limited(const CandidateSearch::Limits& limits) {
  return limits.most < CandidateSearch::Limits{}.most || limits.orders == schedule::Orders::likely;
}

}  // namespace

CandidateSearch::CandidateSearch(const recurrence::System& system, const machine::Machine& machine,
                                 const Log& log)
    : system_(system), machine_(machine), log_(log) {}

Expected<Compiled, Refusal> CandidateSearch::run(const schedule::Schedule& schedule, Limits limits) {
  using enum dataflow::Relays;
  is_far_ = may_route_ = lacked_effort_ = false;
  if (limits.way) return try_ways(schedule, limits, {*limits.way});
  const bool shortcuts =
      !machine_.link_maps.empty() || (machine::wraps_around(machine_) && !schedule.is_serpentine);
  auto compiled =
      try_ways(schedule, limits, shortcuts ? std::vector{none, between_neighbours} : std::vector{shared});
  const bool on_one_pe = is_on_one_pe(schedule);  // where no value goes any way
  if (compiled || !may_route_ || on_one_pe || is_limited(limits)) return compiled;
  const poly::EffortBudget budget(most_operations_of_long_ways);
  is_far_ = false;  // of these
  for (const auto& [way, operands] : {std::pair(routed, false), {routed_in_turns, false}, {routed, true}}) {
    if (operands && !is_far_) break;
    auto other = try_ways(schedule, limits, {way}, operands);
    if (other || other.error().obstacle() == Obstacle::effort) return other;
  }
  return compiled;
}

Expected<Compiled, Refusal> CandidateSearch::try_ways(const schedule::Schedule& schedule, Limits limits,
                                                      const std::vector<dataflow::Relays>& ways,
                                                      bool operands) {
  const bool is_limited = driver::is_limited(limits);
  std::optional<Refusal> first;
  std::optional<poly::EffortBudget> others;
  bool in_other_order = false;
  const bool on_one_pe = is_on_one_pe(schedule);
  for (const auto& candidate : candidates(system_, schedule, limits.orders, ways, operands)) {
    if (first && limits.most == 0) break;
    if (is_repeated(candidate, system_)) continue;
    if (first && on_one_pe && candidate.free_indices == dataflow::FreeIndexPlacement::where_read &&
        !std::exchange(in_other_order, true))
      others.emplace(most_operations_of_other_orders);
    --limits.most;
    ++tried_;
    auto compiled = compile_candidate(system_, candidate, machine_, !refused_, log_);
    if (compiled && candidate.in_turn)
      compiled->warning = pes_take_turns(system_.kernel, first.value().diagnostic);
    if (compiled && limits.prove) compiled = proven(std::move(*compiled), system_);
    if (compiled) {
      is_routed_ = candidate.relays == dataflow::Relays::routed;
      return compiled;
    }
    refused_ = true;
    const auto obstacle = compiled.error().obstacle();
    is_far_ = is_far_ || obstacle == Obstacle::distance;
    may_route_ =
        may_route_ || is_far_ || obstacle == Obstacle::late_value || obstacle == Obstacle::overtaking;
    lacked_effort_ = lacked_effort_ || obstacle == Obstacle::effort;
    if (!first && obstacle == Obstacle::schedule) return compiled;
    if (!first) first = compiled.error();
    if (on_one_pe && !others) others.emplace(most_operations_of_other_places);
    if (obstacle == Obstacle::distance && !is_limited && !others)
      others.emplace(most_operations_of_other_orders);
    // Another order of time would cost as much effort, and need as much memory.
    if (obstacle == Obstacle::effort || obstacle == Obstacle::capacity) break;
    if (is_limited && (obstacle == Obstacle::distance || obstacle == Obstacle::access))
      limits.most = std::min(limits.most, std::exchange(limits.more_of_far, 0));
  }
  return first.value();
}

}  // namespace cyclotron::driver
