#include <cyclotron/runtime/runtime.hpp>

#include <cstddef>
#include <utility>

#include <cyclotron/program/timing.hpp>

#include "engine/messages.hpp"
#include "local/run.hpp"
#include "simulator/advice/deadlock.hpp"
#include "simulator/timing_only.hpp"

namespace cyclotron::runtime {

std::vector<program::ExitOutcome> run_local(const program::Program& program, const Arrays& arrays,
                                            int threads, const Progress& progress) {
  program::verify(program);
  const auto depths = program::least_depths(program);
  bool shallow = false;
  for (std::size_t c = 0; c < depths.size(); ++c) {
    shallow |= static_cast<double>(depths[c]) * static_cast<double>(message_bytes(program.channels[c])) <
               local::bytes_of_a_turn;
  }
  local::Settings settings{.threads = threads};
  if (shallow) {
    // Time alone tells in little time whether the depths suffice; numbers then need not keep to them.
    const bool suffice = simulator::simulate_time(program, Engine::automatic, progress).has_value();
    if (suffice) settings.least_bytes = local::bytes_of_a_turn;
  }
  auto outcomes = local::run(program, arrays, settings, progress);
  // Where a run stops does not depend on the host, so the simulator explains it.
  if (!outcomes) simulator::throw_deadlock(program, 0, progress);
  return *std::move(outcomes);
}

}  // namespace cyclotron::runtime
