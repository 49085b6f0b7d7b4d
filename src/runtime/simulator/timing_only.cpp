#include "timing_only.hpp"

#include <utility>

#include <cyclotron/program/procedures.hpp>

#include "skipping/replicate_rows.hpp"
#include "advice/deadlock.hpp"
#include "skipping/fast_forward.hpp"
#include "timing/timed_engine.hpp"
#include "timing/timed_program.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// None where a queue is ever full.
std::optional<Timing> simulate_ahead(const program::Program& program, const Progress& progress,
                                     const ControlledRun* control) {
  if (!may_run_ahead(program)) return std::nullopt;
  auto timed = time_program(program, Senders::ahead);
  if (!timed) return std::nullopt;
  TimedEngine engine(std::move(*timed), progress, control);
  try {
    if (engine.run() && engine.within_depths()) return std::move(engine).timing();
  } catch (const RanAheadTooFar&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<Timing> simulate_time(const program::Program& program, Engine which, const Progress& progress,
                                    const ControlledRun* control) {
  try {
    if (which == Engine::general || program::uses_controller(program)) {
      if (auto timing = simulate_ahead(program, progress, control)) {
        timing->engine = which == Engine::fast_forward ? "fast-forward" : "general";
        return timing;
      }
    }
    auto timed = time_program(program);
    if (!timed) return std::nullopt;
    // A controller has PEs wait for others far away: nothing repeats itself in PE after PE.
    const bool general = which == Engine::general || program::uses_controller(program);
    if (!general) {
      if (auto timing = simulate_replicated(*timed, progress)) return timing;
    }
    TimedEngine engine(std::move(*timed), progress, control);
    const bool together = which == Engine::automatic && !general && engine.run_in_lockstep();
    const std::int64_t skipped = general || together ? 0 : fast_forward(engine);
    if (together || engine.run()) {
      Timing timing = std::move(engine).timing();
      timing.engine = which == Engine::fast_forward || skipped > 0 ? "fast-forward" : "general";
      timing.cycles_skipped = skipped;
      return timing;
    }
    throw deadlock_error(program, engine.waits(), progress);
  } catch (const NeedsInterpreter&) {
    return std::nullopt;
  }
}

}  // namespace cyclotron::runtime::simulator
