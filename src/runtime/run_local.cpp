#include <cyclotron/runtime/runtime.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <cyclotron/program/timing.hpp>
#include <cyclotron/support/error.hpp>

#include "engine/loops/loop_compiler.hpp"
#include "engine/messages.hpp"
#include "local/run.hpp"
#include "simulator/advice/deadlock.hpp"
#include "simulator/timing_only.hpp"

namespace cyclotron::runtime {

namespace {

/// Instructions that are followed to find whether the depths of channels suffice: about a second.
constexpr std::int64_t most_work_for_depths = 1 << 25;

/// True where time alone tells in little time that no PE waits for ever: loops inside loops that end early have as many
/// iterations as their bounds allow.
bool surely_suffice(const program::Program& program, const Progress& progress) {
  auto limited = progress;
  limited.most_work = std::min(limited.most_work, most_work_for_depths);
  try {
    return simulator::simulate_time(program, Engine::automatic, limited).has_value();
  } catch (const ExecutionError& error) {
    if (error.diagnostic().obstacle != Obstacle::effort) throw;
    return false;  // the run itself stops at once where it was not the work that was too much
  }
}

}  // namespace

std::vector<program::ExitOutcome> run_local(const program::Program& program, const Arrays& arrays,
                                            int threads, const Progress& progress,
                                            const LoopSettings& loops) {
  program::verify(program);
  const auto depths = program::least_depths(program);
  bool shallow = false;
  for (std::size_t c = 0; c < depths.size(); ++c) {
    shallow |= static_cast<double>(depths[c]) * static_cast<double>(message_bytes(program.channels[c])) <
               local::bytes_of_a_turn;
  }
  local::Settings settings{.threads = threads, .loops = loops};
  // Numbers then need not keep to the depths.
  if (shallow && surely_suffice(program, progress)) settings.least_bytes = local::bytes_of_a_turn;
  auto outcomes = local::run(program, arrays, settings, progress);
  // Where a run stops does not depend on the host, so the simulator explains it.
  if (!outcomes) simulator::throw_deadlock(program, 0, progress);
  return *std::move(outcomes);
}

std::size_t compile_loops(const program::Program& program, const Arrays& arrays, const LoopSettings& loops) {
  program::verify(program);
  const PeArray array(program, false);
  return compile_loops_of(array, access_tensors(program, arrays, true), loops);
}

}  // namespace cyclotron::runtime
