// The elementwise operators: one line a function.
#pragma once
#include <type_traits>
#include <utility>

#include "arithmetic.hpp"

namespace cyclotron::runtime::functions {

using namespace arithmetic;

template <class T, class Use>
auto visit_comparison(Op op, Use use) {
  switch (op) {
    case Op::equal: return use([](T a, T b) -> Boolean { return a == b; });
    case Op::not_equal: return use([](T a, T b) -> Boolean { return a != b; });
    case Op::less: return use([](T a, T b) -> Boolean { return less(a, b); });
    case Op::less_equal: return use([](T a, T b) -> Boolean { return at_least(b, a); });
    case Op::greater: return use([](T a, T b) -> Boolean { return less(b, a); });
    case Op::greater_equal: return use([](T a, T b) -> Boolean { return at_least(a, b); });
    case Op::is_nan: return use([](T a) -> Boolean { return is_nan(a); });
    case Op::is_finite: return use([](T a) -> Boolean { return is_finite(a); });
    case Op::logical_and: return use([](T a, T b) -> Boolean { return a != T{0} && b != T{0}; });
    case Op::logical_or: return use([](T a, T b) -> Boolean { return a != T{0} || b != T{0}; });
    case Op::logical_xor: return use([](T a, T b) -> Boolean { return (a != T{0}) != (b != T{0}); });
    case Op::logical_not: return use([](T a) -> Boolean { return a == T{0}; });
    default: return use(nullptr);
  }
}

template <class T, class Use>
auto visit_cast(Op op, Use use) {
  switch (op) {
    case Op::to_complex64: return use([](T a) { return convert<std::complex<float>>(a); });
    case Op::to_complex128: return use([](T a) { return convert<std::complex<double>>(a); });
    case Op::to_bool: return use([](T a) { return convert<Boolean>(a); });
    default: break;
  }
  if constexpr (!is_complex<T>) {
    switch (op) {
      case Op::to_int8: return use([](T a) { return convert<std::int8_t>(a); });
      case Op::to_int16: return use([](T a) { return convert<std::int16_t>(a); });
      case Op::to_int32: return use([](T a) { return convert<std::int32_t>(a); });
      case Op::to_int64: return use([](T a) { return convert<std::int64_t>(a); });
      case Op::to_uint8: return use([](T a) { return convert<std::uint8_t>(a); });
      case Op::to_uint16: return use([](T a) { return convert<std::uint16_t>(a); });
      case Op::to_uint32: return use([](T a) { return convert<std::uint32_t>(a); });
      case Op::to_uint64: return use([](T a) { return convert<std::uint64_t>(a); });
      case Op::to_float8_e4m3: return use([](T a) { return convert<Float8E4m3>(a); });
      case Op::to_float8_e4m3fn: return use([](T a) { return convert<Float8E4m3fn>(a); });
      case Op::to_float8_e5m2: return use([](T a) { return convert<Float8E5m2>(a); });
      case Op::to_bfloat16: return use([](T a) { return convert<Bfloat16>(a); });
      case Op::to_float16: return use([](T a) { return convert<Float16>(a); });
      case Op::to_float32: return use([](T a) { return convert<float>(a); });
      case Op::to_float64: return use([](T a) { return convert<double>(a); });
      default: break;
    }
  }
  return use(nullptr);
}

/// Of integers and booleans.
template <class T, class Use>
auto visit_bits(Op op, Use use) {
  if constexpr (is_integer<T>) {
    if (op == Op::left_shift) return use([](T a, T b) { return left_shift(a, b); });
    if (op == Op::right_shift) return use([](T a, T b) { return right_shift(a, b); });
  }
  switch (op) {
    case Op::bit_and: return use([](T a, T b) { return static_cast<T>(a & b); });
    case Op::bit_or: return use([](T a, T b) { return static_cast<T>(a | b); });
    case Op::bit_xor: return use([](T a, T b) { return static_cast<T>(a ^ b); });
    case Op::bit_not: return use([](T a) { return static_cast<T>(is_boolean<T> ? a == 0 : ~a); });
    default: return use(nullptr);
  }
}

/// Of real numbers, and of complex ones where they have it.
template <class T, class Use>
auto visit_floating(Op op, Use use) {
  switch (op) {
    case Op::divide: return use([](T a, T b) { return divide(a, b); });
    case Op::first_maximum: return use([](T a, T b) { return less(a, b) ? b : a; });
    case Op::first_minimum: return use([](T a, T b) { return less(b, a) ? b : a; });
    case Op::sqrt: return use([](T a) -> T { return std::sqrt(a); });
    case Op::exp: return use([](T a) -> T { return std::exp(a); });
    case Op::log: return use([](T a) -> T { return std::log(a); });
    case Op::sin: return use([](T a) -> T { return std::sin(a); });
    case Op::cos: return use([](T a) -> T { return std::cos(a); });
    case Op::sinh: return use([](T a) -> T { return std::sinh(a); });
    case Op::cosh: return use([](T a) -> T { return std::cosh(a); });
    case Op::tanh: return use([](T a) -> T { return std::tanh(a); });
    default: break;
  }
  if constexpr (is_real<T>) {
    switch (op) {
      case Op::floor: return use([](T a) -> T { return std::floor(a); });
      case Op::ceil: return use([](T a) -> T { return std::ceil(a); });
      case Op::log1p: return use([](T a) -> T { return std::log1p(a); });
      case Op::expm1: return use([](T a) -> T { return std::expm1(a); });
      case Op::cbrt: return use([](T a) -> T { return std::cbrt(a); });
      case Op::arctan: return use([](T a) -> T { return std::atan(a); });
      case Op::arctan2: return use([](T a, T b) -> T { return std::atan2(a, b); });
      case Op::hypot: return use([](T a, T b) -> T { return std::hypot(a, b); });
      default: break;
    }
  }
  return use(nullptr);
}

/// Of numbers, that is not of bool; NumPy's minus has no meaning there.
template <class T, class Use>
auto visit_numbers(Op op, Use use) {
  switch (op) {
    case Op::subtract: return use([](T a, T b) { return subtract(a, b); });
    case Op::power: return use([](T a, T b) { return power(a, b); });
    case Op::negative: return use([](T a) { return negative(a); });
    case Op::multiply_subtract: return use([](T c, T a, T b) { return subtract(c, multiply(a, b)); });
    case Op::conj:
      if constexpr (is_complex<T>) return use([](T a) { return std::conj(a); });
      return use([](T a) { return a; });
    default: break;
  }
  if constexpr (!is_complex<T>) {
    switch (op) {
      case Op::floor_divide: return use([](T a, T b) { return floor_division(a, b).quotient; });
      case Op::remainder: return use([](T a, T b) { return floor_division(a, b).remainder; });
      case Op::sign: return use([](T a) { return sign(a); });
      default: break;
    }
  }
  if constexpr (is_integer<T> && std::is_signed_v<T>) {
    if (op == Op::normalize_index) return use([](T a, T b) { return normalize_index(a, b); });
  }
  return use(nullptr);
}

/// Returns `use(f)` for the function of an elementwise operator that works on T, a lambda without state whose
/// parameters and result tell its dtypes; `use(nullptr)` where the dtype has none.
template <class T, class Use>
auto visit(Op op, Use use) {
  switch (op) {
    case Op::add: return use([](T a, T b) { return add(a, b); });
    case Op::multiply: return use([](T a, T b) { return multiply(a, b); });
    case Op::maximum: return use([](T a, T b) { return maximum(a, b); });
    case Op::minimum: return use([](T a, T b) { return minimum(a, b); });
    case Op::absolute: return use([](T a) { return absolute(a); });
    case Op::real: return use([](T a) { return real_part(a); });
    case Op::imag: return use([](T a) { return imaginary_part(a); });
    case Op::copy: return use([](T a) { return a; });
    case Op::multiply_add: return use([](T c, T a, T b) { return add(c, multiply(a, b)); });
    case Op::where: return use([](Boolean c, T a, T b) { return c != 0 ? a : b; });
    default: break;
  }
  const auto typing = operators::info(op).typing;
  if (typing == operators::Typing::truth) return visit_comparison<T>(op, use);
  if (typing == operators::Typing::cast) return visit_cast<T>(op, use);
  const auto kinds = operators::info(op).kinds;
  if (kinds == "biu" || kinds == "iu") {
    if constexpr (is_boolean<T> || is_integer<T>) return visit_bits<T>(op, use);
  }
  if (kinds.find('i') == std::string_view::npos) {
    if constexpr (is_real<T> || is_complex<T>) return visit_floating<T>(op, use);
  }
  if constexpr (!is_boolean<T>) return visit_numbers<T>(op, use);
  return use(nullptr);
}

}  // namespace cyclotron::runtime::functions
