#include "doorbell.hpp"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#endif

#include <algorithm>
#include <climits>
#include <thread>

namespace cyclotron::runtime {
namespace {

/// Sleeps while the word is as expected; std::atomic's own wait is for threads of one process. False where the system
/// cannot.
bool sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t expected, std::chrono::microseconds most) {
#if defined(__linux__) && defined(SYS_futex)
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(most);
  const std::chrono::nanoseconds rest = most - seconds;
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(seconds.count());
  timeout.tv_nsec = static_cast<long>(rest.count());
  return syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0) == 0 || errno == EAGAIN ||
         errno == EINTR || errno == ETIMEDOUT;
#else
  (void)word, (void)expected, (void)most;
  return false;
#endif
}

void wake(std::atomic<std::uint32_t>& word) {
#if defined(__linux__) && defined(SYS_futex)
  (void)syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
#else
  (void)word;
#endif
}

}  // namespace

void Doorbell::ring() {
  std::uint32_t before = word_.load(std::memory_order_relaxed);
  while (!word_.compare_exchange_weak(before, (before | asleep) + 1)) {
  }
  if ((before & asleep) != 0) wake(word_);
}

void Doorbell::wait(Rings heard, std::chrono::microseconds most) {
  constexpr std::chrono::microseconds shortest{50};
  const std::uint32_t awake = heard << 1;
  std::uint32_t expected = awake;
  if (!word_.compare_exchange_strong(expected, awake | asleep)) return;
  if (!sleep_on(word_, awake | asleep, most)) std::this_thread::sleep_for(std::min(most, shortest));
  expected = awake | asleep;
  word_.compare_exchange_strong(expected, awake);
}

}  // namespace cyclotron::runtime
