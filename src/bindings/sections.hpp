// What a controller holds of a program, and how far it is from the PEs, in Python.
#pragma once
#include <pybind11/pybind11.h>

#include <cyclotron/program/program.hpp>

namespace cyclotron::bindings {

/// As dicts.
[[nodiscard]] pybind11::list sections(const program::Program& program);

/// Of the PEs that have a program, on average and at most, in hops.
[[nodiscard]] pybind11::tuple control_distance(const program::Program& program);

}  // namespace cyclotron::bindings
