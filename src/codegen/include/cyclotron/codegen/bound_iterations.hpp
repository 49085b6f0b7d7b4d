// Leaves out the iterations that numbers leave nothing to do in.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Slices whose bounds are data, `x[:stop] = y[:stop] * 2`, come as loops over all elements that choose by
/// `where(j < stop, ..., x[j])`. Where the numbers that j is compared with stay the same while such a loop runs, what is
/// chosen is computed within these bounds alone (`program::If::within`), and they are computed once before the loop: its
/// time is that of the elements that it selects. So of sums, where a term that is not chosen adds nothing.
/// Requires: verify(program) but for addresses. Ensures: the same; all values as before, in every bit; messages, loads and
/// stores in the same order.
[[nodiscard]] program::Program bound_iterations(const program::Program& program);

}  // namespace cyclotron::codegen
