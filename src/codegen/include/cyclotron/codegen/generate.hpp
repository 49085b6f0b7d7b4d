// Mapping to per-PE programs (section 6 of the paper, CY-071 … CY-084).
#pragma once
#include <vector>

#include <cyclotron/codegen/exit_flag.hpp>
#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// One program a PE class: its code (`write_code`), with loops that end early where all PEs know their flags
/// (`add_exits`) and sums received when their terms are there (`sink_receives`, `terms_first`). Slot addresses are left to
/// the memory layer.
/// Requires: mapping from map_to_grid. Throws LegalityError as `write_code`.
[[nodiscard]] program::Program generate(const mapping::Mapping& mapping, const machine::Machine& machine,
                                        const std::vector<ExitFlag>& flags = {});

}  // namespace cyclotron::codegen
