// The constants of a program, in Python: bytes by the names of tensors.
#pragma once
#include <pybind11/pybind11.h>

#include <map>
#include <string>

#include <cyclotron/program/program.hpp>

namespace cyclotron::bindings {

using Values = std::map<std::string, pybind11::bytes>;

/// The same program where inputs of these names are constants. Throws ProgramError CYC615 where the bytes are not those
/// of their shape.
[[nodiscard]] program::Program with_constants(program::Program program, const Values& values);

/// The same program where the constants are inputs.
[[nodiscard]] program::Program without_constants(program::Program program);

[[nodiscard]] Values constants(const program::Program& program);

}  // namespace cyclotron::bindings
