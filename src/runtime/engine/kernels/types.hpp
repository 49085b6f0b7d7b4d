// The C++ types of elements: one entry a dtype, by which kernels, constants and indices are made.
#pragma once
#include <complex>
#include <cstdint>
#include <type_traits>

#include <cyclotron/operators/operators.hpp>

#include "narrow_floats.hpp"

namespace cyclotron::runtime {

/// NumPy's bool: one byte that counts as true where it is not zero. A type of its own beside that of uint8.
class Boolean {
 public:
  Boolean() = default;
  template <class Number>
    requires std::is_integral_v<Number>
  constexpr Boolean(Number number) : byte_(static_cast<std::uint8_t>(number)) {}

  constexpr operator std::uint8_t() const { return byte_; }

 private:
  std::uint8_t byte_ = 0;
};

/// Returns `use.operator()<T>()` for the type T of a dtype's elements.
template <class Use>
decltype(auto) with_type(operators::DType dtype, Use&& use) {
  using operators::DType;
  switch (dtype) {
    case DType::boolean: return use.template operator()<Boolean>();
    case DType::int8: return use.template operator()<std::int8_t>();
    case DType::int16: return use.template operator()<std::int16_t>();
    case DType::int32: return use.template operator()<std::int32_t>();
    case DType::int64: return use.template operator()<std::int64_t>();
    case DType::uint8: return use.template operator()<std::uint8_t>();
    case DType::uint16: return use.template operator()<std::uint16_t>();
    case DType::uint32: return use.template operator()<std::uint32_t>();
    case DType::uint64: return use.template operator()<std::uint64_t>();
    case DType::float8_e4m3: return use.template operator()<Float8E4m3>();
    case DType::float8_e4m3fn: return use.template operator()<Float8E4m3fn>();
    case DType::float8_e5m2: return use.template operator()<Float8E5m2>();
    case DType::bfloat16: return use.template operator()<Bfloat16>();
    case DType::float16: return use.template operator()<Float16>();
    case DType::float32: return use.template operator()<float>();
    case DType::float64: return use.template operator()<double>();
    case DType::complex64: return use.template operator()<std::complex<float>>();
    case DType::complex128: break;
  }
  return use.template operator()<std::complex<double>>();
}

}  // namespace cyclotron::runtime
