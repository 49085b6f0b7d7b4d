// The PE classes of a program, in Python.
#pragma once
#include <pybind11/pybind11.h>

namespace cyclotron::bindings {

void bind_pe_classes(pybind11::module_& module);

/// The classes of a `Program`, each of which keeps it alive.
[[nodiscard]] pybind11::list classes(const pybind11::object& self);

}  // namespace cyclotron::bindings
