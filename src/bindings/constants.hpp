// The constants of a program, in Python: bytes by the names of tensors.
#pragma once
#include <pybind11/pybind11.h>

#include <map>
#include <string>

#include <cyclotron/program/program.hpp>

namespace cyclotron::bindings {

using Values = std::map<std::string, pybind11::bytes>;

[[nodiscard]] program::Program with_constants(program::Program program, const Values& values);
[[nodiscard]] Values constants(const program::Program& program);

}  // namespace cyclotron::bindings
