// Constants of programs: inputs whose scalars the program has itself.
#pragma once
#include <cstddef>
#include <map>
#include <span>
#include <string>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// Scalars by the names of tensors, as `Tensor::values` has them.
using ConstantValues = std::map<std::string, std::span<const std::byte>>;

/// The same program where its inputs of these names are constants. Throws ProgramError CYC615 where the bytes are not
/// those of their shape.
[[nodiscard]] Program with_constants(Program program, const ConstantValues& values);

/// The same program where the constants are inputs.
[[nodiscard]] Program without_constants(Program program);

/// Those of a program, which they refer to.
[[nodiscard]] ConstantValues constants(const Program& program);
ConstantValues constants(Program&&) = delete;

}  // namespace cyclotron::program
