// Elementwise operators and reductions along a row, on tiles.
#pragma once
#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "arithmetic.hpp"

namespace cyclotron::runtime::elementwise {

/// One operand as seen from the result: step 0 in a dimension of size 1.
template <class T>
struct Broadcast {
  const T* data;
  std::int64_t row_step;
  std::int64_t column_step;

  explicit Broadcast(const ConstTile& tile)
      : data(static_cast<const T*>(tile.data)),
        row_step(tile.shape.rows == 1 ? 0 : tile.shape.columns),
        column_step(tile.shape.columns == 1 ? 0 : 1) {}
  [[nodiscard]] const T& at(std::int64_t row, std::int64_t column) const {
    return data[row * row_step + column * column_step];
  }
};

/// result[r, c] = f(operands[r, c]...), each operand broadcast to the result.
template <class F, class R, class... T, std::size_t... I>
void map(F f, std::span<const ConstTile> operands, Tile result, R (F::*)(T...) const,
         std::index_sequence<I...>) {
  R* out = static_cast<R*>(result.data);
  if (((operands[I].shape == result.shape) && ...)) {
    const std::tuple<const T*...> in{static_cast<const T*>(operands[I].data)...};
    const std::int64_t count = result.shape.rows * result.shape.columns;
    for (std::int64_t n = 0; n < count; ++n) out[n] = f(std::get<I>(in)[n]...);
    return;
  }
  const std::tuple<Broadcast<T>...> in{Broadcast<T>(operands[I])...};
  for (std::int64_t r = 0; r < result.shape.rows; ++r) {
    for (std::int64_t c = 0; c < result.shape.columns; ++c) *out++ = f(std::get<I>(in).at(r, c)...);
  }
}

template <class F>
void map(F f, std::span<const ConstTile> operands, Tile result) {
  const auto all = [&]<class R, class... T>(R (F::*call)(T...) const) {
    map(f, operands, result, call, std::index_sequence_for<T...>{});
  };
  all(&F::operator());
}

/// result[r, 0] = operand[r, 0] f operand[r, 1] f ..., from the left, rounded to T at the end.
template <class T, class Value, class F>
void fold_rows(F f, const ConstTile& operand, Tile result) {
  const T* in = static_cast<const T*>(operand.data);
  T* out = static_cast<T*>(result.data);
  for (std::int64_t r = 0; r < operand.shape.rows; ++r) {
    Value value = *in++;
    for (std::int64_t c = 1; c < operand.shape.columns; ++c) value = f(value, *in++);
    out[r] = value;
  }
}

/// result[0, c] = operand[0, c] f operand[1, c] f ..., from the top.
template <class T, class F>
void fold_columns(F f, const ConstTile& operand, Tile result) {
  const T* in = static_cast<const T*>(operand.data);
  T* out = static_cast<T*>(result.data);
  const std::int64_t columns = operand.shape.columns;
  std::copy(in, in + columns, out);
  for (std::int64_t r = 1; r < operand.shape.rows; ++r) {
    in += columns;
    for (std::int64_t c = 0; c < columns; ++c) out[c] = f(out[c], in[c]);
  }
}

template <class T>
void transpose(const ConstTile& operand, Tile result) {
  const T* in = static_cast<const T*>(operand.data);
  T* out = static_cast<T*>(result.data);
  for (std::int64_t r = 0; r < operand.shape.rows; ++r) {
    for (std::int64_t c = 0; c < operand.shape.columns; ++c) out[c * operand.shape.rows + r] = *in++;
  }
}

}  // namespace cyclotron::runtime::elementwise
