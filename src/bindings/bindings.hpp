// One function a layer; each adds its names to the module.
#pragma once
#include <pybind11/pybind11.h>

namespace cyclotron::bindings {

void bind_errors(pybind11::module_& module);
void bind_operators(pybind11::module_& module);
void bind_machine(pybind11::module_& module);
void bind_recurrence(pybind11::module_& module);
void bind_blocking(pybind11::module_& module);
void bind_regions(pybind11::module_& module);
void bind_dependences(pybind11::module_& module);
void bind_schedule(pybind11::module_& module);
void bind_dataflow(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_driver(pybind11::module_& module);
void bind_work(pybind11::module_& module);
void bind_proof(pybind11::module_& module);
void bind_counters(pybind11::module_& module);
void bind_runtime(pybind11::module_& module);
void bind_local(pybind11::module_& module);
void bind_resident(pybind11::module_& module);
void bind_prediction(pybind11::module_& module);
void bind_network(pybind11::module_& module);

}  // namespace cyclotron::bindings
