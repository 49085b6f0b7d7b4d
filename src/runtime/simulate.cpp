#include <cyclotron/runtime/runtime.hpp>

#include <optional>
#include <utility>

#include <cyclotron/program/procedures.hpp>

#include "local/run.hpp"
#include "resident.hpp"
#include "simulator/advice/deadlock.hpp"
#include "simulator/functional/simulation.hpp"
#include "simulator/timing_only.hpp"

namespace cyclotron::runtime {
namespace {

using simulator::ControlledRun;

[[noreturn]] void no_fast_forward(const program::Program& program) {
  const bool hazards = machine::has_hazards(program.machine);
  const std::string reason =
      hazards ? "its machine has shared links, pipelines, ports, units side by side or DRAM"
              : "tiles of several sizes share a slot or a channel";
  throw ExecutionError({.code = "CYC709",
                        .span = {},
                        .message = "this program cannot be simulated with engine \"fast-forward\": " + reason,
                        .notes = {},
                        .help = std::string(hazards ? "take" : "take tiles that divide the shapes, or") +
                                " engine=\"general\""});
}

/// By the interpreter, which also tells the events.
template <bool functional>
Timing interpret(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                 const Progress& progress, const ControlledRun* control) {
  simulator::Simulation<functional> simulation(program, arrays, options.event_limit, progress, control);
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

/// The numbers alone; nothing where no PE can go on before all are done.
std::optional<std::vector<program::ExitOutcome>> compute(const program::Program& program,
                                                         const Arrays& arrays,
                                                         const SimulatorOptions& options,
                                                         const Progress& progress) {
  const local::Settings settings{.threads = options.threads, .least_bytes = local::bytes_of_a_turn};
  return local::run(program, arrays, settings, progress);
}

/// Of a program without loops that end early, or with all of their iterations.
Timing measure(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
               const Progress& progress, const ControlledRun* control) {
  // How long a PE takes is a matter of numbers.
  if (options.functional && program::is_bounded_by_numbers(program))
    return interpret<true>(program, arrays, options, progress, control);
  auto timing = simulator::simulate_time(program, options.functional ? Engine::automatic : options.engine,
                                         progress, control);
  if (!timing) {
    if (options.functional) return interpret<true>(program, arrays, options, progress, control);
    if (options.engine == Engine::fast_forward) no_fast_forward(program);
    return interpret<false>(program, arrays, options, progress, control);
  }
  // Numbers do not depend on the time, nor the time on numbers: each has an engine that is faster alone.
  const bool keeps_events = options.event_limit > 0 && timing->events_dropped <= options.event_limit;
  if (options.functional) {
    if (keeps_events) return interpret<true>(program, arrays, options, progress, control);
    const bool finished = compute(program, arrays, options, progress).has_value();
    CYC_CHECK(finished, "a run that the simulator finished");
    timing->engine = "functional";
  } else if (keeps_events) {
    Timing recorded = interpret<false>(program, {}, options, progress, control);
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

/// Names the instructions that those of the unrolled program are copies of.
void name_origins(Timing& timing, const program::Unrolled& unrolled) {
  const auto classes = unrolled.program.class_map();
  const auto rename = [&](std::uint32_t pe, std::uint32_t& instruction) {
    instruction = unrolled.origin[classes[pe]][instruction];
  };
  for (Event& event : timing.events) rename(event.pe, event.instruction);
  for (MessageRecord& message : timing.messages) {
    rename(message.sender, message.send_instruction);
    if (message.received >= 0) rename(message.receiver, message.receive_instruction);
  }
  for (MemoryRecord& request : timing.memory_requests) rename(request.pe, request.instruction);
}

}  // namespace

Timing simulate(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                const Progress& progress) {
  program::verify(program);
  if (!options.resident.empty()) {
    SimulatorOptions rest = options;
    return simulate(with_resident(program, std::exchange(rest.resident, {})), arrays, rest, progress);
  }
  if (options.functional) check_grid_size(program);  // before time is simulated, which has no such limit
  const SingleThreadedBlas single_threaded;
  const auto controlled = [&](std::vector<program::ExitOutcome> outcomes, const program::Unrolled* unrolled) {
    std::optional<ControlledRun> result;
    if (program::uses_controller(program))
      result = simulator::controlled_run(program, std::move(outcomes), unrolled);
    return result;
  };
  const auto pointer = [](const std::optional<ControlledRun>& run) { return run ? &*run : nullptr; };
  if (program.exit_plans.empty() || (!options.functional && options.steps.empty()))
    return measure(program, arrays, options, progress, pointer(controlled({}, nullptr)));
  if (options.functional && std::ranges::any_of(program.exit_plans, &program::ExitPlan::per_pe))
    return interpret<true>(program, arrays, options, progress, nullptr);
  // Where loops end is a matter of numbers, and time of where they end.
  auto outcomes = options.functional ? compute(program, arrays, options, progress)
                                     : program::outcomes_of(program, options.steps);
  if (!outcomes) return measure(program, arrays, options, progress, nullptr);  // says why
  const auto unrolled = program::without_skipped(program, *outcomes);
  CYC_CHECK(unrolled || options.functional, "loops that all end alike take no more instructions");
  const auto control = controlled(*outcomes, unrolled ? &*unrolled : nullptr);
  Timing timing = unrolled ? measure(unrolled->program, arrays, options, progress, pointer(control))
                           : interpret<true>(program, arrays, options, progress, pointer(control));
  if (unrolled) name_origins(timing, *unrolled);
  timing.exits = *std::move(outcomes);
  return timing;
}

}  // namespace cyclotron::runtime
