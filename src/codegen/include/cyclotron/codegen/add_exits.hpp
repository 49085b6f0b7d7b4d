// Loops that may end early end where their flags say so.
#pragma once
#include <vector>

#include <cyclotron/codegen/exit_flag.hpp>
#include <cyclotron/codegen/write_code.hpp>

namespace cyclotron::codegen {

/// Adds EXITs at the ends of loops where all PEs have the flag of the same iteration, and iterations can be left out
/// (`program::range_of`); other loops stay as they are. PEs that do not have it are sent it along with messages that
/// they get anyway.
/// Requires: write_code with these flags.
[[nodiscard]] program::Program add_exits(const Code& code, const std::vector<ExitFlag>& flags);

}  // namespace cyclotron::codegen
