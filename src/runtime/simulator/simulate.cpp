#include <cyclotron/runtime/runtime.hpp>

#include <optional>

#include "deadlock.hpp"
#include "fast_forward.hpp"
#include "simulation.hpp"

namespace cyclotron::runtime {
namespace {

template <bool functional>
Timing simulate_as(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                   const Progress& progress) {
  simulator::Simulation<functional> simulation(
      program, arrays, {.event_limit = options.event_limit, .uniform_depth = 0}, progress);
  if (!simulation.run()) throw simulator::deadlock_error(simulation.array(), simulation.waits(), progress);
  return simulation.timing();
}

/// The engines for time alone. None where only the interpreter can tell the time, or what is wrong.
std::optional<Timing> simulate_time(const program::Program& program, Engine which, const Progress& progress) {
  try {
    auto timed = simulator::time_program(program);
    if (!timed) return std::nullopt;
    simulator::TimedEngine engine(std::move(*timed), progress);
    const std::int64_t skipped = which == Engine::general ? 0 : simulator::fast_forward(engine);
    if (engine.run()) {
      Timing timing = engine.timing();
      timing.engine = which == Engine::fast_forward || skipped > 0 ? "fast-forward" : "general";
      timing.cycles_skipped = skipped;
      return timing;
    }
  } catch (const simulator::Irregular&) {
    return std::nullopt;
  }
  simulator::throw_deadlock(program, 0, progress);
}

[[noreturn]] void no_fast_forward() {
  throw ExecutionError({.code = "CYC709",
                        .span = {},
                        .message =
                            "this program cannot be simulated with engine \"fast-forward\": tiles of several "
                            "sizes share a slot or a channel",
                        .notes = {},
                        .help = "take tiles that divide the shapes, or engine=\"general\""});
}

/// Time alone by the interpreter, which also tells the events.
Timing interpret_time(const program::Program& program, const SimulatorOptions& options,
                      const Progress& progress) {
  Timing timing = simulate_as<false>(program, {}, options, progress);
  timing.engine = "general";
  return timing;
}

}  // namespace

Timing simulate(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                const Progress& progress) {
  program::verify(program);
  const SingleThreadedBlas single_threaded;
  if (options.functional) {
    Timing timing = simulate_as<true>(program, arrays, options, progress);
    timing.engine = "functional";
    return timing;
  }
  auto timing = simulate_time(program, options.engine, progress);
  if (!timing) {
    if (options.engine == Engine::fast_forward) no_fast_forward();
    return interpret_time(program, options, progress);
  }
  if (options.event_limit <= 0) {
    timing->events_dropped = 0;
  } else if (timing->events_dropped <= options.event_limit) {
    timing->events = interpret_time(program, options, progress).events;
    timing->events_dropped = 0;
  }
  return *std::move(timing);
}

}  // namespace cyclotron::runtime
