#include "refuse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/driver/compile.hpp>

namespace cyclotron::driver {

namespace {

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

/// Help for an order of time that was not found, maybe for what last terms first want of a folded index.
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
