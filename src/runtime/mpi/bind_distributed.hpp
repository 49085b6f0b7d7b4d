// Distributed tensors in Python, and what a run takes.
#pragma once
#include <pybind11/pybind11.h>

#include "run_mpi.hpp"

namespace cyclotron {

/// An array for each tensor, or the distributed tensor; of an output that is to stay distributed, a new one.
/// Throws ShapeError CYC208 where one does not fit its tensor.
[[nodiscard]] runtime::mpi::Tensors to_tensors(const program::Program& program, const pybind11::list& given);

void bind_distributed(pybind11::module_& module);

}  // namespace cyclotron
