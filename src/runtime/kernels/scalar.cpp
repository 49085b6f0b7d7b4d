// Operators on 1x1 tiles: no shapes, no BLAS, no branches on dtype.
#include "arithmetic.hpp"

namespace cyclotron::runtime {
namespace {

using namespace arithmetic;

template <class T>
using Function1 = T (*)(T);
template <class T>
using Function2 = T (*)(T, T);

template <class T, Function1<T> f>
void unary(void* result, const void* const* operands) {
  *static_cast<T*>(result) = f(*static_cast<const T*>(operands[0]));
}

template <class T, Function2<T> f>
void binary(void* result, const void* const* operands) {
  *static_cast<T*>(result) = f(*static_cast<const T*>(operands[0]), *static_cast<const T*>(operands[1]));
}

/// acc f (a * b), rounded twice.
template <class T, Function2<T> f>
void accumulate(void* result, const void* const* operands) {
  const T product = multiply(*static_cast<const T*>(operands[1]), *static_cast<const T*>(operands[2]));
  *static_cast<T*>(result) = f(*static_cast<const T*>(operands[0]), product);
}

/// acc f (a * a).
template <class T, Function2<T> f>
void accumulate_square(void* result, const void* const* operands) {
  const T a = *static_cast<const T*>(operands[1]);
  *static_cast<T*>(result) = f(*static_cast<const T*>(operands[0]), multiply(a, a));
}

template <class T>
T identity(T a) {
  return a;
}
template <class T>
T square(T a) {
  return multiply(a, a);
}
template <class T>
T exponential(T a) {
  return std::exp(a);
}
template <class T>
T logarithm(T a) {
  return std::log(a);
}
template <class T>
T solve(T matrix, T rhs) {
  if (matrix == T{0}) singular(1);
  return divide(rhs, matrix);
}
template <class T>
T solve_unit(T, T rhs) {
  return rhs;
}

/// The operators that only floating-point dtypes have.
template <class T>
ScalarKernel floating_kernel(Op op, Flags flags) {
  if constexpr (is_real<T> || is_complex<T>) {
    switch (op) {
      case Op::divide: return binary<T, divide<T>>;
      case Op::sqrt: return unary<T, square_root<T>>;
      case Op::exp: return unary<T, exponential<T>>;
      case Op::log: return unary<T, logarithm<T>>;
      case Op::solve_triangular:
        return (flags & operators::unit_diagonal) != 0 ? binary<T, solve_unit<T>> : binary<T, solve<T>>;
      case Op::cholesky: return unary<T, cholesky<T>>;
      default: break;
    }
  }
  return nullptr;
}

/// The operators that need a minus sign: NumPy has none on bool.
template <class T>
ScalarKernel signed_kernel(Op op) {
  if constexpr (!is_boolean<T>) {
    switch (op) {
      case Op::subtract: return binary<T, subtract<T>>;
      case Op::power: return binary<T, power<T>>;
      case Op::negative: return unary<T, negative<T>>;
      case Op::multiply_subtract:
      case Op::matmul_subtract: return accumulate<T, subtract<T>>;
      case Op::syrk_subtract: return accumulate_square<T, subtract<T>>;
      default: break;
    }
  }
  return nullptr;
}

template <class T>
ScalarKernel kernel(Op op, Flags flags) {
  switch (op) {
    case Op::add: return binary<T, add<T>>;
    case Op::multiply:
    case Op::matmul: return binary<T, multiply<T>>;
    case Op::maximum: return binary<T, maximum<T>>;
    case Op::minimum: return binary<T, minimum<T>>;
    case Op::absolute: return unary<T, absolute<T>>;
    case Op::transpose:
    case Op::row_sum:
    case Op::row_max: return unary<T, identity<T>>;
    case Op::syrk: return unary<T, square<T>>;
    case Op::multiply_add:
    case Op::matmul_add: return accumulate<T, add<T>>;
    case Op::syrk_add: return accumulate_square<T, add<T>>;
    case Op::subtract:
    case Op::power:
    case Op::negative:
    case Op::multiply_subtract:
    case Op::matmul_subtract:
    case Op::syrk_subtract: return signed_kernel<T>(op);
    case Op::divide:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::solve_triangular:
    case Op::cholesky: return floating_kernel<T>(op, flags);
  }
  return nullptr;
}

}  // namespace

ScalarKernel scalar_kernel(Op op, Flags flags, DType dtype) {
  switch (dtype) {
    case DType::boolean: return kernel<Boolean>(op, flags);
    case DType::int32: return kernel<std::int32_t>(op, flags);
    case DType::int64: return kernel<std::int64_t>(op, flags);
    case DType::float32: return kernel<float>(op, flags);
    case DType::float64: return kernel<double>(op, flags);
    case DType::complex64: return kernel<std::complex<float>>(op, flags);
    case DType::complex128: return kernel<std::complex<double>>(op, flags);
  }
  return nullptr;
}

}  // namespace cyclotron::runtime
