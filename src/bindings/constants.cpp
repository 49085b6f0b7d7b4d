#include "constants.hpp"

#include <span>
#include <string_view>
#include <utility>

#include <cyclotron/program/constants.hpp>

namespace py = pybind11;
namespace cyclotron::bindings {

program::Program with_constants(program::Program program, const Values& values) {
  program::ConstantValues scalars;
  for (const auto& [name, bytes] : values) {
    scalars.emplace(name, std::as_bytes(std::span(std::string_view(bytes))));
  }
  return program::with_constants(std::move(program), scalars);
}

Values constants(const program::Program& program) {
  Values result;
  for (const auto& [name, scalars] : program::constants(program)) {
    result.emplace(name, py::bytes(reinterpret_cast<const char*>(scalars.data()), scalars.size()));
  }
  return result;
}

}  // namespace cyclotron::bindings
