// Tiles joined to one, and sums over windows of them.
#pragma once
#include <algorithm>

#include "arithmetic.hpp"

namespace cyclotron::runtime::windows {

template <class T>
void join(Flags flags, const ConstTile& a, const ConstTile& b, Tile result) {
  const T *first = static_cast<const T*>(a.data), *second = static_cast<const T*>(b.data);
  T* out = static_cast<T*>(result.data);
  const bool beside = (flags & operators::right_side) != 0;
  // Tiles below each other are as two rows beside each other.
  const auto rows = beside ? a.shape.rows : 1;
  const auto length = a.shape.rows * a.shape.columns / rows, more = b.shape.rows * b.shape.columns / rows;
  for (std::int64_t r = 0; r < rows; ++r) {
    out = std::copy(first, first + length, out);
    out = std::copy(second, second + more, out);
    first += length;
    second += more;
  }
}

/// result[r, c] += weights[p, q] * of[r + p, c + q], over p, then q, where `of` has that.
template <class T>
void correlate_add(const ConstTile& of, const ConstTile& weights, Tile result) {
  T* out = static_cast<T*>(result.data);
  for (std::int64_t r = 0; r < result.shape.rows; ++r, out += result.shape.columns) {
    const T* weight = static_cast<const T*>(weights.data);
    for (std::int64_t p = 0; p < std::min(weights.shape.rows, of.shape.rows - r); ++p) {
      const T* in = static_cast<const T*>(of.data) + (r + p) * of.shape.columns;
      for (std::int64_t q = 0; q < weights.shape.columns; ++q, ++in, ++weight) {
        const auto count = std::min(result.shape.columns, of.shape.columns - q);
        for (std::int64_t c = 0; c < count; ++c)
          out[c] = arithmetic::add(out[c], arithmetic::multiply(*weight, in[c]));
      }
    }
  }
}

}  // namespace cyclotron::runtime::windows
