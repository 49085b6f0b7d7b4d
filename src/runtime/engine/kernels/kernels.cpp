#include "kernels.hpp"

#include <array>
#include <cstring>
#include <type_traits>

#include <cyclotron/support/error.hpp>

#include "arithmetic.hpp"
#include "elementwise.hpp"
#include "functions.hpp"
#include "linear_algebra.hpp"
#include "windows.hpp"

namespace cyclotron::runtime {
namespace {

using namespace arithmetic;
using linear_algebra::Into;

std::size_t tile_bytes(Shape shape, std::size_t element) {
  return static_cast<std::size_t>(shape.rows * shape.columns) * element;
}

/// Brings the accumulator (or the right-hand side) into the destination, where the kernel works on it in
/// place.
template <class T>
void start_from(const ConstTile& source, Tile destination) {
  if (source.data == destination.data) return;
  std::memcpy(destination.data, source.data, tile_bytes(source.shape, sizeof(T)));
}

/// Factorizations and solves, which divide.
template <class T>
void apply_solver(const TileOperator& what, std::span<const ConstTile> in, Tile out, Scratch& scratch) {
  if constexpr (has_solvers<T>) {
    switch (what.op) {
      case Op::solve_triangular:
        start_from<T>(in[1], out);
        return linear_algebra::solve_triangular<T>(what.flags, in[0], out, scratch);
      case Op::inv_triangular: return linear_algebra::inv_triangular<T>(what.flags, in[0], out, scratch);
      case Op::cholesky: start_from<T>(in[0], out); return linear_algebra::cholesky<T>(out);
      case Op::lu: start_from<T>(in[0], out); return linear_algebra::lu<T>(out);
      case Op::ldl: start_from<T>(in[0], out); return linear_algebra::ldl<T>(out);
      default: break;
    }
  }
  check_failed("the operator has a kernel for the dtype", __FILE__, __LINE__,
               std::string(operators::info(what.op).name));
}

template <class T>
void apply_elementwise(const TileOperator& what, std::span<const ConstTile> in, Tile out) {
  functions::visit<T>(what.op, [&]<class F>(F f) {
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
      check_failed("the operator has a kernel for the dtype", __FILE__, __LINE__,
                   std::string(operators::info(what.op).name));
    } else {
      elementwise::map(f, in, out);
    }
  });
}

template <class T>
void apply_typed(const TileOperator& what, std::span<const ConstTile> in, Tile out, Scratch& scratch) {
  if (operators::is_elementwise(what.op)) return apply_elementwise<T>(what, in, out);
  switch (what.op) {
    case Op::transpose: return elementwise::transpose<T>(in[0], out);
    case Op::row_sum: return elementwise::fold_rows<T, Sum<T>>(add<Sum<T>>, in[0], out);
    case Op::row_max: return elementwise::fold_rows<T, T>(maximum<T>, in[0], out);
    case Op::row_min: return elementwise::fold_rows<T, T>(minimum<T>, in[0], out);
    case Op::column_sum: return elementwise::fold_columns<T>(add<T>, in[0], out);
    case Op::column_max: return elementwise::fold_columns<T>(maximum<T>, in[0], out);
    case Op::column_min: return elementwise::fold_columns<T>(minimum<T>, in[0], out);
    case Op::matmul: return linear_algebra::matmul<T>(what.flags, in[0], in[1], out, Into::overwrite);
    case Op::syrk: return linear_algebra::syrk<T>(what.flags, in[0], out, Into::overwrite, scratch);
    case Op::matmul_add:
    case Op::matmul_subtract:
      start_from<T>(in[0], out);
      return linear_algebra::matmul<T>(what.flags, in[1], in[2], out,
                                       what.op == Op::matmul_add ? Into::add : Into::subtract);
    case Op::syrk_add:
    case Op::syrk_subtract:
      start_from<T>(in[0], out);
      return linear_algebra::syrk<T>(what.flags, in[1], out,
                                     what.op == Op::syrk_add ? Into::add : Into::subtract, scratch);
    case Op::join: return windows::join<T>(what.flags, in[0], in[1], out);
    case Op::correlate_add: start_from<T>(in[0], out); return windows::correlate_add<T>(in[1], in[2], out);
    default: return apply_solver<T>(what, in, out, scratch);
  }
}

/// Tells whether a kernel works in place on this operand.
bool starts_from(Op op, std::size_t operand) {
  if (op == Op::solve_triangular) return operand == 1;
  const bool factorizes = operators::info(op).family == operators::Family::factorization;
  return operand == 0 && (factorizes || operators::is_accumulating(op));
}

void dispatch(const TileOperator& what, std::span<const ConstTile> in, Tile out, Scratch& scratch) {
  with_type(what.dtype, [&]<class T>() { return apply_typed<T>(what, in, out, scratch); });
}

}  // namespace

void* Scratch::bytes(std::size_t index, std::size_t bytes) {
  if (areas_.size() <= index) areas_.resize(index + 1);
  const std::size_t units = (bytes + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
  if (areas_[index].size() < units) areas_[index].resize(units);
  return areas_[index].data();
}

void apply(const TileOperator& what, std::span<const ConstTile> operands, Tile destination,
           Scratch& scratch) {
  bool all_scalars = destination.shape == Shape{};
  for (const auto& operand : operands) all_scalars = all_scalars && operand.shape == Shape{};
  CYC_CHECK(operands.size() <= 3);
  if (all_scalars) {  // the same bits as where the tile is known to be 1x1
    const auto kernel = scalar_kernel(what.op, what.flags, what.dtype);
    CYC_CHECK(kernel != nullptr);
    std::array<const void*, 3> in{};
    for (std::size_t i = 0; i < operands.size(); ++i) in[i] = operands[i].data;
    return kernel(destination.data, in.data());
  }
  // An operand that the kernel would overwrite while reading it is read from a copy.
  std::array<ConstTile, 3> in{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    in[i] = operands[i];
    if (in[i].data != destination.data) continue;
    const bool in_place = operators::is_elementwise(what.op) || starts_from(what.op, i);
    if (in_place && in[i].shape == destination.shape) continue;
    const auto dtype = operators::operand_dtype(what.op, i, what.dtype);
    const std::size_t size = tile_bytes(in[i].shape, operators::size_bytes(dtype));
    in[i].data = std::memcpy(scratch.bytes(i, size), operands[i].data, size);
  }
  dispatch(what, std::span(in.data(), operands.size()), destination, scratch);
}

}  // namespace cyclotron::runtime
