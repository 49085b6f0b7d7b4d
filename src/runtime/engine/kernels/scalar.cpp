// Operators on 1x1 tiles: no shapes, no BLAS, no branches on dtype.
#include <type_traits>
#include <utility>

#include "functions.hpp"

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
T one(T) {
  return T{1};
}
template <class T>
T square(T a) {
  return multiply(a, a);
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
template <class T>
T inverse(T matrix) {
  return solve(matrix, T{1});
}

/// The operators that divide: only floating-point dtypes have them.
template <class T>
ScalarKernel solver(Op op, Flags flags) {
  const bool unit = (flags & operators::unit_diagonal) != 0;
  switch (op) {
    case Op::solve_triangular: return unit ? binary<T, solve_unit<T>> : binary<T, solve<T>>;
    case Op::inv_triangular: return unit ? unary<T, one<T>> : unary<T, inverse<T>>;
    case Op::cholesky: return unary<T, cholesky<T>>;
    case Op::lu: return unary<T, pivot<T>>;
    case Op::ldl: return unary<T, real_pivot<T>>;
    default: return nullptr;
  }
}

/// The divisor of numbers of Python, which is not 0.
template <class T>
T divisor(T b) {
  if (b != T{0}) return b;
  throw KernelFailure{"CYC701", "a number is divided by zero",
                      "numbers of Python have no infinity here: check the divisor, or divide data"};
}
template <class T>
T checked_quotient(T a, T b) {
  return divide(a, divisor(b));
}
template <class T>
T checked_floor_quotient(T a, T b) {
  return floor_division(a, divisor(b)).quotient;
}
template <class T>
T checked_remainder(T a, T b) {
  return floor_division(a, divisor(b)).remainder;
}
template <class T>
T checked_root(T a) {
  if (!(a < 0)) return std::sqrt(a);
  throw KernelFailure{"CYC701", "sqrt of a negative number", "use a complex dtype, or check the data"};
}
template <class T>
T checked_logarithm(T a) {
  if (!(a <= 0)) return std::log(a);
  throw KernelFailure{"CYC701", "log of a number that is not positive", "use cy.log, or check the data"};
}
template <class T>
T first_place(T place, T size) {
  if (place >= 0) return normalize_index(place, size);
  throw KernelFailure{"CYC701", "a loop over a range that data tell begins at " + std::to_string(place),
                      "it runs over the elements of an axis from 0 on; count from 0 to the length, and take "
                      "`x[start + k]`"};
}

/// Operators that have no result where Python has none; null for all others.
template <class T>
ScalarKernel checked(Op op) {
  if constexpr (is_real<T> || is_complex<T>) {
    if (op == Op::divide) return binary<T, checked_quotient<T>>;
  }
  if constexpr (is_real<T>) {
    if (op == Op::sqrt) return unary<T, checked_root<T>>;
    if (op == Op::log) return unary<T, checked_logarithm<T>>;
  }
  if constexpr (is_real<T> || is_integer<T>) {
    if (op == Op::floor_divide) return binary<T, checked_floor_quotient<T>>;
    if (op == Op::remainder) return binary<T, checked_remainder<T>>;
  }
  if constexpr (is_integer<T> && std::is_signed_v<T>) {
    if (op == Op::normalize_index) return binary<T, first_place<T>>;
  }
  return nullptr;
}

/// An elementwise function, from the types of its operands.
template <class F, class R, class... T, std::size_t... I>
ScalarKernel elementwise(R (F::*)(T...) const, std::index_sequence<I...>) {
  return [](void* result, const void* const* operands) {
    *static_cast<R*>(result) = F{}(*static_cast<const T*>(operands[I])...);
  };
}

template <class T>
ScalarKernel elementwise(Op op) {
  return functions::visit<T>(op, []<class F>(F) -> ScalarKernel {
    if constexpr (std::is_same_v<F, std::nullptr_t>) {
      return nullptr;
    } else {
      const auto make = []<class R, class... A>(R (F::*call)(A...) const) {
        return elementwise(call, std::index_sequence_for<A...>{});
      };
      return make(&F::operator());
    }
  });
}

template <class T>
ScalarKernel kernel(Op op, Flags flags) {
  switch (op) {
    case Op::matmul: return elementwise<T>(Op::multiply);
    case Op::matmul_add: return elementwise<T>(Op::multiply_add);
    case Op::matmul_subtract: return elementwise<T>(Op::multiply_subtract);
    case Op::transpose:
    case Op::row_sum:
    case Op::row_max:
    case Op::row_min:
    case Op::column_sum:
    case Op::column_max:
    case Op::column_min: return unary<T, identity<T>>;
    case Op::join: return unary<T, identity<T>>;  // never: its result is no scalar
    case Op::correlate_add:
      if constexpr (is_boolean<T>) return nullptr;
      return elementwise<T>(Op::multiply_add);
    case Op::syrk: return unary<T, square<T>>;
    case Op::syrk_add: return accumulate_square<T, add<T>>;
    case Op::syrk_subtract:
      if constexpr (is_boolean<T>) return nullptr;
      return accumulate_square<T, subtract<T>>;
    default: break;
  }
  if ((flags & operators::checked) != 0) {
    if (const auto found = checked<T>(op)) return found;
  }
  if (operators::is_elementwise(op)) return elementwise<T>(op);
  if constexpr (has_solvers<T>) return solver<T>(op, flags);
  return nullptr;
}

}  // namespace

ScalarKernel scalar_kernel(Op op, Flags flags, DType dtype) {
  return with_type(dtype, [&]<class T>() { return kernel<T>(op, flags); });
}

}  // namespace cyclotron::runtime
