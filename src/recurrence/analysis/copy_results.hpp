// Private to this folder: what a loop leaves, in copies for its next run.
#pragma once
#include <cstdint>
#include <map>

#include <cyclotron/recurrence/system.hpp>

#include "exit_loops.hpp"

namespace cyclotron::recurrence::exits {

/// The system in which a loop inside others hands what it leaves to its next run in copies, made after its `last`
/// iteration. `axes` are those of the tensors that have its index.
[[nodiscard]] System copy_results(const System& system, const Loop& loop,
                                  const std::map<TensorId, Axis>& axes, std::int64_t last);

}  // namespace cyclotron::recurrence::exits
