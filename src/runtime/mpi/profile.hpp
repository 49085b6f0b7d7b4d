// Where the time of a rank went.
#pragma once
#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::runtime::mpi {

/// Of one rank and one run; plain numbers, so that ranks can exchange it as bytes. Seconds are of wall time.
struct Profile {
  double seconds = 0;  ///< From the first instruction of any rank to the last; waiting is what is left.
  double processor_seconds = 0;  ///< That this thread had of a core meanwhile, polling included.
  double load_store = 0;         ///< Of tiles, from and to tensors.
  std::int64_t lent = 0;         ///< Bytes handed to other ranks in shared memory.
  std::int64_t sent = 0;         ///< Bytes of messages.
  std::int64_t messages = 0;
  std::array<double, operators::operator_count> compute{};  ///< On tiles, by operator.
  std::array<std::int64_t, program::most_endings>
      skipped{};  ///< Iterations of loops that ended early, by ending.
};

/// Of this thread.
[[nodiscard]] inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Seconds since it was made or asked.
class StopWatch {
 public:
  [[nodiscard]] double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace cyclotron::runtime::mpi
