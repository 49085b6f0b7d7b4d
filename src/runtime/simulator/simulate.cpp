#include <cyclotron/runtime/runtime.hpp>

#include "deadlock.hpp"
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

}  // namespace

Timing simulate(const program::Program& program, const Arrays& arrays, const SimulatorOptions& options,
                const Progress& progress) {
  program::verify(program);
  const SingleThreadedBlas single_threaded;
  return options.functional ? simulate_as<true>(program, arrays, options, progress)
                            : simulate_as<false>(program, arrays, options, progress);
}

}  // namespace cyclotron::runtime
