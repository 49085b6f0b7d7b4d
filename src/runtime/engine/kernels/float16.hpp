// NumPy's float16: numbers of 11 bits, computed with in single precision and rounded.
#pragma once
#include <bit>
#include <cfenv>
#include <cstdint>
#include <type_traits>

namespace cyclotron::runtime {

/// IEEE 754 binary16, of which compilers that we build with know no type. It becomes a float in arithmetic, and a
/// result is rounded once it is kept: for one operation that is the nearest number, since float has twice its digits.
class Float16 {
 public:
  Float16() = default;
  template <class Number>
    requires std::is_arithmetic_v<Number>
  constexpr Float16(Number number) : bits_(rounded(static_cast<double>(number))) {}

  constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t(bits_ & 0x8000U) << 16U;
    const std::uint32_t exponent = (bits_ >> 10U) & 0x1fU;
    const std::uint32_t fraction = bits_ & 0x3ffU;
    if (exponent == 0) {
      const float size = static_cast<float>(fraction) * 0x1p-24F;
      return sign != 0 ? -size : size;
    }
    const std::uint32_t wide = exponent == 0x1f ? 0xffU : exponent + (127 - 15);
    return std::bit_cast<float>(sign | (wide << 23U) | (fraction << 13U));
  }

 private:
  /// The nearest, of two the even one; from double, so that nothing is rounded twice.
  static constexpr std::uint16_t rounded(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const auto sign = static_cast<std::uint16_t>((bits >> 48U) & 0x8000U);
    const int exponent = static_cast<int>((bits >> 52U) & 0x7ffU) - 1023;
    const std::uint64_t fraction = bits & 0xfffffffffffffU;
    const auto with_sign = [&](std::uint64_t size) { return static_cast<std::uint16_t>(sign | size); };
    if (exponent == 1024 && fraction != 0) return with_sign(0x7e00U | (fraction >> 42U));
    const auto infinity = [&] {
      if (!std::is_constant_evaluated() && exponent != 1024) std::feraiseexcept(FE_OVERFLOW);
      return with_sign(0x7c00U);
    };
    if (exponent > 15) return infinity();
    if (exponent < -25) return sign;
    const bool normal = exponent >= -14;
    const int dropped = normal ? 42 : 42 - 14 - exponent;
    const std::uint64_t number_of_ulps = (fraction | 0x10000000000000U) >> dropped;
    const std::uint64_t rest = (fraction | 0x10000000000000U) & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t middle = std::uint64_t{1} << (dropped - 1);
    const bool up = rest > middle || (rest == middle && (number_of_ulps & 1U) != 0);
    // Rounding up to the next power of two carries into the exponent, and so does rounding to infinity.
    const std::uint64_t before = normal ? static_cast<std::uint64_t>(exponent + 14) << 10U : 0;
    const std::uint64_t size = before + number_of_ulps + (up ? 1 : 0);
    return size < 0x7c00U ? with_sign(size) : infinity();
  }

  std::uint16_t bits_ = 0;
};

}  // namespace cyclotron::runtime
