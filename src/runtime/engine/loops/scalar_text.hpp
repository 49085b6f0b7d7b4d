// Numbers and operators on scalars as text in C, with the meaning that the kernels have (kernels/arithmetic.hpp).
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "../kernels/kernels.hpp"

namespace cyclotron::runtime {

/// Its type; empty where none is used.
[[nodiscard]] std::string_view c_type(DType dtype);

/// A number of a dtype that has a type.
[[nodiscard]] std::string c_constant(DType dtype, const std::byte* number);

/// The value of an operator on a, b and c, its operands, which have a type. None where it has no text: it may fail, or is a
/// function of the library.
[[nodiscard]] std::optional<std::string_view> c_expression(Op op, DType dtype);

}  // namespace cyclotron::runtime
