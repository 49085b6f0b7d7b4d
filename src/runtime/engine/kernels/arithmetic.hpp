// Scalar arithmetic with NumPy's meaning, written once for all dtypes.
#pragma once
#include <cfenv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <type_traits>

#include "kernels.hpp"
#include "types.hpp"

namespace cyclotron::runtime::arithmetic {

template <class T>
inline constexpr bool is_complex = false;
template <class T>
inline constexpr bool is_complex<std::complex<T>> = true;
template <class T>
inline constexpr bool is_boolean = std::is_same_v<T, Boolean>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T>;
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T> || is_narrow_float<T>;
/// Tells whether tiles of it are solved and factorized.
template <class T>
inline constexpr bool has_solvers = std::is_floating_point_v<T> || is_complex<T>;
/// The type that products of tiles and sums along their rows are kept in: of half precision in single precision, as in NumPy.
template <class T>
using Sum = std::conditional_t<std::is_same_v<T, Float16>, float, T>;
/// The type in which integers wrap: without sign, and not narrower than that to which C++ promotes.
template <class T>
using Wrapping = std::common_type_t<std::make_unsigned_t<T>, unsigned>;

template <class T>
[[nodiscard]] bool is_nan(T x) {
  if constexpr (is_complex<T>) {
    return std::isnan(x.real()) || std::isnan(x.imag());
  } else if constexpr (is_real<T>) {
    return std::isnan(x);
  } else {
    return false;
  }
}

/// Integers wrap: computed without sign, so that overflow is defined.
template <class T>
[[nodiscard]] T add(T a, T b) {
  if constexpr (is_boolean<T>) {
    return (a | b) != 0;
  } else if constexpr (is_integer<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
  } else {
    return a + b;
  }
}

/// On bool, which NumPy refuses and `scalar_kernel` has not: exclusive or.
template <class T>
[[nodiscard]] T subtract(T a, T b) {
  if constexpr (is_boolean<T>) {
    return (a != 0) != (b != 0);
  } else if constexpr (is_integer<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(static_cast<U>(a) - static_cast<U>(b));
  } else {
    return a - b;
  }
}

/// Complex: the plain formula as in NumPy, not C's repaired one.
template <class T>
[[nodiscard]] T multiply(T a, T b) {
  if constexpr (is_boolean<T>) {
    return a != 0 && b != 0;
  } else if constexpr (is_integer<T>) {
    using U = Wrapping<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else if constexpr (is_complex<T>) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  } else {
    return a * b;
  }
}

/// Complex: Smith's algorithm in NumPy's order of operations.
template <class T>
[[nodiscard]] T divide(T a, T b) {
  if constexpr (is_complex<T>) {
    using R = typename T::value_type;
    const R re = std::abs(b.real());
    const R im = std::abs(b.imag());
    if (re >= im) {
      if (re == 0 && im == 0) return {a.real() / re, a.imag() / re};
      const R ratio = b.imag() / b.real();
      const R scale = R{1} / (b.real() + b.imag() * ratio);
      return {(a.real() + a.imag() * ratio) * scale, (a.imag() - a.real() * ratio) * scale};
    }
    const R ratio = b.real() / b.imag();
    const R scale = R{1} / (b.imag() + b.real() * ratio);
    return {(a.real() * ratio + a.imag()) * scale, (a.imag() * ratio - a.real()) * scale};
  } else {
    return a / b;
  }
}

/// NumPy's order: numbers, for complex lexicographic.
template <class T>
[[nodiscard]] bool at_least(T a, T b) {
  if constexpr (is_complex<T>) {
    return (a.real() > b.real() && !std::isnan(a.imag()) && !std::isnan(b.imag())) ||
           (a.real() == b.real() && a.imag() >= b.imag());
  } else {
    return a >= b;
  }
}

template <class T>
[[nodiscard]] T maximum(T a, T b) {
  return at_least(a, b) || is_nan(a) ? a : b;
}

template <class T>
[[nodiscard]] T minimum(T a, T b) {
  return at_least(b, a) || is_nan(a) ? a : b;
}

template <class T>
[[nodiscard]] T power_by_squaring(T base, std::uint64_t exponent) {
  T result{1};
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = multiply(result, base);
    base = multiply(base, base);
  }
  return result;
}

template <class T>
[[nodiscard]] T power(T a, T b) {
  if constexpr (is_boolean<T>) {
    return a != 0 || b == 0;
  } else if constexpr (is_integer<T>) {
    if constexpr (std::is_signed_v<T>) {
      if (b < 0) {
        throw KernelFailure{"CYC701", "an integer to a negative integer power is not an integer",
                            "use a float dtype"};
      }
    }
    return power_by_squaring(a, static_cast<std::uint64_t>(b));
  } else if constexpr (is_complex<T>) {
    const auto exponent = b.real();
    if (b.imag() == 0 && exponent == std::trunc(exponent) && std::abs(exponent) < 100) {
      const T positive = power_by_squaring(a, static_cast<std::uint64_t>(std::abs(exponent)));
      return exponent < 0 ? divide(T{1}, positive) : positive;
    }
    return std::pow(a, b);
  } else {
    return std::pow(a, b);
  }
}

template <class T>
[[nodiscard]] T negative(T a) {
  if constexpr (is_integer<T> || is_boolean<T>) {
    return subtract(T{0}, a);
  } else {
    return -a;
  }
}

/// Of a complex number real, of any other what it is.
template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
[[nodiscard]] Real<T> absolute(T a) {
  if constexpr (is_boolean<T>) {
    return a != 0;
  } else if constexpr (std::is_unsigned_v<T>) {
    return a;
  } else if constexpr (is_integer<T>) {
    return a < 0 ? negative(a) : a;
  } else if constexpr (is_complex<T>) {
    return std::hypot(a.real(), a.imag());
  } else {
    return std::abs(a);
  }
}

template <class T>
[[nodiscard]] Real<T> real_part(T a) {
  if constexpr (is_complex<T>) {
    return a.real();
  } else {
    return a;
  }
}

template <class T>
[[nodiscard]] Real<T> imaginary_part(T a) {
  if constexpr (is_complex<T>) {
    return a.imag();
  } else {
    return T{0};
  }
}

template <class T>
[[nodiscard]] bool is_finite(T a) {
  if constexpr (is_complex<T>) {
    return std::isfinite(a.real()) && std::isfinite(a.imag());
  } else if constexpr (is_real<T>) {
    return std::isfinite(a);
  } else {
    return true;
  }
}

/// NumPy's `<`: for complex lexicographic, and false with any NaN.
template <class T>
[[nodiscard]] bool less(T a, T b) {
  if constexpr (is_complex<T>) {
    return (a.real() < b.real() && !std::isnan(a.imag()) && !std::isnan(b.imag())) ||
           (a.real() == b.real() && a.imag() < b.imag());
  } else {
    return a < b;
  }
}

template <class T>
[[nodiscard]] T sign(T a) {
  if (is_nan(a)) return a;
  if constexpr (std::is_unsigned_v<T>) {
    return a != 0 ? T{1} : T{0};
  } else {
    return a > T{0} ? T{1} : a < T{0} ? T{-1} : T{0};
  }
}

/// An element of an axis of that size, counted from its end where negative.
template <class T>
[[nodiscard]] T normalize_index(T index, T size) {
  if (index >= 0 && index < size) return index;
  if (index < 0 && index >= negative(size)) return index + size;
  throw KernelFailure{"CYC701",
                      "the index " + std::to_string(index) + " is outside of an axis of " +
                          std::to_string(size) + " elements",
                      "indices are less than the size, and negative ones count from the end"};
}

template <class T>
struct Division {
  T quotient, remainder;
};

/// Tells whether there are as many bits; NumPy shifts by negative numbers as by very large ones.
template <class T>
[[nodiscard]] bool has_bits(T count) {
  return static_cast<std::make_unsigned_t<T>>(count) < std::numeric_limits<std::make_unsigned_t<T>>::digits;
}

template <class T>
[[nodiscard]] T left_shift(T a, T bits) {
  return has_bits(bits) ? static_cast<T>(static_cast<Wrapping<T>>(a) << bits) : T{0};
}

template <class T>
[[nodiscard]] T right_shift(T a, T bits) {
  if (has_bits(bits)) return static_cast<T>(a >> bits);
  return static_cast<T>(a < 0 ? -1 : 0);
}

/// Towards minus infinity; the remainder has the divisor's sign. NumPy's order of operations; integers by 0 are 0.
template <class T>
[[nodiscard]] Division<T> floor_division(T a, T b) {
  if constexpr (is_integer<T>) {
    if (b == 0) {
      std::feraiseexcept(FE_DIVBYZERO);
      return {0, 0};
    }
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return {negative(a), 0};  // the least integer has no opposite
    }
    const T quotient = static_cast<T>(a / b), remainder = static_cast<T>(a % b);
    if constexpr (std::is_signed_v<T>) {
      if (remainder != 0 && (remainder < 0) != (b < 0))
        return {static_cast<T>(quotient - 1), static_cast<T>(remainder + b)};
    }
    return {quotient, remainder};
  } else if constexpr (is_narrow_float<T>) {
    const auto [quotient, remainder] = floor_division<float>(a, b);
    return {quotient, remainder};
  } else {
    T remainder = std::fmod(a, b);
    if (b == 0) return {a / b, remainder};
    T quotient = (a - remainder) / b;
    if (remainder != 0) {
      if ((b < 0) != (remainder < 0)) {
        remainder += b;
        quotient -= 1;
      }
    } else {
      remainder = std::copysign(T{0}, b);
    }
    if (quotient == 0) return {std::copysign(T{0}, a / b), remainder};
    const T down = std::floor(quotient);
    return {quotient - down > T{0.5} ? down + 1 : down, remainder};
  }
}

/// A real number as an integer of 32 or 64 bits, towards zero; what that cannot hold becomes the least one.
template <class To, class From>
[[nodiscard]] To truncated(From a) {
  constexpr From limit = -static_cast<From>(std::numeric_limits<To>::min());
  return a >= -limit && a < limit ? static_cast<To>(a) : std::numeric_limits<To>::min();
}

/// NumPy's conversions. Of what an integer cannot hold, for which NumPy promises nothing: of 32 and 64 bits with sign it is
/// the least one; the others keep the lowest bits of a wider one, as C's compilers have it on x86.
template <class To, class From>
[[nodiscard]] To convert(From a) {
  if constexpr (is_complex<To>) {
    using R = typename To::value_type;
    if constexpr (is_complex<From>) {
      return {static_cast<R>(a.real()), static_cast<R>(a.imag())};
    } else {
      return {static_cast<R>(a), R{0}};
    }
  } else if constexpr (is_boolean<To>) {
    return a != From{0};
  } else if constexpr (is_boolean<From>) {
    return convert<To>(std::uint8_t{a});
  } else if constexpr (is_narrow_float<From> && !std::is_same_v<To, From>) {
    return convert<To>(static_cast<float>(a));
  } else if constexpr (is_integer<To> && is_real<From>) {
    if constexpr (std::is_same_v<To, std::int32_t> || std::is_same_v<To, std::int64_t>) {
      return truncated<To>(a);
    } else if constexpr (sizeof(To) < sizeof(std::int32_t)) {
      return static_cast<To>(truncated<std::int32_t>(a));
    } else if constexpr (sizeof(To) < sizeof(std::int64_t)) {
      return static_cast<To>(truncated<std::int64_t>(a));
    } else {
      constexpr From half = 0x1p63;
      return a >= half && a < 2 * half ? static_cast<To>(a) : static_cast<To>(truncated<std::int64_t>(a));
    }
  } else {
    return static_cast<To>(a);
  }
}

[[noreturn]] inline void not_definite(std::int64_t pivot, bool finite) {
  throw KernelFailure{"CYC701",
                      "the matrix is not positive definite: its pivot " + std::to_string(pivot) + " is not " +
                          (finite ? "positive" : "finite"),
                      "Cholesky needs a symmetric positive definite matrix"};
}

/// The factor of a 1x1 matrix.
template <class T>
[[nodiscard]] T cholesky(T a) {
  const auto pivot = std::real(a);
  if (pivot <= 0 || !std::isfinite(pivot)) not_definite(1, std::isfinite(pivot));
  return T(std::sqrt(pivot));
}

[[noreturn]] inline void zero_pivot(std::int64_t number) {
  throw KernelFailure{
      "CYC701", "the factorization has a zero pivot: pivot " + std::to_string(number) + " is 0",
      "lu and ldl do not exchange rows; the matrix is singular, or its rows need another order"};
}

/// The LU factor of a 1x1 matrix.
template <class T>
[[nodiscard]] T pivot(T a) {
  if (a == T{0}) zero_pivot(1);
  return a;
}

/// The LDL factor of a 1x1 Hermitian matrix.
template <class T>
[[nodiscard]] T real_pivot(T a) {
  return pivot(T(real_part(a)));
}

[[noreturn]] inline void singular(std::int64_t row) {
  throw KernelFailure{"CYC701",
                      "the triangular matrix is singular: diagonal element " + std::to_string(row) + " is 0",
                      "solve_triangular divides by the diagonal"};
}

}  // namespace cyclotron::runtime::arithmetic
