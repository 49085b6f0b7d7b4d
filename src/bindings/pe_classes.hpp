// The PE classes of a program, in Python.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <cyclotron/memory/tensors.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::bindings {

/// A class of a program; keeps the Python object of the program alive.
struct ClassView {
  pybind11::object owner;
  const program::Program* program;
  const program::PeClass* pe_class;
  /// The program's, once one of its classes was asked for them.
  std::shared_ptr<std::optional<std::vector<memory::TensorBlock>>> blocks;
};

void bind_pe_classes(pybind11::module_& module);

/// The classes of a `Program`, each of which keeps it alive.
[[nodiscard]] pybind11::typing::List<ClassView> classes(const pybind11::object& self);

/// The number of a PE's class; none without one.
[[nodiscard]] std::optional<std::size_t> class_of(const program::Program& program,
                                                  const std::vector<std::int64_t>& coordinates);
/// Over the grid: the number of each PE's class, `Program::unmapped` without one.
[[nodiscard]] pybind11::array_t<std::uint32_t> class_map(const program::Program& program);

}  // namespace cyclotron::bindings
