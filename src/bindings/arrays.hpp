// NumPy arrays as the runtimes see them; shared by `_core` and `_mpi`.
#pragma once
#include <pybind11/numpy.h>

#include <string>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::bindings {

/// The arrays' memory, for the tensors in table order. Throws ShapeError CYC208 where one does not fit its
/// tensor.
inline runtime::Arrays to_views(const program::Program& program, const std::vector<pybind11::array>& arrays) {
  const auto refuse = [](std::string message) {
    throw ShapeError(
        {.code = "CYC208",
         .span = {},
         .message = std::move(message),
         .notes = {},
         .help = "pass one aligned NumPy array of the tensor's dtype and shape for each tensor"});
  };
  runtime::Arrays views;
  if (arrays.size() != program.tensors.size()) {
    refuse("the program has " + std::to_string(program.tensors.size()) + " tensors, got " +
           std::to_string(arrays.size()) + " arrays");
  }
  for (std::size_t t = 0; t < arrays.size(); ++t) {
    const auto& tensor = program.tensors[t];
    const auto& array = arrays[t];
    const bool output = tensor.role == program::Role::output;
    if (!array.dtype().equal(pybind11::dtype(std::string(operators::name(tensor.dtype))))) {
      refuse("`" + tensor.name + "` is of " + std::string(operators::name(tensor.dtype)) + ", its array of " +
             std::string(pybind11::str(pybind11::object(array.dtype()))));
    }
    if (array.ndim() != static_cast<pybind11::ssize_t>(tensor.shape.size()) ||
        !std::equal(tensor.shape.begin(), tensor.shape.end(), array.shape())) {
      refuse("the array of `" + tensor.name + "` has another shape than the tensor");
    }
    constexpr int aligned = pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_;
    if ((array.flags() & aligned) == 0) refuse("the array of `" + tensor.name + "` is not aligned");
    if (output && !array.writeable()) refuse("the array of the output `" + tensor.name + "` is read-only");
    views.push_back({const_cast<void*>(array.data()), {array.strides(), array.strides() + array.ndim()}});
  }
  return views;
}

}  // namespace cyclotron::bindings
