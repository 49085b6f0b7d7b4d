// Mapping to per-PE programs (section 6 of the paper, CY-071 … CY-084).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// A flag after which the iterations of an outermost loop change nothing that is seen (`recurrence::Ending`).
struct Flag {
  dataflow::TensorId tensor;
  std::string loop;
  std::int64_t offset = 0;
  std::int64_t steps = 0;
  std::int64_t settle = 0;
};

/// One program a PE class: isl's loop nests over time with the PE coordinates as parameters, one
/// instruction a statement (several for an expression). Slot addresses are left to the memory layer. Loops whose flags
/// all PEs know end early.
/// Requires: mapping from map_to_grid. Throws LegalityError CYC225 where no affine conditions tell the PEs of
/// a class apart (some cyclic folds), CYC224 where the receivers of a broadcast are
/// not one interval.
[[nodiscard]] program::Program generate(const mapping::Mapping& mapping, const machine::Machine& machine,
                                        const std::vector<Flag>& flags = {});

}  // namespace cyclotron::codegen
