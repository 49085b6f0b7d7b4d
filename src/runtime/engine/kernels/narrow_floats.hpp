// Real numbers of 8 and 16 bits: computed with in single precision and rounded.
#pragma once
#include <bit>
#include <cfenv>
#include <cstdint>
#include <type_traits>

namespace cyclotron::runtime {

/// Meanings of the largest exponent of a narrow type.
enum class Specials : std::uint8_t {
  numpy,  ///< Infinities and NaNs as in IEEE 754, and overflow is told, as of NumPy's own float16.
  ieee,   ///< Infinities and NaNs as in IEEE 754.
  nan,  ///< Numbers too, but for one NaN, which is also what is too large (`fn` of the OCP's 8-bit formats).
};

/// A real number with so many bits of exponent and of fraction, of which compilers that we build with know no type. It
/// becomes a float in arithmetic, and a result is rounded once it is kept: for one operation that is the nearest number,
/// since float has twice its digits.
template <int exponent_bits, int fraction_bits, Specials specials>
class NarrowFloat {
 public:
  using Bits = std::conditional_t<exponent_bits + fraction_bits + 1 <= 8, std::uint8_t, std::uint16_t>;

  NarrowFloat() = default;
  template <class Number>
    requires std::is_arithmetic_v<Number>
  constexpr NarrowFloat(Number number) : bits_(rounded(static_cast<double>(number))) {}

  constexpr operator float() const {
    const std::uint32_t sign = (bits_ & sign_bit) != 0 ? 0x80000000U : 0;
    const std::uint32_t size = bits_ & (sign_bit - 1U);
    const std::uint32_t exponent = size >> unsigned{fraction_bits};
    const std::uint32_t fraction = size & ((1U << unsigned{fraction_bits}) - 1U);
    if (exponent == 0) {
      const float number = static_cast<float>(fraction) * least();
      return sign != 0 ? -number : number;
    }
    const bool special = specials == Specials::nan ? size == infinity_bits : exponent == all_ones;
    const std::uint32_t wide = special ? 0xffU : exponent + 127 - bias;
    return std::bit_cast<float>(sign | (wide << 23U) | (fraction << unsigned{23 - fraction_bits}));
  }

 private:
  static constexpr std::uint32_t sign_bit = 1U << unsigned{exponent_bits + fraction_bits};
  static constexpr std::uint32_t all_ones = (1U << unsigned{exponent_bits}) - 1U;
  static constexpr std::uint32_t bias = all_ones >> 1U;
  /// The first bits that are no number: infinity, or the only NaN.
  static constexpr std::uint32_t infinity_bits =
      specials == Specials::nan ? sign_bit - 1U : all_ones << unsigned{fraction_bits};
  static constexpr int least_exponent = 1 - static_cast<int>(bias);

  /// The least number above 0.
  static constexpr float least() {
    constexpr int exponent = least_exponent - fraction_bits;
    if constexpr (exponent >= -126) {
      return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23U);
    } else {
      return std::bit_cast<float>(1U << static_cast<unsigned>(exponent + 149));
    }
  }

  /// The nearest, of two the even one; from double, so that nothing is rounded twice.
  static constexpr Bits rounded(double number) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    const std::uint32_t sign = (bits >> 63U) != 0 ? sign_bit : 0;
    const int exponent = static_cast<int>((bits >> 52U) & 0x7ffU) - 1023;
    const std::uint64_t fraction = bits & 0xfffffffffffffU;
    const auto with_sign = [&](std::uint64_t size) { return static_cast<Bits>(sign | size); };
    constexpr unsigned surplus = 52 - fraction_bits;
    if (exponent == 1024 && fraction != 0)
      return with_sign(infinity_bits | (1U << unsigned{fraction_bits - 1}) | (fraction >> surplus));
    const auto too_large = [&] {
      if (specials == Specials::numpy && !std::is_constant_evaluated() && exponent != 1024)
        std::feraiseexcept(FE_OVERFLOW);
      return with_sign(infinity_bits);
    };
    if (exponent > static_cast<int>(bias) + 1) return too_large();
    if (exponent < least_exponent - fraction_bits - 1) return with_sign(0);
    const bool normal = exponent >= least_exponent;
    const unsigned dropped = surplus + (normal ? 0U : static_cast<unsigned>(least_exponent - exponent));
    const std::uint64_t number_of_ulps = (fraction | 0x10000000000000U) >> dropped;
    const std::uint64_t rest = (fraction | 0x10000000000000U) & ((std::uint64_t{1} << dropped) - 1);
    const std::uint64_t middle = std::uint64_t{1} << (dropped - 1);
    const bool up = rest > middle || (rest == middle && (number_of_ulps & 1U) != 0);
    // Rounding up to the next power of two carries into the exponent, and so does rounding to infinity.
    const std::uint64_t before =
        normal ? static_cast<std::uint64_t>(exponent - least_exponent) << unsigned{fraction_bits} : 0;
    const std::uint64_t size = before + number_of_ulps + (up ? 1 : 0);
    return size < infinity_bits ? with_sign(size) : too_large();
  }

  Bits bits_ = 0;
};

using Float16 = NarrowFloat<5, 10, Specials::numpy>;
using Bfloat16 = NarrowFloat<8, 7, Specials::ieee>;
using Float8E4m3 = NarrowFloat<4, 3, Specials::ieee>;
using Float8E4m3fn = NarrowFloat<4, 3, Specials::nan>;
using Float8E5m2 = NarrowFloat<5, 2, Specials::ieee>;

template <class T>
inline constexpr bool is_narrow_float = false;
template <int exponent_bits, int fraction_bits, Specials specials>
inline constexpr bool is_narrow_float<NarrowFloat<exponent_bits, fraction_bits, specials>> = true;

}  // namespace cyclotron::runtime
