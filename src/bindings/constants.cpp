#include "constants.hpp"

#include <span>
#include <string_view>
#include <utility>

namespace py = pybind11;
namespace cyclotron::bindings {

program::Program with_constants(program::Program program, const Values& values) {
  for (auto& tensor : program.tensors) {
    const auto found = values.find(tensor.name);
    if (found == values.end() || tensor.role != program::Role::input) continue;
    const std::string_view bytes = found->second;
    const auto own = std::as_bytes(std::span(bytes));
    tensor.role = program::Role::constant;
    tensor.values.assign(own.begin(), own.end());
  }
  program::verify(program);
  return program;
}

program::Program without_constants(program::Program program) {
  for (auto& tensor : program.tensors) {
    if (tensor.role != program::Role::constant) continue;
    tensor.role = program::Role::input;
    tensor.values = {};
  }
  return program;
}

Values constants(const program::Program& program) {
  Values result;
  for (const auto& tensor : program.tensors) {
    if (tensor.role != program::Role::constant) continue;
    result.emplace(tensor.name,
                   py::bytes(reinterpret_cast<const char*>(tensor.values.data()), tensor.values.size()));
  }
  return result;
}

}  // namespace cyclotron::bindings
