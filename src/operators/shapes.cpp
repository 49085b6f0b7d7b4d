#include <cyclotron/operators/operators.hpp>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::operators {
namespace {

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

Shape joined(Flags flags, Shape a, Shape b) {
  const bool beside = (flags & right_side) != 0;
  if (beside ? a.rows != b.rows : a.columns != b.columns)
    misfit(Op::join,
           fmt::format("cannot put a {} tile {} a {} tile", text(b), beside ? "beside" : "below", text(a)),
           fmt::format("they have as many {}", beside ? "rows" : "columns"));
  return beside ? Shape{a.rows, a.columns + b.columns} : Shape{a.rows + b.rows, a.columns};
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

Shape result_shape(Op op, Flags flags, std::span<const Shape> operands) {
  const auto arity = static_cast<std::size_t>(info(op).arity);
  if (operands.size() != arity) {
    misfit(op, fmt::format("takes {} operands, got {}", arity, operands.size()),
           fmt::format("it means {}", info(op).numpy));
  }
  const Shape a = operands[0];
  if (is_elementwise(op)) {
    Shape result = operands.back();
    for (std::size_t n = operands.size() - 1; n-- > 0;) result = broadcast(op, operands[n], result);
    return result;
  }
  switch (op) {
    case Op::transpose: return transposed(a);
    case Op::matmul: return product(op, flags, a, operands[1]);
    case Op::syrk: return {a.rows, a.rows};
    case Op::solve_triangular: return solved(flags, a, operands[1]);
    case Op::inv_triangular:
    case Op::cholesky:
    case Op::lu:
    case Op::ldl: require_square(op, a); return a;
    case Op::row_sum:
    case Op::row_max:
    case Op::row_min: return {a.rows, 1};
    case Op::column_sum:
    case Op::column_max:
    case Op::column_min: return {1, a.columns};
    case Op::matmul_add:
    case Op::matmul_subtract: return accumulated(op, a, product(op, flags, operands[1], operands[2]));
    case Op::syrk_add:
    case Op::syrk_subtract: return accumulated(op, a, {operands[1].rows, operands[1].rows});
    case Op::join: return joined(flags, a, operands[1]);
    case Op::correlate_add: return a;
    default: break;
  }
  check_failed("every operator that is not elementwise has a shape rule", __FILE__, __LINE__, {});
}

std::optional<ProductSize> product_size(Op op, Flags flags, std::span<const Shape> operands) {
  const Family family = info(op).family;
  if (family != Family::product && family != Family::self_product) return std::nullopt;
  const Shape result = result_shape(op, flags, operands);
  const Shape left = operands[is_accumulating(op) ? 1 : 0];
  const bool transposes = family == Family::product && (flags & transpose_a) != 0;
  return ProductSize{result.rows, result.columns, transposes ? left.rows : left.columns};
}

std::int64_t flops(Op op, Flags flags, std::span<const Shape> operands) {
  const Shape result = result_shape(op, flags, operands);
  const std::int64_t elements = result.rows * result.columns;
  const Shape a = operands[0];
  const std::int64_t n = a.rows;
  if (is_elementwise(op)) return elements * *info(op).flops_per_element;
  switch (op) {
    case Op::transpose:
    case Op::join: return 0;
    case Op::correlate_add: return 2 * elements * operands[2].rows * operands[2].columns;
    case Op::matmul:
    case Op::matmul_add:
    case Op::matmul_subtract: return 2 * elements * product_size(op, flags, operands).value().depth;
    case Op::syrk:
    case Op::syrk_add:
    case Op::syrk_subtract: return n * (n + 1) * product_size(op, flags, operands).value().depth;
    case Op::solve_triangular: return elements * ((flags & unit_diagonal) != 0 ? n - 1 : n);
    case Op::inv_triangular: return n * (n * n + 2) / 3;
    case Op::cholesky: return n * (n + 1) * (2 * n + 1) / 6;
    case Op::lu: return n * (n - 1) / 2 + n * (n - 1) * (2 * n - 1) / 3;
    case Op::ldl: return n * (n - 1) * (2 * n + 5) / 6;
    case Op::row_sum:
    case Op::row_max:
    case Op::row_min: return a.rows * std::max<std::int64_t>(a.columns - 1, 0);
    case Op::column_sum:
    case Op::column_max:
    case Op::column_min: return a.columns * std::max<std::int64_t>(a.rows - 1, 0);
    default: break;
  }
  check_failed("every operator that is not elementwise has a count", __FILE__, __LINE__, {});
}

}  // namespace cyclotron::operators
