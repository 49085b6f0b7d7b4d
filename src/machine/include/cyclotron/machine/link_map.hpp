// Links as a map from sender to receiver: TL's `interconnects` (TL-038).
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cyclotron::machine {

/// A part of a quasi-affine expression over a PE's coordinates; operands come before it.
struct Term {
  enum class Kind : std::uint8_t { constant, coordinate, sum, difference, product, remainder, quotient };
  Kind kind = Kind::constant;
  std::int64_t value = 0;  ///< The constant, or the number of the dimension.
  std::size_t left = 0, right = 0;
};

/// `left relation right`, for example `j + 1 < 8`.
struct Comparison {
  std::size_t left = 0, right = 0;
  std::string relation;
};

/// `(i, j) -> (i, (j + 1) % 8) if i < 4`, taken apart.
struct LinkFunction {
  std::vector<std::string> names;  ///< Of the sender's coordinates.
  std::vector<Term> terms;
  std::vector<std::size_t> receiver;  ///< The term of each coordinate.
  std::vector<Comparison> where;      ///< All hold where there is a link; empty: everywhere.

  /// The receiver of the PE at these coordinates; none where the link is not, or a number overflows.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> operator()(
      std::span<const std::int64_t> sender) const;
  /// A term in isl's notation, over other names of the coordinates.
  [[nodiscard]] std::string isl_text(std::size_t term, const std::vector<std::string>& coordinates) const;
};

/// Expressions have integers, coordinates, `+ - *` (one factor an integer) and `//` and `%` by a positive integer;
/// comparisons are joined by `and`. Throws ShapeError CYC402 for other text.
[[nodiscard]] LinkFunction parse_link_map(std::string_view text);

}  // namespace cyclotron::machine
