#include "search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "pipeline.hpp"

namespace cyclotron::driver {

namespace {

/// Of the dimensions of a machine's grid, as large as can be where it sets no limit; empty where it has any number.
std::vector<std::int64_t> extents_of(const machine::Machine& machine) {
  if (!machine.grid.empty()) return machine.grid;
  return std::vector(machine::dimensions(machine).value_or(0), std::numeric_limits<std::int64_t>::max());
}

/// The candidates, in order, for one schedule that leaves things open. Link maps and rings may lead straight to PEs that
/// are several hops away on a mesh; where they do not, their links between neighbours may serve. Wavefronts come last:
/// where there are `others`, these come before.
std::vector<Candidate> candidates(const recurrence::System& system, const schedule::Schedule& schedule,
                                  bool others, bool shortcuts) {
  std::vector<Candidate> result;
  const auto add = [&](const schedule::Schedule& completion, dataflow::FreeIndexPlacement free_indices) {
    using enum dataflow::Relays;
    const auto ways = shortcuts ? std::vector{none, between_neighbours} : std::vector{shared};
    for (const auto way : ways) result.push_back({completion, free_indices, way});
  };
  for (const auto& completion : schedule::completions(system, schedule)) {
    const bool first = result.empty();
    add(completion, dataflow::FreeIndexPlacement::where_read);
    if (first) add(completion, dataflow::FreeIndexPlacement::zero);
  }
  if (!others) {
    for (const auto& wavefront : schedule::wavefronts(system, schedule))
      add(wavefront, dataflow::FreeIndexPlacement::where_read);
  }
  return result;
}

/// True where the candidate would be compiled as one before it was.
bool is_repeated(const Candidate& candidate, const recurrence::System& system) {
  if (candidate.free_indices != dataflow::FreeIndexPlacement::zero) return false;
  const auto matters = attempt([&] { return dataflow::free_index_matters(system); });
  return matters && !*matters;
}

/// The schedule with what it deals out in blocks instead, and how one writes that; none where it deals nothing out.
std::optional<std::pair<schedule::Schedule, std::string>> in_blocks(schedule::Schedule schedule) {
  std::vector<std::string> folds;
  for (auto& fold : schedule.folds) {
    if (std::exchange(fold.kind, schedule::FoldKind::block) == schedule::FoldKind::block) continue;
    folds.push_back(fmt::format("{}=cy.block({})", fold.dimension, fold.parts));
  }
  if (folds.empty()) return std::nullopt;
  return std::pair{std::move(schedule), fmt::format("fold({})", fmt::join(folds, ", "))};
}

/// A value that passes from point to point goes round the PEs as often as work is dealt out to them: the order of time or
/// the links may forbid it. The help is then the schedule in blocks, where that works.
std::optional<std::string> help_for_dealing(const Refusal& refusal, const recurrence::System& system,
                                            const schedule::Schedule& schedule,
                                            const machine::Machine& machine) {
  const auto obstacle = refusal.obstacle();
  const bool far = obstacle == Obstacle::distance;
  if (!far && obstacle != Obstacle::late_value && obstacle != Obstacle::overtaking) return std::nullopt;
  const auto other = in_blocks(schedule);
  if (!other || !attempt([&] { return compile(system, other->first, machine); })) return std::nullopt;
  return fmt::format("{}fold in blocks, along which values pass once: {} works",
                     far ? refusal.diagnostic.help + ", or " : "", other->second);
}

/// Refuses an order of time that was not found, maybe for what last terms first want of a folded index.
std::optional<std::string> help_for_order(const Refusal& refusal, const schedule::Schedule& schedule) {
  if (refusal.obstacle() != Obstacle::late_value) return std::nullopt;
  std::optional<std::string> result;
  for (const auto& fold : schedule.folds) {
    const auto verb = schedule::last_terms_first(schedule, fold.dimension);
    if (verb.empty()) continue;
    result = fmt::format(
        "{2}(\"{0}\") adds the last terms first, and a PE takes those that fold({0}=...) gives it in "
        "order: leave one of them out, or add in blocks, reassociate(\"{0}\", {1}, into=\"block\") with "
        "\"block\" in space and {2}(\"block\")",
        fold.dimension, fold.parts, verb);
  }
  return result;
}

}  // namespace

Expected<Compiled, Refusal> search(const recurrence::System& system, const recurrence::System& split,
                                   const std::optional<schedule::Schedule>& schedule,
                                   const machine::Machine& machine, const Log& log) {
  const auto starts = schedule ? std::vector{*schedule} : schedule::defaults(system, extents_of(machine));
  const bool shortcuts = !machine.link_maps.empty() || machine::wraps_around(machine);
  std::optional<Refusal> first;
  for (const auto& start : starts) {
    for (const auto& candidate : candidates(split, start, &start != &starts.back(), shortcuts)) {
      if (is_repeated(candidate, split)) continue;
      auto compiled = compile_candidate(split, candidate, machine, !first, log);
      if (compiled) return compiled;
      const auto obstacle = compiled.error().obstacle();
      if (!first && obstacle == Obstacle::schedule) return compiled;
      if (!first) first = compiled.error();
      // Another order of time would cost as much effort, and need as much memory.
      if (obstacle == Obstacle::effort || obstacle == Obstacle::capacity) break;
    }
  }
  return *first;
}

void refuse(const Refusal& refusal, const recurrence::System& system, const schedule::Schedule& schedule,
            const machine::Machine& machine) {
  auto helped = refusal;
  if (const auto blocks = help_for_dealing(refusal, system, schedule, machine)) {
    helped.diagnostic.help = *blocks;
  } else if (const auto inwards = help_for_order(refusal, schedule)) {
    helped.diagnostic.help = *inwards;
  }
  throw_error(helped);
}

}  // namespace cyclotron::driver
