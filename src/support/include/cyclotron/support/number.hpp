// A constant of any dtype.
#pragma once
#include <cstdint>
#include <string>

namespace cyclotron {

/// A real or complex number in double precision, or any integer of 64 bits, with or without sign.
struct Number {
  static constexpr double limit = 9223372036854775808.0;  ///< 2^63.

  double real = 0;
  double imaginary = 0;
  /// The rest beside `real` of an integer that no double is.
  std::int64_t rest = 0;

  template <class Integer>
    requires(sizeof(Integer) == sizeof(std::int64_t))
  static constexpr Number of(Integer integer) {
    Number result{static_cast<double>(integer), 0, 0};
    // Modulo 2^64, as the double nearest to an integer may be the limit.
    result.rest = static_cast<std::int64_t>(static_cast<std::uint64_t>(integer) -
                                            static_cast<std::uint64_t>(result.integer()));
    return result;
  }
  /// The bits of the integer that it is, of those that have 64; `real` has to be one of them or a limit.
  [[nodiscard]] constexpr std::int64_t integer() const {
    const auto whole = real >= 2 * limit ? 0
                       : real >= limit   ? static_cast<std::uint64_t>(real)
                                         : static_cast<std::uint64_t>(static_cast<std::int64_t>(real));
    return static_cast<std::int64_t>(whole + static_cast<std::uint64_t>(rest));
  }
  [[nodiscard]] std::string integer_text() const {
    return real >= limit ? std::to_string(static_cast<std::uint64_t>(integer())) : std::to_string(integer());
  }
  /// Not a number is equal to itself, so that what holds it is.
  constexpr bool operator==(const Number& other) const {
    const auto same = [](double a, double b) { return a == b || (a != a && b != b); };
    return same(real, other.real) && same(imaginary, other.imaginary) && rest == other.rest;
  }
};

}  // namespace cyclotron
