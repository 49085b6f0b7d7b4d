#include <cyclotron/runtime/runtime.hpp>

#include <optional>
#include <utility>

#include "../local/run_local.hpp"
#include "deadlock.hpp"
#include "simulation.hpp"
#include "time_alone.hpp"

namespace cyclotron::runtime {
namespace {

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
  simulator::Simulation<functional> simulation(program, arrays, options.event_limit, progress);
  if (!simulation.run()) throw simulator::deadlock_error(program, simulation.waits(), progress);
  Timing timing = simulation.timing();
  timing.engine = functional ? "functional" : "general";
  return timing;
}

std::int64_t count_messages(const Timing& timing) {
  std::int64_t result = 0;
  for (const auto& channel : timing.channels) result += channel.messages;
  return result;
}

std::int64_t count_requests(const Timing& timing) {
  std::int64_t result = 0;
  for (const auto& port : timing.memory_ports) result += port.loads + port.stores;
  return result;
}

/// The numbers alone of a program that does not deadlock.
void compute(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
             const Progress& progress) {
  const local::Settings settings{.threads = options.threads, .least_bytes = local::bytes_of_a_turn};
  const bool finished = local::run(program, arrays, settings, progress);
  CYC_CHECK(finished, "a run that the simulator finished");
}

}  // namespace

Timing simulate(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                const Progress& progress) {
  program::verify(program);
  if (options.functional) check_grid_size(program);  // before time is simulated, which has no such limit
  const SingleThreadedBlas single_threaded;
  auto timing =
      simulator::simulate_time(program, options.functional ? Engine::automatic : options.engine, progress);
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
    timing->memory_requests = std::move(recorded.memory_requests);
    timing->memory_requests_dropped = recorded.memory_requests_dropped;
  }
  if (!keeps_events && options.event_limit > 0) {
    timing->messages_dropped = count_messages(*timing);
    timing->memory_requests_dropped = count_requests(*timing);
  }
  if (keeps_events || options.event_limit <= 0) timing->events_dropped = 0;
  return *std::move(timing);
}

}  // namespace cyclotron::runtime
