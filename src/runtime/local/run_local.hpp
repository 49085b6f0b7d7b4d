// Runs a program's PEs on threads of this process, for their numbers alone.
#pragma once
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::local {

/// How a run uses the host.
struct Settings {
  int threads = 0;  ///< 0: one a core.
  std::int64_t least_depth =
      1;  ///< Of the queues, in messages; deeper ones let a PE go on for longer at a time.
};

/// Returns whether every PE is done; otherwise none could go on. Requires: program::verify(program).
[[nodiscard]] bool run(const program::Program& program, const Arrays& arrays, const Settings& settings,
                       const Progress& progress);

}  // namespace cyclotron::runtime::local
