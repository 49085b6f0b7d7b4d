// The ranges of a machine's numbers.
#pragma once
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::machine {

/// Far beyond any hardware, and small enough that sums of a few never overflow.
inline constexpr std::int64_t range_limit = std::int64_t{1} << 40;

/// Throws ShapeError CYC401 where a number is outside its range.
inline void require_range(std::string_view field, std::int64_t value, std::int64_t least,
                          std::int64_t most = range_limit) {
  if (value >= least && value <= most) return;
  throw ShapeError({.code = "CYC401",
                    .span = {},
                    .message = fmt::format("machine `{}` is {}, outside {} .. {}", field, value, least, most),
                    .notes = {},
                    .help = fmt::format("give `{}` a value of at least {}", field, least)});
}

}  // namespace cyclotron::machine
