// Calls a run's Progress about every 50 ms without asking the clock at every step.
#pragma once
#include <chrono>
#include <cstdint>

#include <cyclotron/runtime/runtime.hpp>

#include "kernels/kernels.hpp"
#include "pe_array.hpp"

namespace cyclotron::runtime {

class ProgressTicker {
 public:
  explicit ProgressTicker(const Progress& progress)
      : progress_(progress), last_(std::chrono::steady_clock::now()) {}

  /// `work` in units of about an instruction; `fraction()` is what is done. Throws ExecutionError CYC702
  /// where the callback stops the run.
  template <class Fraction>
  void tick(std::int64_t work, Fraction fraction) {
    left_ -= work;
    if (left_ <= 0) beat(fraction);
  }

  /// Looks at the clock at once.
  template <class Fraction>
  void beat(Fraction fraction) {
    left_ = 1 << 16;
    if (!progress_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(30)) return;
    last_ = now;
    if (!progress_(fraction())) throw interrupted();
  }

 private:
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
  std::int64_t left_ = 1 << 16;
};

/// The work of an operator on tiles, for `ProgressTicker::tick`.
[[nodiscard]] inline std::int64_t tile_work(std::span<const Shape> operands) {
  std::int64_t elements = 0;
  for (const Shape& shape : operands) elements += shape.rows * shape.columns;
  return elements;
}

}  // namespace cyclotron::runtime
