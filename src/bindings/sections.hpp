// What a controller holds of a program, and how far it is from the PEs, in Python.
#pragma once
#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::bindings {

/// As dicts.
[[nodiscard]] pybind11::list sections(const program::Program& program);

/// Of each PE of the grid, the last dimension fastest; None where it has no program.
[[nodiscard]] std::vector<std::optional<std::int64_t>> hops_to_control(const program::Program& program);

}  // namespace cyclotron::bindings
