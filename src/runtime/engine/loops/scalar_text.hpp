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

/// The value of an operator on a, b and c, its operands, which have a type. None where it has no text.
[[nodiscard]] std::optional<std::string_view> c_expression(Op op, DType dtype);

/// The condition on a and b under which the operator fails; empty where it always has a result.
[[nodiscard]] std::string_view c_failure(Op op, Flags flags, DType dtype);

/// The interpreter's own function of an elementwise operator whose dtypes are C's: it takes its operands, and returns its
/// result. Null where there is none.
[[nodiscard]] void* c_function(Op op, DType dtype);

}  // namespace cyclotron::runtime
