// All PEs with the same steps side by side: each step for all of them at once, on vectors of one number a PE.
//
// A PE on its own runs many iterations of a loop at once where their messages are there. Where PEs exchange values to and
// fro, as in stencils, on tori and in solvers, there is one message at a time; but then all PEs wait for their neighbours'
// at the same step, or the PEs of each line of the grid do.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../engine/pe_array.hpp"
#include "../engine/tensors.hpp"

namespace cyclotron::runtime::local {

/// Runs the PEs for their numbers. False where that takes another engine, which may begin anew: not all of a program's steps
/// are on scalars and links, its PEs exchange nothing to and fro, too few of them have the same steps, those wait for each
/// other within one step, or one fails. Queues are as deep as `Shared` has them: a run that ends here ends there.
/// Throws ExecutionError where the progress stops it.
[[nodiscard]] bool run_in_lockstep(const PeArray& array, const std::vector<TensorAccess>& tensors,
                                   std::size_t least_bytes, const Progress& progress);

}  // namespace cyclotron::runtime::local
