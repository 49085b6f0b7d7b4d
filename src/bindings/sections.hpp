// Sections of a program as its controller holds them, and how far that is from the PEs, in Python.
#pragma once
#include <pybind11/pybind11.h>

#include <cstdint>
#include <utility>

#include <cyclotron/program/program.hpp>

#include "typed.hpp"

namespace cyclotron::bindings {

/// As dicts.
[[nodiscard]] Dicts sections(const program::Program& program);

/// Laid out. Throws ValueError where no PE waits for a controller.
[[nodiscard]] program::Program control_system(const program::Program& program);

/// Of the PEs that have a program, on average and at most, in hops.
[[nodiscard]] std::pair<double, std::int64_t> control_distance(const program::Program& program);

}  // namespace cyclotron::bindings
