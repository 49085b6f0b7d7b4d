#include <cyclotron/operators/operators.hpp>

#include <algorithm>
#include <array>
#include <string>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::operators {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<DTypeInfo, 7> dtypes{{
    {DType::boolean, "bool", 1},
    {DType::int32, "int32", 4},
    {DType::int64, "int64", 8},
    {DType::float32, "float32", 4},
    {DType::float64, "float64", 8},
    {DType::complex64, "complex64", 8},
    {DType::complex128, "complex128", 16},
}};

// In the order of `Op`, so that an operator indexes its own entry.
constexpr std::array<Info, 25> registry{{
    {Op::add, "add", 2, "+", "a + b", "add", true},
    {Op::subtract, "subtract", 2, "-", "a - b", "sub", true},
    {Op::multiply, "multiply", 2, "·", "a * b", "mul", true},
    {Op::divide, "divide", 2, "/", "a / b", "div", false},
    {Op::maximum, "maximum", 2, "", "np.maximum(a, b)", "max", true},
    {Op::minimum, "minimum", 2, "", "np.minimum(a, b)", "min", true},
    {Op::power, "power", 2, "**", "a ** b", "pow", true},
    {Op::negative, "negative", 1, "", "-a", "neg", true},
    {Op::sqrt, "sqrt", 1, "", "np.sqrt(a)", "sqrt", false},
    {Op::exp, "exp", 1, "", "np.exp(a)", "exp", false},
    {Op::log, "log", 1, "", "np.log(a)", "log", false},
    {Op::absolute, "absolute", 1, "", "np.abs(a)", "abs", true},
    {Op::transpose, "transpose", 1, "", "a.T", "transpose", true},
    {Op::matmul, "matmul", 2, "@", "a @ b", "gemm", true},
    {Op::syrk, "syrk", 1, "", "a @ a.T", "syrk", true},
    {Op::solve_triangular, "solve_triangular", 2, "", "scipy.linalg.solve_triangular(a, b)", "trsm", false},
    {Op::cholesky, "cholesky", 1, "", "np.linalg.cholesky(a)", "potrf", false},
    {Op::row_sum, "row_sum", 1, "", "np.sum(a, axis=-1, keepdims=True)", "row_sum", true},
    {Op::row_max, "row_max", 1, "", "np.max(a, axis=-1, keepdims=True)", "row_max", true},
    {Op::multiply_add, "multiply_add", 3, "", "acc + a * b", "mul", true},
    {Op::multiply_subtract, "multiply_subtract", 3, "", "acc - a * b", "mul", true},
    {Op::matmul_add, "matmul_add", 3, "", "acc + a @ b", "gemm", true},
    {Op::matmul_subtract, "matmul_subtract", 3, "", "acc - a @ b", "gemm", true},
    {Op::syrk_add, "syrk_add", 2, "", "acc + a @ a.T", "syrk", true},
    {Op::syrk_subtract, "syrk_subtract", 2, "", "acc - a @ a.T", "syrk", true},
}};

static_assert(
    [] {
      for (std::size_t i = 0; i < registry.size(); ++i) {
        if (registry[i].op != static_cast<Op>(i)) return false;
      }
      return true;
    }(),
    "the registry is in the order of Op");
static_assert(static_cast<std::size_t>(Op::syrk_subtract) + 1 == registry.size());

const DTypeInfo& entry(DType dtype) {
  const auto index = static_cast<std::size_t>(dtype);
  CYC_CHECK(index < dtypes.size());
  return dtypes[index];
}

std::string text(Shape shape) { return fmt::format("{}x{}", shape.rows, shape.columns); }

Shape transposed(Shape shape) { return {shape.columns, shape.rows}; }

[[noreturn]] void misfit(Op op, const std::string& what, std::string help) {
  throw ShapeError({.code = "CYC206",
                    .span = {},
                    .message = fmt::format("`{}` {}", info(op).name, what),
                    .notes = {},
                    .help = std::move(help)});
}

std::int64_t broadcast_extent(Op op, Shape a, Shape b, std::int64_t x, std::int64_t y) {
  if (x == y || y == 1) return x;
  if (x == 1) return y;
  misfit(op, fmt::format("cannot combine a {} tile with a {} tile", text(a), text(b)),
         "elementwise operands have equal shapes, or 1 in a dimension");
}

Shape broadcast(Op op, Shape a, Shape b) {
  return {broadcast_extent(op, a, b, a.rows, b.rows), broadcast_extent(op, a, b, a.columns, b.columns)};
}

Shape product(Op op, Flags flags, Shape a, Shape b) {
  const Shape left = (flags & transpose_a) != 0 ? transposed(a) : a;
  const Shape right = (flags & transpose_b) != 0 ? transposed(b) : b;
  if (left.columns != right.rows) {
    misfit(op, fmt::format("cannot multiply a {} tile by a {} tile", text(left), text(right)),
           fmt::format("the left operand has {} columns and the right one {} rows; they must be equal",
                       left.columns, right.rows));
  }
  return {left.rows, right.columns};
}

Shape accumulated(Op op, Shape accumulator, Shape term) {
  if (accumulator != term) {
    misfit(op, fmt::format("cannot accumulate a {} product into a {} tile", text(term), text(accumulator)),
           "the accumulator has the shape of the product");
  }
  return term;
}

void require_square(Op op, Shape matrix) {
  if (matrix.rows != matrix.columns) {
    misfit(op, fmt::format("needs a square tile, got {}", text(matrix)),
           "use tiles with equal rows and columns");
  }
}

Shape solved(Flags flags, Shape matrix, Shape rhs) {
  require_square(Op::solve_triangular, matrix);
  const bool right = (flags & right_side) != 0;
  if (matrix.rows != (right ? rhs.columns : rhs.rows)) {
    misfit(Op::solve_triangular,
           fmt::format("cannot solve with a {} matrix and a {} right-hand side", text(matrix), text(rhs)),
           fmt::format("the right-hand side needs {} {}", matrix.rows, right ? "columns" : "rows"));
  }
  return rhs;
}

}  // namespace

std::string_view name(DType dtype) { return entry(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& candidate : dtypes) {
    if (candidate.name == name) return candidate.dtype;
  }
  return std::nullopt;
}

std::size_t size_bytes(DType dtype) { return entry(dtype).bytes; }

bool is_floating(DType dtype) { return entry(dtype).dtype >= DType::float32; }

const Info& info(Op op) {
  const auto index = static_cast<std::size_t>(op);
  CYC_CHECK(index < registry.size());
  return registry[index];
}

std::optional<Op> op_from_name(std::string_view name) {
  for (const auto& candidate : registry) {
    if (candidate.name == name) return candidate.op;
  }
  return std::nullopt;
}

Shape result_shape(Op op, Flags flags, std::span<const Shape> operands) {
  const auto arity = static_cast<std::size_t>(info(op).arity);
  if (operands.size() != arity) {
    misfit(op, fmt::format("takes {} operands, got {}", arity, operands.size()),
           fmt::format("it means {}", info(op).numpy));
  }
  const Shape a = operands[0];
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::maximum:
    case Op::minimum:
    case Op::power: return broadcast(op, a, operands[1]);
    case Op::negative:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::absolute: return a;
    case Op::transpose: return transposed(a);
    case Op::matmul: return product(op, flags, a, operands[1]);
    case Op::syrk: return {a.rows, a.rows};
    case Op::solve_triangular: return solved(flags, a, operands[1]);
    case Op::cholesky: require_square(op, a); return a;
    case Op::row_sum:
    case Op::row_max: return {a.rows, 1};
    case Op::multiply_add:
    case Op::multiply_subtract: return broadcast(op, a, broadcast(op, operands[1], operands[2]));
    case Op::matmul_add:
    case Op::matmul_subtract: return accumulated(op, a, product(op, flags, operands[1], operands[2]));
    case Op::syrk_add:
    case Op::syrk_subtract: return accumulated(op, a, {operands[1].rows, operands[1].rows});
  }
  check_failed("op is an Op", __FILE__, __LINE__, {});
}

std::int64_t flops(Op op, Flags flags, std::span<const Shape> operands) {
  const Shape result = result_shape(op, flags, operands);
  const std::int64_t elements = result.rows * result.columns;
  const Shape a = operands[0];
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::divide:
    case Op::maximum:
    case Op::minimum:
    case Op::power:
    case Op::negative:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::absolute: return elements;
    case Op::transpose: return 0;
    case Op::matmul: return 2 * elements * ((flags & transpose_a) != 0 ? a.rows : a.columns);
    case Op::matmul_add:
    case Op::matmul_subtract:
      return 2 * elements * ((flags & transpose_a) != 0 ? operands[1].rows : operands[1].columns);
    case Op::syrk: return a.rows * (a.rows + 1) * a.columns;
    case Op::syrk_add:
    case Op::syrk_subtract: return a.rows * (a.rows + 1) * operands[1].columns;
    case Op::solve_triangular: return elements * ((flags & unit_diagonal) != 0 ? a.rows - 1 : a.rows);
    case Op::cholesky: return a.rows * (a.rows + 1) * (2 * a.rows + 1) / 6;
    case Op::row_sum:
    case Op::row_max: return a.rows * std::max<std::int64_t>(a.columns - 1, 0);
    case Op::multiply_add:
    case Op::multiply_subtract: return 2 * elements;
  }
  check_failed("op is an Op", __FILE__, __LINE__, {});
}

}  // namespace cyclotron::operators
