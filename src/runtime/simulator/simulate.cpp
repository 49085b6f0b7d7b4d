#include <cyclotron/runtime/runtime.hpp>

#include <optional>
#include <utility>

#include "../local/run_local.hpp"
#include "deadlock.hpp"
#include "fast_forward.hpp"
#include "simulation.hpp"

namespace cyclotron::runtime {
namespace {

/// None where a queue is ever full.
std::optional<Timing> simulate_ahead(const program::Program& program, const Progress& progress) {
  if (!simulator::may_run_ahead(program)) return std::nullopt;
  auto timed = simulator::time_program(program, simulator::Senders::ahead);
  if (!timed) return std::nullopt;
  simulator::TimedEngine engine(std::move(*timed), progress);
  try {
    if (engine.run() && engine.within_depths()) return engine.timing();
  } catch (const simulator::Full&) {
  }
  return std::nullopt;
}

/// The engines for time alone. None where only the interpreter can tell the time, or what is wrong.
std::optional<Timing> simulate_time(const program::Program& program, Engine which, const Progress& progress) {
  try {
    if (which == Engine::general) {
      if (auto timing = simulate_ahead(program, progress)) {
        timing->engine = "general";
        return timing;
      }
    }
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

/// By the interpreter, which also tells the events.
template <bool functional>
Timing interpret(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                 const Progress& progress) {
  simulator::Simulation<functional> simulation(
      program, arrays, {.event_limit = options.event_limit, .uniform_depth = 0}, progress);
  if (!simulation.run()) throw simulator::deadlock_error(simulation.array(), simulation.waits(), progress);
  Timing timing = simulation.timing();
  timing.engine = functional ? "functional" : "general";
  return timing;
}

std::int64_t count_messages(const Timing& timing) {
  std::int64_t result = 0;
  for (const auto& channel : timing.channels) result += channel.messages;
  return result;
}

/// The numbers alone of a program that does not deadlock.
void compute(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
             const Progress& progress) {
  // A PE goes on for long, and what it needs stays in the cache.
  const local::Settings settings{.threads = options.threads, .least_bytes = 4096};
  const bool finished = local::run(program, arrays, settings, progress);
  CYC_CHECK(finished, "a run that the simulator finished");
}

}  // namespace

Timing simulate(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                const Progress& progress) {
  program::verify(program);
  if (options.functional) check_grid_size(program);  // before time is simulated, which has no such limit
  const SingleThreadedBlas single_threaded;
  auto timing = simulate_time(program, options.functional ? Engine::automatic : options.engine, progress);
  if (!timing) {
    if (options.functional) return interpret<true>(program, arrays, options, progress);
    if (options.engine == Engine::fast_forward) no_fast_forward();
    return interpret<false>(program, arrays, options, progress);
  }
  // Numbers do not depend on the time, nor the time on numbers: each has an engine that is faster alone.
  const bool keeps_events = options.event_limit > 0 && timing->events_dropped <= options.event_limit;
  if (options.functional) {
    if (keeps_events) return interpret<true>(program, arrays, options, progress);
    compute(program, arrays, options, progress);
    timing->engine = "functional";
  } else if (keeps_events) {
    Timing recorded = interpret<false>(program, {}, options, progress);
    timing->events = std::move(recorded.events);
    timing->messages = std::move(recorded.messages);
    timing->messages_dropped = recorded.messages_dropped;
  }
  if (!keeps_events && options.event_limit > 0) timing->messages_dropped = count_messages(*timing);
  if (keeps_events || options.event_limit <= 0) timing->events_dropped = 0;
  return *std::move(timing);
}

}  // namespace cyclotron::runtime
