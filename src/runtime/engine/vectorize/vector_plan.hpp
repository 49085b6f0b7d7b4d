// The order of a loop's operations, one after the other, each for a run of iterations.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "../kernels/kernels.hpp"

namespace cyclotron::runtime {

/// A scalar, so many bytes farther in each next iteration.
struct Scalar {
  std::byte* at = nullptr;
  std::ptrdiff_t advance = 0;
  std::uint8_t width = 0;    ///< Bytes of the scalar.
  std::uint16_t region = 0;  ///< Scalars of different regions never overlap, wherever they come to lie.
  bool constant = false;     ///< Its bytes stay as they are from run to run.
};

struct VectorOperation {
  VectorKernel kernel = nullptr;  ///< None: a copy.
  std::uint8_t operands = 1;
  std::array<Scalar, 3> in{};
  Scalar out;
};

/// The operations' replacement: a list of kernels on the operations' scalars and on vectors of the run's own.
struct VectorPlan {
  static constexpr std::int64_t least_iterations = 8;
  static constexpr std::size_t most_operations = 64;

  /// A scalar of the operations, by `scalar(operation, n)`, or a vector.
  struct Location {
    bool own = false;
    std::uint16_t number = 0;
    bool operator==(const Location&) const = default;
  };
  static constexpr std::size_t result = 3;  ///< The n of an operation's result; operands count from 0.
  [[nodiscard]] static Location scalar(std::size_t operation, std::size_t n) {
    return {false, static_cast<std::uint16_t>(4 * operation + n)};
  }
  struct Operation {
    VectorKernel kernel = nullptr;
    std::uint8_t operands = 1;
    std::array<Location, 3> in{};
    Location out;
    std::array<bool, 4> fetch{};  ///< Of which scalars memory is to be asked for ahead.
  };
  /// A scalar that stays as it is becomes a vector.
  struct Fill {
    Location from, vector;
  };
  std::vector<Fill> fills;
  std::vector<Operation> operations;
  std::vector<std::uint8_t> widths;  ///< Of each vector's scalars.
  std::int64_t together = 0;         ///< Iterations of a run.
};

/// Plans what vector machines do (loop distribution). Scalars that every iteration writes before it reads them become
/// vectors, copies of what stays unchanged cost nothing, results are written where they are copied to, two operations
/// become one where there is a kernel for both, and where an operation needs what another one leaves some iterations
/// earlier, runs are that short. The results are those of the iterations in turn, bit for bit, but for the scalars that
/// have become vectors: these stay as they were. None where the iterations have to run in turn.
/// The plan also holds for fewer iterations, and where the scalars of each region lie elsewhere, all as far.
[[nodiscard]] std::optional<VectorPlan> plan_vectors(std::span<const VectorOperation> operations,
                                                     std::int64_t iterations);

}  // namespace cyclotron::runtime
