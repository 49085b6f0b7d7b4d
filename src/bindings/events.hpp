// Records of a simulation as NumPy's record arrays.
#pragma once
#include <pybind11/numpy.h>

#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::bindings {

/// Fields: pe, instruction, operator, start, end, order, depth, and the loop variables, outermost first (0 beyond
/// `depth`).
[[nodiscard]] pybind11::array events(const program::Program& program, const runtime::Timing& timing);

/// Fields as of `MessageRecord`. Requires: describe_records().
[[nodiscard]] pybind11::array messages(const runtime::Timing& timing);

/// Fields as of `MemoryRecord`. Requires: describe_records().
[[nodiscard]] pybind11::array memory_requests(const runtime::Timing& timing);

/// Once, when the module is made.
void describe_records();

}  // namespace cyclotron::bindings
