#include "fast_forward.hpp"

#include <algorithm>

namespace cyclotron::runtime::simulator {
namespace {

/// Rounds without a period after which a run goes on without looking.
constexpr std::int64_t patience = 4096;

std::uint32_t deepest_nest(const TimedProgram& program) {
  std::uint32_t result = 1;
  for (const TimedCode& code : program.classes) result = std::max(result, code.loops);
  return result;
}

/// Rounds in which what happens at one side of the array, or at its start, has reached the other.
std::int64_t settling(const TimedProgram& program) {
  std::int64_t result = 16;
  for (const std::int64_t extent : program.grid) result += extent;
  return 4 * result;
}

/// Rounds of one nesting level, with skips. Ends after so many rounds without one, or with the run.
class Rounds {
 public:
  Rounds(TimedEngine& engine, std::uint32_t level, bool nested)
      : engine_(engine), level_(level), nested_(nested) {}

  /// Tells whether the run goes on.
  bool run(std::int64_t most_tries) {
    for (std::int64_t tries = 0; tries < most_tries; ++tries) {
      if (!engine_.run_round(level_)) return false;
      if (skip()) tries = 0;
    }
    return true;
  }
  [[nodiscard]] std::int64_t skipped() const { return skipped_; }

 private:
  // `inner_` starts anew after each skip, so it finds the next loop's period soon. Iterations of an outer loop, with
  // skips inside, repeat themselves in turn: `outer_` looks for those.
  bool skip() {
    const Period inner = inner_.look(engine_.array(), false);
    if (inner.repeats > 0) {
      skipped_ += inner_.snapshot().skip(engine_.array(), inner.repeats);
      inner_.reset();
      if (inner.outer) outer_.reset();
      return true;
    }
    if (!nested_) return false;
    const Period outer = outer_.look(engine_.array(), true);
    if (outer.repeats == 0) return false;
    skipped_ += outer_.snapshot().skip(engine_.array(), outer.repeats);
    inner_.reset();
    outer_.reset();
    return true;
  }

  TimedEngine& engine_;
  std::uint32_t level_;
  bool nested_;
  PeriodFinder inner_, outer_;
  std::int64_t skipped_ = 0;
};

}  // namespace

Period PeriodFinder::look(const TimedArray& array, bool outer_only) {
  if (snapshot_) {
    const Period period = snapshot_->period(array);
    if (period.repeats > 0 && (period.outer || !outer_only)) return period;
    if (++age_ < span_) return {};
    span_ *= 2;
  }
  snapshot_.reset();  // its memory first
  snapshot_.emplace(array);
  age_ = 0;
  return {};
}

std::int64_t skip_periods(TimedEngine& engine) {
  const TimedProgram& program = engine.array().program();
  const std::uint32_t levels = std::min(deepest_nest(program), TimedOp::most_levels);
  std::int64_t skipped = 0;
  bool goes_on = true;
  // PEs whose innermost loops differ in what they do at an iteration keep step by a loop further out.
  for (std::uint32_t level = levels; goes_on && level-- > 0;) {
    Rounds rounds(engine, level, levels > 1);
    goes_on = rounds.run(level > 0 ? settling(program) : patience);
    skipped += rounds.skipped();
  }
  return skipped;
}

std::int64_t fast_forward(TimedEngine& engine) {
  const std::int64_t skipped = skip_periods(engine);
  engine.run();
  return skipped;
}

}  // namespace cyclotron::runtime::simulator
