// The arithmetic of every backend: one operator on tiles, or on scalars without the cost of a tile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include <cyclotron/operators/operators.hpp>

namespace cyclotron::runtime {

using operators::DType;
using operators::Flags;
using operators::Op;
using operators::Shape;

/// The exception of a kernel; the interpreter adds PE, instruction and source line.
struct KernelFailure {
  std::string code;
  std::string message;
  std::string help;
};

/// A tile in PE memory: row-major, compact (the leading dimension is the number of columns).
struct ConstTile {
  const void* data = nullptr;
  Shape shape;
};
struct Tile {
  void* data = nullptr;
  Shape shape;
};

/// Workspace that a thread keeps between kernels.
class Scratch {
 public:
  /// `bytes` bytes, aligned for every dtype; each `index` is an area of its own, valid until it is asked for
  /// again.
  [[nodiscard]] void* bytes(std::size_t index, std::size_t bytes);

 private:
  std::vector<std::vector<std::max_align_t>> areas_;
};

struct TileOperator {
  Op op = Op::add;
  Flags flags = operators::no_flags;
  DType dtype = DType::float64;
};

/// destination <- op(operands). Shapes are those of `operators::result_shape`; size-1 dimensions broadcast as
/// in NumPy. A destination may be the same memory as any operand. Integers wrap; maximum and minimum
/// propagate NaN.
/// Throws KernelFailure CYC701 on a matrix that is singular or not positive definite.
void apply(const TileOperator& what, std::span<const ConstTile> operands, Tile destination, Scratch& scratch);

/// One operator on scalars: result and operands may be the same memory. Throws as `apply`, and on numbers without a
/// result where the flags say `checked`.
using ScalarKernel = void (*)(void* result, const void* const* operands);

/// The kernel of an operator on 1x1 tiles, or null where NumPy has none for the dtype.
[[nodiscard]] ScalarKernel scalar_kernel(Op op, Flags flags, DType dtype);

/// One operator on `count` scalars, one after the other; each result and operand lies so many bytes after the one before
/// it, perhaps 0. They may be the same memory.
using VectorKernel = void (*)(void* result, std::ptrdiff_t advance, const void* const* operands,
                              const std::ptrdiff_t* advances, std::int64_t count);

/// As `scalar_kernel`, with the same bits; also null for operators that may fail.
[[nodiscard]] VectorKernel vector_kernel(Op op, Flags flags, DType dtype);

/// The kernel that does what `inner` and then `outer` do, whose operand of that number is what `inner` makes: inner's
/// operands stand there among outer's. The same bits without the way through memory; null where there is none.
[[nodiscard]] VectorKernel composed_kernel(VectorKernel outer, std::size_t operand, VectorKernel inner);

/// Copies scalars of so many bytes: 1, 4, 8 or 16.
[[nodiscard]] VectorKernel copy_kernel(std::uint8_t bytes);

/// BLAS uses one thread while any guard lives, and as many as before afterwards: PEs are the parallelism
/// here.
class SingleThreadedBlas {
 public:
  SingleThreadedBlas();
  ~SingleThreadedBlas();
  SingleThreadedBlas(const SingleThreadedBlas&) = delete;
  SingleThreadedBlas& operator=(const SingleThreadedBlas&) = delete;
};

}  // namespace cyclotron::runtime
