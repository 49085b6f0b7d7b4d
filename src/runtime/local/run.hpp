// Runs a program's PEs on threads of this process, for their numbers alone.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <cyclotron/program/exits.hpp>
#include <cyclotron/runtime/loop_settings.hpp>
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::local {

/// Bytes of numbers that make a turn of a PE long enough, and that stay in the cache.
inline constexpr std::size_t bytes_of_a_turn = 4096;

/// Use that a run makes of the host.
struct Settings {
  int threads = 0;  ///< 0: one a core.
  std::size_t least_bytes =
      0;  ///< That a queue holds at least, besides as many messages as the machine says.
  LoopSettings loops{};
};

/// Outcomes of the program's loops that may end early, if every PE is done; otherwise none could go on. Requires:
/// program::verify(program).
[[nodiscard]] std::optional<std::vector<program::ExitOutcome>> run(const program::Program& program,
                                                                   const Arrays& arrays,
                                                                   const Settings& settings,
                                                                   const Progress& progress);

}  // namespace cyclotron::runtime::local
