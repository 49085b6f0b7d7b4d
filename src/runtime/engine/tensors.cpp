#include "tensors.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime {
namespace {

constexpr std::size_t rank_limit = 16;

[[noreturn]] void bad_array(std::string message) {
  throw ShapeError(
      {.code = "CYC208",
       .span = {},
       .message = std::move(message),
       .notes = {},
       .help = "pass one array for each tensor of the program, in the order of its tensor table"});
}

}  // namespace

TensorAccess::TensorAccess(const program::Tensor& tensor, const ArrayView& array)
    : tensor_(&tensor),
      data_(static_cast<std::byte*>(array.data)),
      element_(operators::size_bytes(tensor.dtype)) {
  const auto extents = tensor.extents();
  for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
    const std::int64_t stride = array.strides.empty() ? 0 : array.strides[d];
    dimensions_.push_back(
        {extents[d], tensor.shape[d], tensor.tile[d], stride, extents[d] > 1 ? stride * tensor.tile[d] : 0});
  }
}

std::int64_t TensorAccess::length(std::size_t d, std::int64_t index) const {
  return std::min(dimensions_[d].tile, dimensions_[d].shape - index * dimensions_[d].tile);
}

std::pair<const std::byte*, const std::byte*> TensorAccess::bytes() const {
  const std::byte *first = data_, *last = data_;
  for (const auto& [extent, shape, tile, stride, tile_stride] : dimensions_) {
    if (shape == 0) return {data_, data_};
    (stride < 0 ? first : last) += stride * (shape - 1);
  }
  return {first, last + element_};
}

TileSize TensorAccess::size(const std::int64_t* index) const {
  std::int64_t rows = 1, columns = 1;
  for (std::size_t d = 0; d < rank(); ++d) {
    if (index[d] < 0 || index[d] >= dimensions_[d].extent) outside(index);
    (d + 1 == rank() && d > 0 ? columns : rows) *= length(d, index[d]);
  }
  return {static_cast<std::int32_t>(rows), static_cast<std::int32_t>(columns)};
}

/// Calls copy(array position, length, stride) for each run along the last dimension, in row-major order.
template <class Copy>
void TensorAccess::each_row(const std::int64_t* index, Copy copy) const {
  std::byte* at = data_;
  for (std::size_t d = 0; d < rank(); ++d)
    at += static_cast<std::ptrdiff_t>(index[d]) * dimensions_[d].tile_stride;
  if (rank() == 0) return copy(at, 1, 0);
  std::array<std::int64_t, rank_limit> position{};
  const std::size_t last = rank() - 1;
  while (true) {
    copy(at, length(last, index[last]), dimensions_[last].stride);
    std::size_t d = last;
    while (d > 0) {
      --d;
      at += dimensions_[d].stride;
      if (++position[d] < length(d, index[d])) break;
      at -= dimensions_[d].stride * position[d];
      position[d] = 0;
      if (d == 0) return;
    }
    if (last == 0) return;
  }
}

void TensorAccess::read(const std::int64_t* index, std::byte* to) const {
  each_row(index, [&](const std::byte* at, std::int64_t length, std::int64_t stride) {
    if (stride == static_cast<std::int64_t>(element_)) {
      const auto bytes = static_cast<std::size_t>(length) * element_;
      std::memcpy(to, at, bytes);
      to += bytes;
      return;
    }
    for (std::int64_t i = 0; i < length; ++i, at += stride, to += element_) copy_scalar(to, at, element_);
  });
}

void TensorAccess::write(const std::int64_t* index, const std::byte* from, TileSize given) const {
  const TileSize expected = size(index);
  const bool fill = given == TileSize{1, 1};
  if (given != expected && !fill) {
    throw KernelFailure{"CYC704",
                        fmt::format("a {}x{} tile is stored where `{}` has a {}x{} tile", given.rows,
                                    given.columns, tensor_->name, expected.rows, expected.columns),
                        "the stored tile has the shape of the tensor's tile"};
  }
  each_row(index, [&](std::byte* at, std::int64_t length, std::int64_t stride) {
    if (!fill && stride == static_cast<std::int64_t>(element_)) {
      const auto bytes = static_cast<std::size_t>(length) * element_;
      std::memcpy(at, from, bytes);
      from += bytes;
      return;
    }
    for (std::int64_t i = 0; i < length; ++i, at += stride, from += fill ? 0 : element_)
      copy_scalar(at, from, element_);
  });
}

bool TensorAccess::contains(const std::int64_t* index) const {
  for (std::size_t d = 0; d < rank(); ++d) {
    if (index[d] < 0 || index[d] >= dimensions_[d].extent) return false;
  }
  return true;
}

std::size_t TensorAccess::linear(const std::int64_t* index) const {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < rank(); ++d) result = result * dimensions_[d].extent + index[d];
  return static_cast<std::size_t>(result);
}

std::size_t TensorAccess::tiles() const {
  std::int64_t result = 1;
  for (const auto& dimension : dimensions_) result *= dimension.extent;
  return static_cast<std::size_t>(result);
}

void TensorAccess::unravel(std::size_t linear, std::int64_t* index) const {
  auto rest = static_cast<std::int64_t>(linear);
  for (std::size_t d = rank(); d-- > 0;) {
    index[d] = rest % dimensions_[d].extent;
    rest /= dimensions_[d].extent;
  }
}

void TensorAccess::outside(const std::int64_t* index) const {
  const auto extents = tensor_->extents();
  throw KernelFailure{"CYC703",
                      fmt::format("`{}[{}]` is outside the tensor of {}{}", tensor_->name,
                                  fmt::join(index, index + rank(), ", "), fmt::join(extents, " x "),
                                  tensor_->blocked ? " tiles" : " elements"),
                      "compile the kernel again"};
}

std::vector<TensorAccess> access_tensors(const program::Program& program, const Arrays& arrays,
                                         bool functional) {
  if (functional && arrays.size() != program.tensors.size()) {
    bad_array(
        fmt::format("the program has {} tensors, got {} arrays", program.tensors.size(), arrays.size()));
  }
  std::vector<TensorAccess> result;
  result.reserve(program.tensors.size());
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    const auto& tensor = program.tensors[t];
    const ArrayView array = functional ? arrays[t] : ArrayView{};
    const bool empty = std::any_of(tensor.shape.begin(), tensor.shape.end(), [](auto n) { return n == 0; });
    if (functional && !empty && array.data == nullptr)
      bad_array(fmt::format("`{}` has no array", tensor.name));
    if (functional && array.strides.size() != tensor.shape.size()) {
      bad_array(fmt::format("`{}` has {} dimensions, its array {}", tensor.name, tensor.shape.size(),
                            array.strides.size()));
    }
    result.emplace_back(tensor, array);
  }
  return result;
}

}  // namespace cyclotron::runtime
