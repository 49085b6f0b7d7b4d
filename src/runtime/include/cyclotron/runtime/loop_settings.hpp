// Use that runs make of the system's C compiler.
#pragma once
#include <string>

namespace cyclotron::runtime {

/// Loops that take long are compiled while they run, with the same bits.
struct LoopSettings {
  std::string compiler{};  ///< A command that takes GCC's options; empty: loops are interpreted.
  std::string folder{};    ///< Keeps what is compiled for other processes; empty: nothing is kept.
  /// From when on a run looks for loops that are compiled already, later where it has many steps; and from when on, all runs
  /// of the same loops together, they are compiled, later where their text is long.
  double seconds_to_look = 0.0005, seconds_to_compile = 0.03;
};

}  // namespace cyclotron::runtime
