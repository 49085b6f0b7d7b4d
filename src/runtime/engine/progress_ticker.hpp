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
      : progress_(progress), last_(std::chrono::steady_clock::now()), work_left_(progress.most_work) {}

  /// `work` in units of about an instruction; `fraction()` is what is done. Throws ExecutionError CYC702
  /// where the callback stops the run, or after the most work.
  template <class Fraction>
  void tick(std::int64_t work, Fraction fraction) {
    left_ -= work;
    if (left_ <= 0) beat(fraction);
  }

  /// Looks at the clock at once.
  template <class Fraction>
  void beat(Fraction fraction) {
    work_left_ -= interval - left_;
    left_ = interval;
    if (work_left_ < 0) throw interrupted();
    if (!progress_) return;
    const auto now = std::chrono::steady_clock::now();
    if (now - last_ < std::chrono::milliseconds(30)) return;
    last_ = now;
    if (!progress_(fraction())) throw interrupted();
  }

 private:
  Progress progress_;
  std::chrono::steady_clock::time_point last_;
  static constexpr std::int64_t interval = 1 << 16;
  std::int64_t left_ = interval;
  std::int64_t work_left_;
};

/// The work of an operator on tiles, for `ProgressTicker::tick`.
[[nodiscard]] inline std::int64_t tile_work(std::span<const Shape> operands) {
  std::int64_t elements = 0;
  for (const Shape& shape : operands) elements += shape.rows * shape.columns;
  return elements;
}

}  // namespace cyclotron::runtime
