#include "kernels.hpp"

#include <cstring>

#include <cyclotron/support/error.hpp>

#include "arithmetic.hpp"
#include "elementwise.hpp"
#include "linear_algebra.hpp"

namespace cyclotron::runtime {
namespace {

using namespace arithmetic;
using linear_algebra::Into;

bool is_elementwise(Op op) {
  return op <= Op::absolute || op == Op::multiply_add || op == Op::multiply_subtract;
}

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

template <class T>
void apply_floating(const TileOperator& what, std::span<const ConstTile> in, Tile out) {
  if constexpr (is_real<T> || is_complex<T>) {
    switch (what.op) {
      case Op::divide: return elementwise::map<T, 2>(divide<T>, in, out);
      case Op::sqrt: return elementwise::map<T, 1>(square_root<T>, in, out);
      case Op::exp: return elementwise::map<T, 1>([](T x) { return std::exp(x); }, in, out);
      case Op::log: return elementwise::map<T, 1>([](T x) { return std::log(x); }, in, out);
      case Op::solve_triangular:
        start_from<T>(in[1], out);
        return linear_algebra::solve_triangular<T>(what.flags, in[0], out);
      case Op::cholesky: start_from<T>(in[0], out); return linear_algebra::cholesky<T>(out);
      default: break;
    }
  }
  check_failed("the operator has a kernel for the dtype", __FILE__, __LINE__,
               std::string(operators::info(what.op).name));
}

template <class T>
void apply_typed(const TileOperator& what, std::span<const ConstTile> in, Tile out, Scratch& scratch) {
  switch (what.op) {
    case Op::add: return elementwise::map<T, 2>(add<T>, in, out);
    case Op::subtract: return elementwise::map<T, 2>(subtract<T>, in, out);
    case Op::multiply: return elementwise::map<T, 2>(multiply<T>, in, out);
    case Op::maximum: return elementwise::map<T, 2>(maximum<T>, in, out);
    case Op::minimum: return elementwise::map<T, 2>(minimum<T>, in, out);
    case Op::power: return elementwise::map<T, 2>(power<T>, in, out);
    case Op::negative: return elementwise::map<T, 1>(negative<T>, in, out);
    case Op::absolute: return elementwise::map<T, 1>(absolute<T>, in, out);
    case Op::multiply_add:
      return elementwise::map<T, 3>([](T c, T a, T b) { return add(c, multiply(a, b)); }, in, out);
    case Op::multiply_subtract:
      return elementwise::map<T, 3>([](T c, T a, T b) { return subtract(c, multiply(a, b)); }, in, out);
    case Op::transpose: return elementwise::transpose<T>(in[0], out);
    case Op::row_sum: return elementwise::fold_rows<T>(add<T>, in[0], out);
    case Op::row_max: return elementwise::fold_rows<T>(maximum<T>, in[0], out);
    case Op::matmul: return linear_algebra::matmul<T>(what.flags, in[0], in[1], out, Into::overwrite);
    case Op::syrk: return linear_algebra::syrk<T>(in[0], out, Into::overwrite, scratch);
    case Op::matmul_add:
    case Op::matmul_subtract:
      start_from<T>(in[0], out);
      return linear_algebra::matmul<T>(what.flags, in[1], in[2], out,
                                       what.op == Op::matmul_add ? Into::add : Into::subtract);
    case Op::syrk_add:
    case Op::syrk_subtract:
      start_from<T>(in[0], out);
      return linear_algebra::syrk<T>(in[1], out, what.op == Op::syrk_add ? Into::add : Into::subtract,
                                     scratch);
    case Op::divide:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::solve_triangular:
    case Op::cholesky: return apply_floating<T>(what, in, out);
  }
}

void dispatch(const TileOperator& what, std::span<const ConstTile> in, Tile out, Scratch& scratch) {
  switch (what.dtype) {
    case DType::boolean: return apply_typed<Boolean>(what, in, out, scratch);
    case DType::int32: return apply_typed<std::int32_t>(what, in, out, scratch);
    case DType::int64: return apply_typed<std::int64_t>(what, in, out, scratch);
    case DType::float32: return apply_typed<float>(what, in, out, scratch);
    case DType::float64: return apply_typed<double>(what, in, out, scratch);
    case DType::complex64: return apply_typed<std::complex<float>>(what, in, out, scratch);
    case DType::complex128: return apply_typed<std::complex<double>>(what, in, out, scratch);
  }
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
  const std::size_t element = operators::size_bytes(what.dtype);
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
    const bool started_from = in[i].shape == destination.shape &&
                              (what.op == Op::solve_triangular ? i == 1 : i == 0 && what.op != Op::transpose);
    if (started_from || (is_elementwise(what.op) && in[i].shape == destination.shape)) continue;
    const std::size_t size = tile_bytes(in[i].shape, element);
    in[i].data = std::memcpy(scratch.bytes(i, size), operands[i].data, size);
  }
  dispatch(what, std::span(in.data(), operands.size()), destination, scratch);
}

}  // namespace cyclotron::runtime
