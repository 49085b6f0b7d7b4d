// Tensors in memory outside the PEs: tiles of the caller's arrays, with any strides.
#pragma once
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "code.hpp"

namespace cyclotron::runtime {

/// Copies one scalar; the sizes of the dtypes without a call.
inline void copy_scalar(void* to, const void* from, std::size_t bytes) {
  switch (bytes) {
    case 8: std::memcpy(to, from, 8); return;
    case 4: std::memcpy(to, from, 4); return;
    case 2: std::memcpy(to, from, 2); return;
    case 16: std::memcpy(to, from, 16); return;
    default: std::memcpy(to, from, bytes); return;
  }
}

/// A tensor joined to the array that holds it. Two-dimensional tiles keep their rows and columns; a tile of
/// one dimension is a column; of more dimensions, all but the last are rows.
class TensorAccess {
 public:
  TensorAccess(const program::Tensor& tensor, const ArrayView& array);

  /// The array element of a tensor of scalars. Throws KernelFailure CYC703 outside the tensor.
  [[nodiscard]] std::byte* scalar(const std::int64_t* index) const {
    std::byte* at = data_;
    for (std::size_t d = 0; d < dimensions_.size(); ++d) {
      const auto i = static_cast<std::uint64_t>(index[d]);
      if (i >= static_cast<std::uint64_t>(dimensions_[d].extent)) outside(index);
      at += static_cast<std::ptrdiff_t>(index[d]) * dimensions_[d].tile_stride;
    }
    return at;
  }
  /// Size of the tile at `index`. Throws KernelFailure CYC703 outside the tensor.
  [[nodiscard]] TileSize size(const std::int64_t* index) const;
  /// Copies the tile at `index` (row-major, compact) out of and into the array.
  void read(const std::int64_t* index, std::byte* to) const;
  /// `given` is the tile's size, or 1x1: the scalar then fills the tile. Throws KernelFailure CYC704 where it is
  /// neither.
  void write(const std::int64_t* index, const std::byte* from, TileSize given) const;

  /// Tells whether there is such a tile.
  [[nodiscard]] bool contains(const std::int64_t* index) const;
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Of a tensor of scalars: elements along an axis, and bytes from one to the next.
  [[nodiscard]] std::int64_t extent(std::size_t axis) const { return dimensions_[axis].extent; }
  [[nodiscard]] std::int64_t stride(std::size_t axis) const { return dimensions_[axis].tile_stride; }
  /// The first byte that it has, and the end of them all.
  [[nodiscard]] std::pair<const std::byte*, const std::byte*> bytes() const;
  [[nodiscard]] std::size_t rank() const { return dimensions_.size(); }
  /// The tile's number in the tensor, row-major over its extents, for `written` masks.
  [[nodiscard]] std::size_t linear(const std::int64_t* index) const;
  [[nodiscard]] std::size_t tiles() const;
  /// The index of a tile number.
  void unravel(std::size_t linear, std::int64_t* index) const;

 private:
  struct Dimension {
    std::int64_t extent;       ///< In tiles.
    std::int64_t shape;        ///< In scalars.
    std::int64_t tile;         ///< In scalars.
    std::int64_t stride;       ///< In bytes, of a scalar.
    std::int64_t tile_stride;  ///< In bytes, of a tile.
  };
  [[noreturn]] void outside(const std::int64_t* index) const;
  [[nodiscard]] std::int64_t length(std::size_t d, std::int64_t index) const;
  template <class Copy>
  void each_row(const std::int64_t* index, Copy copy) const;

  const program::Tensor* tensor_;
  std::byte* data_;
  std::size_t element_;
  std::vector<Dimension> dimensions_;
};

/// Joins every tensor to its array. Where `functional` is false the arrays are not touched and may be
/// missing.
/// Throws ShapeError CYC208 where an array is missing or its strides do not fit its tensor.
[[nodiscard]] std::vector<TensorAccess> access_tensors(const program::Program& program, const Arrays& arrays,
                                                       bool functional);

}  // namespace cyclotron::runtime
