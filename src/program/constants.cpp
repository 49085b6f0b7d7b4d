#include <cyclotron/program/constants.hpp>

namespace cyclotron::program {

Program with_constants(Program program, const ConstantValues& values) {
  for (Tensor& tensor : program.tensors) {
    const auto found = values.find(tensor.name);
    if (found == values.end() || tensor.role != Role::input) continue;
    tensor.role = Role::constant;
    tensor.values.assign(found->second.begin(), found->second.end());
  }
  verify(program);
  return program;
}

Program without_constants(Program program) {
  for (Tensor& tensor : program.tensors) {
    if (tensor.role != Role::constant) continue;
    tensor.role = Role::input;
    tensor.values = {};
  }
  return program;
}

ConstantValues constants(const Program& program) {
  ConstantValues result;
  for (const Tensor& tensor : program.tensors) {
    if (tensor.role == Role::constant) result.emplace(tensor.name, tensor.values);
  }
  return result;
}

}  // namespace cyclotron::program
