// Integer division that rounds as bounds of loops do.
#pragma once
#include <cstdint>

namespace cyclotron {

/// floor(a / b), ceil(a / b) and a - b * floor(a / b) for b > 0.
[[nodiscard]] constexpr std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  return a / b - (a % b < 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t ceil_divide(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t floor_modulo(std::int64_t a, std::int64_t b) {
  return a % b + (a % b < 0 ? b : 0);
}

}  // namespace cyclotron
