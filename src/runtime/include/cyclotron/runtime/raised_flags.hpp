// The exceptions of IEEE 754 that a thread's arithmetic raised: flags that the processor sets, and that stay set.
#pragma once
#include <cfenv>
#include <utility>

namespace cyclotron::runtime {

/// Forgets those of this thread.
inline void clear_raised_flags() { std::feclearexcept(FE_ALL_EXCEPT); }

/// Those of this thread, as NumPy numbers them: 1 division by zero, 2 overflow, 4 underflow, 8 invalid operation.
[[nodiscard]] inline int raised_flags() {
  const int set = std::fetestexcept(FE_ALL_EXCEPT);
  return ((set & FE_DIVBYZERO) != 0 ? 1 : 0) | ((set & FE_OVERFLOW) != 0 ? 2 : 0) |
         ((set & FE_UNDERFLOW) != 0 ? 4 : 0) | ((set & FE_INVALID) != 0 ? 8 : 0);
}

/// The work's result, with those that its arithmetic raised.
template <class Work>
auto with_raised_flags(Work work) {
  clear_raised_flags();
  auto result = work();
  return std::pair(std::move(result), raised_flags());
}

}  // namespace cyclotron::runtime
