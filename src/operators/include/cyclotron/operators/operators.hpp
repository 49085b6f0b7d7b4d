// The tile-operator registry: one entry an operator (design section 2).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <cyclotron/support/number.hpp>

namespace cyclotron::operators {

// clang-format off
/// Element types of tensors, slots and channels.
enum class DType : std::uint8_t {
  boolean, int8, int16, int32, int64, uint8, uint16, uint32, uint64,
  float8_e4m3, float8_e4m3fn, float8_e5m2, bfloat16, float16, float32, float64, complex64, complex128,
};
// clang-format on

[[nodiscard]] std::string_view name(DType dtype);                      ///< NumPy's name.
[[nodiscard]] std::optional<DType> dtype_from_name(std::string_view);  ///< Inverse of `name`.
[[nodiscard]] std::span<const DType> all_dtypes();                     ///< In the order of `DType`.
[[nodiscard]] std::string dtype_names();                               ///< Of all, as in `a, b or c`.
[[nodiscard]] std::size_t size_bytes(DType dtype);
/// The alignment of its elements: the size of its real numbers, of bool a 16-bit word.
[[nodiscard]] std::int64_t alignment_bytes(DType dtype);
[[nodiscard]] bool is_floating(DType dtype);  ///< Real or complex numbers with fractions.
[[nodiscard]] bool is_complex(DType dtype);
/// True of what, added to a number of the dtype, leaves every bit of it.
[[nodiscard]] bool is_neutral(const Number& number, DType dtype);
/// Of 64-bit integers those that a dtype of integers holds; nullopt for int64, which holds all, and where there is no limit.
struct Limits {
  std::int64_t least;
  std::int64_t most;
};
[[nodiscard]] std::optional<Limits> integer_limits(DType dtype);
[[nodiscard]] bool holds_index(DType dtype);  ///< An index may have it: integers and real numbers.

// clang-format off
/// Every operator, scalar or tile. On a 1x1 tile each means the obvious scalar operation.
enum class Op : std::uint8_t {
  add, subtract, multiply, divide, maximum, minimum, power,       // elementwise, two operands
  first_maximum, first_minimum,                                   // Python's: the first operand, unless the second is more or less
  floor_divide, remainder, arctan2, hypot,
  normalize_index,                                                // (index, size): in [0, size), from the end where negative
  negative, sqrt, exp, log, absolute,                             // elementwise, one operand
  sign, floor, ceil, sin, cos, sinh, cosh, tanh, log1p, expm1, cbrt, arctan,
  conj, real, imag, copy,
  equal, not_equal, less, less_equal, greater, greater_equal,     // comparisons: bool
  is_nan, is_finite,
  logical_and, logical_or, logical_xor, logical_not,              // truth of any dtype: bool
  bit_and, bit_or, bit_xor, bit_not,                              // on bool the same as the logical ones
  left_shift, right_shift,
  where,                                                          // (condition, a, b)
  to_bool, to_int8, to_int16, to_int32, to_int64, to_uint8, to_uint16, to_uint32, to_uint64,
  to_float8_e4m3, to_float8_e4m3fn, to_float8_e5m2, to_bfloat16, to_float16, to_float32, to_float64, to_complex64, to_complex128,
  transpose,                                                      // one operand
  matmul,                                                         // a @ b; flags transpose_a, transpose_b
  syrk,                                                           // a @ a.T, all of it
  solve_triangular,                                               // (matrix, rhs); flags lower, transpose_a, right_side, unit_diagonal
  inv_triangular,                                                 // flags lower, unit_diagonal; zeros in the other triangle
  cholesky,                                                       // lower factor, zeros above
  lu,                                                             // no pivoting: U, and below it L without its diagonal of ones
  ldl,                                                            // no pivoting: D on the diagonal, below it L without its ones, zeros above
  row_sum, row_max, row_min,                                      // over the last axis, keeping it as 1 column
  column_sum, column_max, column_min,                             // over the first axis, keeping it as 1 row
  multiply_add, multiply_subtract,                                // (acc, a, b): acc +- a*b, rounded twice
  matmul_add, matmul_subtract,                                    // (acc, a, b): acc +- a @ b; flags as matmul
  syrk_add, syrk_subtract,                                        // (acc, a): acc +- a @ a.T
  join,                                                           // (a, b): b below a; flag right_side: at its right
  correlate_add,                                                  // (acc, a, b)[r, c]: acc[r, c] + b[p, q] * a[r + p, c + q] summed, where a has it
};
// clang-format on
inline constexpr std::size_t operator_count = static_cast<std::size_t>(Op::correlate_add) + 1;

/// Rules by which the dtypes of operands and result follow from the one dtype that an operator works on.
enum class Typing : std::uint8_t {
  same,    ///< all operands and the result
  truth,   ///< all operands; the result is bool
  select,  ///< the result and all operands but the first, which is bool
  part,    ///< the operand; the result is real where that is complex, else the same
  cast,    ///< the operand; the result is what the operator's name says
};

/// Operators of one shape rule.
enum class Family : std::uint8_t {
  elementwise,  ///< operands broadcast; the result may overwrite any of them
  transpose,
  product,        ///< a @ b
  self_product,   ///< a @ a.T
  solve,          ///< with a triangular matrix, or its inverse
  factorization,  ///< of a square tile
  reduction,      ///< of rows or of columns
  join,           ///< of two tiles to one
  correlation,    ///< of the windows of a tile with another
};

/// Flags of an operator, a bit set.
enum Flag : std::uint32_t {
  no_flags = 0,
  transpose_a = 1,
  transpose_b = 2,
  lower = 4,
  right_side = 8,  ///< solve X op(A) = B instead of op(A) X = B; join columns instead of rows
  unit_diagonal = 16,
  checked = 32,  ///< an error, as of Python's numbers, where NumPy gives infinity, NaN or 0
  onward =
      64,  ///< in recurrences: the reduction that is the second operand goes on from the first, term by term
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
  std::string_view numpy;       ///< Its meaning in NumPy.
  std::string_view space_name;  ///< Name of an iteration space of this operation, e.g. `mul`, `gemm`, `trsm`.
  std::string_view
      kinds;  ///< Of dtypes it is defined on, as NumPy's letters: b(ool), i(nt), u(int), f(loat), c(omplex).
  Typing typing;
  Family family;
  /// Of the elementwise family; 0 where it only moves data. Others count by their shapes.
  std::optional<int> flops_per_element{};
  bool accumulating = false;  ///< The first operand is an accumulator, which the result may overwrite.
};

[[nodiscard]] const Info& info(Op op);
[[nodiscard]] std::string_view name(Typing typing);
[[nodiscard]] std::string_view name(Family family);
[[nodiscard]] std::optional<Flag> flag_from_name(std::string_view name);
[[nodiscard]] std::optional<Op> op_from_name(std::string_view name);

/// Tells whether operands broadcast and the result may overwrite any of them.
[[nodiscard]] bool is_elementwise(Op op);
/// Tells whether the first operand is an accumulator, which the result may overwrite.
[[nodiscard]] bool is_accumulating(Op op);
/// The operators that add a product to an accumulator, and take it off.
struct Accumulating {
  Op added, subtracted;
};
/// Of a product; nullopt for other operators, or where there are none.
[[nodiscard]] std::optional<Accumulating> accumulating(Op op);
/// Tells whether it is a reduction of rows or of columns.
[[nodiscard]] bool is_reduction(Op op);
/// Tells whether there is a kernel for the dtype.
[[nodiscard]] bool is_defined(Op op, DType dtype);

/// The dtype of an operand of an operator that works on `dtype`.
[[nodiscard]] DType operand_dtype(Op op, std::size_t operand, DType dtype);
/// The dtype of the result of an operator that works on `dtype`.
[[nodiscard]] DType result_dtype(Op op, DType dtype);
/// The same; of numbers alone nullopt where the result adopts its neighbour's dtype as they do.
[[nodiscard]] std::optional<DType> result_dtype(Op op, std::optional<DType> dtype);
/// The dtype that an operator works on, from its operands (nullopt for numbers, which adopt it); nullopt where all that
/// count are numbers. Throws ShapeError (CYC206) where they differ.
[[nodiscard]] std::optional<DType> common_dtype(Op op, std::span<const std::optional<DType>> operands);
/// `common_dtype`; of numbers alone, `result` where that is of the same dtype, else the largest.
[[nodiscard]] DType working_dtype(Op op, std::span<const std::optional<DType>> operands, DType result);
/// The operator that converts to a dtype.
[[nodiscard]] Op cast_to(DType dtype);

/// Shape of the result. Throws ShapeError naming both shapes where they do not fit (elementwise operands
/// broadcast as in NumPy: equal, or 1 in a dimension).
[[nodiscard]] Shape result_shape(Op op, Flags flags, std::span<const Shape> operands);

/// Of a product of tiles: the result's rows and columns, and the length of its sums.
struct ProductSize {
  std::int64_t rows = 1;
  std::int64_t columns = 1;
  std::int64_t depth = 1;
};
/// Of the matmul and syrk families, nullopt for other operators. Throws as `result_shape`.
[[nodiscard]] std::optional<ProductSize> product_size(Op op, Flags flags, std::span<const Shape> operands);

/// Floating-point operations of one application (a multiply-add counts 2; LAPACK's counts for solves and
/// factors).
[[nodiscard]] std::int64_t flops(Op op, Flags flags, std::span<const Shape> operands);

}  // namespace cyclotron::operators
