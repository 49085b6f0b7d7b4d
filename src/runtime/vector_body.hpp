// Many iterations of a loop on scalars, operation by operation instead of iteration by iteration.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace cyclotron::runtime {

/// A scalar, so many bytes farther in each next iteration.
struct Scalar {
  std::byte* at = nullptr;
  std::ptrdiff_t advance = 0;
  std::uint8_t width = 0;  ///< Bytes of the scalar.
};

/// Runs a loop's operations one after the other, each for a run of iterations: what vector machines do (loop
/// distribution). Scalars that every iteration writes before it reads them become vectors of their own, copies of what
/// stays unchanged cost nothing, and where an operation needs what another one leaves some iterations earlier, runs are
/// that short. The results are those of the iterations in turn, bit for bit.
class VectorBody {
 public:
  struct Operation {
    VectorKernel kernel = nullptr;  ///< None: a copy.
    std::uint8_t operands = 1;
    std::array<Scalar, 3> in{};
    Scalar out;
  };
  static constexpr std::int64_t least_iterations = 8;

  /// False, and nothing has happened, where the iterations have to run in turn.
  bool run(std::span<const Operation> operations, std::int64_t iterations);

 private:
  static constexpr std::size_t most_operations = 64;
  static constexpr std::int64_t most_together = 256;
  static constexpr std::size_t most_width = 16;
  /// Bytes between vectors, so that they do not share the sets of a cache.
  static constexpr std::size_t padding = 64;

  /// Where a run of iterations finds its scalars: in memory, or in a vector of ours.
  struct Source {
    Scalar scalar;
    bool own = false;
  };
  struct Planned {
    VectorKernel kernel = nullptr;
    std::uint8_t operands = 1;
    std::array<Source, 3> in{};
    Source out;
  };
  /// A scalar that lives within an iteration, and its latest value.
  struct Temporary {
    Scalar home;
    Source value;
  };
  /// The bytes that a scalar takes in all iterations.
  struct Extent {
    const std::byte *first = nullptr, *end = nullptr;
    [[nodiscard]] bool meets(const Extent& other) const { return first < other.end && other.first < end; }
  };
  struct Extents {
    std::array<Extent, 3> in{};
    Extent out{};
  };

  [[nodiscard]] Extent extent(const Scalar& scalar) const;
  [[nodiscard]] bool is_temporary(const Scalar& scalar) const;
  [[nodiscard]] Temporary* temporary(const Scalar& scalar);
  [[nodiscard]] bool is_written(const Scalar& scalar) const;
  void find_extents();
  void find_temporaries();
  [[nodiscard]] bool order_holds();
  [[nodiscard]] bool order_holds(std::size_t writer, std::size_t user, const Scalar& used,
                                 const Extent& extent);
  void plan();
  [[nodiscard]] Source source(const Scalar& scalar, const Operation& user);
  [[nodiscard]] Source own_vector(std::uint8_t width);
  void run_together(std::int64_t first, std::int64_t count) const;
  void leave_temporaries() const;

  std::span<const Operation> operations_;
  std::int64_t iterations_ = 0;
  std::int64_t together_ = 0;     ///< Iterations of a run.
  std::vector<Extents> extents_;  ///< By operation.
  std::vector<Planned> planned_;
  std::vector<Temporary> temporaries_;
  std::vector<std::byte> vectors_;
  std::size_t used_ = 0;  ///< Bytes of it.
};

}  // namespace cyclotron::runtime
