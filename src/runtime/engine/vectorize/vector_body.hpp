// Many iterations of a loop on scalars, operation by operation instead of iteration by iteration.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "vector_plan.hpp"

namespace cyclotron::runtime {

/// Runs a loop as `plan_vectors` has it. The plan is kept for the next time: a loop inside another one, or of many PEs,
/// mostly finds its scalars elsewhere, but as they were to each other.
class VectorBody {
 public:
  /// Runs all iterations but the last, which is to be run by itself: scalars that every iteration writes before it
  /// reads them get their values from it. False, and nothing has happened, where all iterations have to run in turn.
  /// The operations differ from call to call in where their scalars lie alone.
  bool run(std::span<const VectorOperation> operations, std::int64_t iterations);

 private:
  struct alignas(64) CacheLine {
    std::array<std::byte, 64> bytes;
  };
  /// Address of a scalar in the first run of iterations, and the step to that in the next one.
  struct Bound {
    std::byte* at = nullptr;
    std::ptrdiff_t advance = 0, step = 0;
    std::uint8_t width = 0;
    std::uint16_t region = 0;
  };
  struct BoundCopy {
    Bound from, to;
  };
  /// The operands lie as kernels take them.
  struct BoundOperation {
    VectorKernel kernel = nullptr;
    std::array<const void*, 3> in{};
    std::array<std::ptrdiff_t, 3> advance{}, step{};
    std::array<std::uint16_t, 3> region{};
    Bound out{};
  };

  [[nodiscard]] bool plan_holds(std::span<const VectorOperation> operations, std::int64_t iterations);
  void make_plan(std::span<const VectorOperation> operations, std::int64_t iterations);
  [[nodiscard]] Bound bind(const VectorPlan& plan, VectorPlan::Location location);
  void bind(const VectorPlan& plan);
  [[nodiscard]] std::byte* address(const Bound& bound) const { return bound.at + moved_[bound.region]; }
  void fill(const BoundCopy& copy, std::int64_t count) const;
  void start();
  void go_on();

  bool vectorizes_ = false;
  std::int64_t together_ = 0;  ///< Iterations of a run.
  std::vector<VectorOperation> planned_;
  std::int64_t planned_iterations_ = 0;
  std::vector<BoundOperation> operations_;  ///< With the scalars where they were when this was planned.
  std::vector<BoundCopy> fills_;
  std::vector<std::ptrdiff_t> moved_;  ///< Since then, by region; the last one is for what stays.
  std::vector<Bound> fetched_;         ///< Memory that is asked for ahead.
  std::vector<BoundOperation> running_;
  std::vector<Bound> fetching_;
  std::vector<CacheLine> vectors_;
  std::vector<std::size_t> starts_;  ///< Of the vectors, in lines.
};

}  // namespace cyclotron::runtime
