// The tile-operator registry: one entry an operator (design section 2).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cyclotron::operators {

/// Element types of tensors, slots and channels.
enum class DType : std::uint8_t { boolean, int32, int64, float32, float64, complex64, complex128 };

[[nodiscard]] std::string_view name(DType dtype);                      ///< NumPy's name.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view);  ///< Inverse of `name`.
[[nodiscard]] std::size_t size_bytes(DType dtype);
[[nodiscard]] bool is_floating(DType dtype);  ///< float32, float64, complex64, complex128.

// clang-format off
/// Every operator, scalar or tile. On a 1x1 tile each means the obvious scalar operation.
enum class Op : std::uint8_t {
  add, subtract, multiply, divide, maximum, minimum, power,       // elementwise, two operands
  negative, sqrt, exp, log, absolute,                             // elementwise, one operand
  transpose,                                                      // one operand
  matmul,                                                         // a @ b; flags transpose_a, transpose_b
  syrk,                                                           // a @ a.T, all of it
  solve_triangular,                                               // (matrix, rhs); flags lower, transpose_a, right_side, unit_diagonal
  cholesky,                                                       // lower factor, zeros above
  row_sum, row_max,                                               // over the last axis, keeping it as 1 column
  multiply_add, multiply_subtract,                                // (acc, a, b): acc +- a*b, rounded twice
  matmul_add, matmul_subtract,                                    // (acc, a, b): acc +- a @ b; flags as matmul
  syrk_add, syrk_subtract,                                        // (acc, a): acc +- a @ a.T
};
// clang-format on

/// Flags of an operator, a bit set.
enum Flag : std::uint32_t {
  no_flags = 0,
  transpose_a = 1,
  transpose_b = 2,
  lower = 4,
  right_side = 8,  ///< solve X op(A) = B instead of op(A) X = B
  unit_diagonal = 16,
};
using Flags = std::uint32_t;

/// Rows and columns of a tile; a scalar is 1x1, a vector tile of length n is n x 1.
struct Shape {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  bool operator==(const Shape&) const = default;
};

/// One registry entry.
struct Info {
  Op op;
  std::string_view name;  ///< Name in text, files and `Pe::cycles`.
  int arity;
  std::string_view symbol;      ///< Infix symbol, or empty: printed as a call.
  std::string_view numpy;       ///< What it means in NumPy.
  std::string_view space_name;  ///< Name of an iteration space of this operation, e.g. `mul`, `gemm`, `trsm`.
  bool integer_ok;              ///< Defined on integers (division and roots are not).
};

[[nodiscard]] const Info& info(Op op);
[[nodiscard]] std::optional<Op> op_from_name(std::string_view name);

/// Shape of the result. Throws ShapeError naming both shapes where they do not fit (elementwise operands
/// broadcast as in NumPy: equal, or 1 in a dimension).
[[nodiscard]] Shape result_shape(Op op, Flags flags, std::span<const Shape> operands);

/// Floating-point operations of one application (a multiply-add counts 2; LAPACK's counts for solves and
/// factors).
[[nodiscard]] std::int64_t flops(Op op, Flags flags, std::span<const Shape> operands);

}  // namespace cyclotron::operators
