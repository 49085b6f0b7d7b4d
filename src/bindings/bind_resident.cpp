// `_core.fetch_cycles` and `require_room`: tensors that stay in the PEs between runs.
#include <pybind11/stl.h>

#include <cyclotron/runtime/runtime.hpp>

#include "bindings.hpp"
#include "interruptible.hpp"
#include "typed.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

std::int64_t fetch_cycles(const program::Program& program, std::size_t tensor,
                          const ProgressCallback& progress) {
  return interruptibly(
      {owner_of(program)},
      [&program, tensor](const auto& call) { return runtime::fetch_cycles(program, tensor, call); },
      progress);
}

}  // namespace

void bind_resident(py::module_& module) {
  module.def("fetch_cycles", &fetch_cycles, py::arg("program"), py::arg("tensor"), py::kw_only(),
             py::arg("progress") = py::none(), "Simulate the STOREs of a resident output alone.");
  module.def("require_room", &runtime::require_room, py::arg("program"), py::arg("resident"),
             "Raise CapacityError where PEs have no room for tensors, by number, besides their programs.");
}

}  // namespace cyclotron::bindings
