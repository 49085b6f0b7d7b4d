// Which thread runs which PE: ready lists with stealing, and parking that loses no wake-up.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace cyclotron::runtime::local {

/// PEs by ordinal. A PE is ready (in one list), running (on one thread), parked or done; who finds it, owns
/// it.
class Scheduler {
 public:
  Scheduler(std::uint32_t pes, std::size_t workers);

  /// A PE for this worker, waiting for one if need be. None when the run is over. A waiting worker calls
  /// `idle` now and then (outside of locks) where it is worker 0.
  template <class Idle>
  std::optional<std::uint32_t> next(std::size_t worker, Idle idle);

  /// The PE goes on later.
  void pause(std::size_t worker, std::uint32_t pe) { push(worker, pe); }
  /// The PE waits for `wake`. Where it was woken since it last ran, it is ready again at once.
  void park(std::size_t worker, std::uint32_t pe);
  void finish();
  /// Readies a parked PE, or makes its next `park` return at once. Called by the thread of the PE that it
  /// waited for.
  void wake(std::size_t worker, std::uint32_t pe);

  /// Ends the run with this exception; the first one counts.
  void fail(std::exception_ptr failure);
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// After the run: rethrows its exception. Returns whether every PE finished (else none could go on).
  [[nodiscard]] bool all_finished();

 private:
  enum State : std::uint8_t { running, parked, woken };
  struct Worker {
    std::mutex mutex;
    std::deque<std::uint32_t> ready;
  };
  void push(std::size_t worker, std::uint32_t pe);
  [[nodiscard]] std::optional<std::uint32_t> pop(std::size_t worker);
  [[nodiscard]] std::optional<std::uint32_t> steal(std::size_t worker);
  void retire();
  void end();

  std::vector<Worker> workers_;
  std::unique_ptr<std::atomic<State>[]> states_;
  /// PEs that are ready or running. Only they can wake others, so at zero the run is over, one way or the
  /// other.
  std::atomic<std::int64_t> active_;
  std::atomic<std::int64_t> unfinished_;
  std::atomic<std::int64_t> ready_count_;
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::exception_ptr failure_;
};

template <class Idle>
std::optional<std::uint32_t> Scheduler::next(std::size_t worker, Idle idle) {
  while (!over()) {
    if (auto pe = pop(worker)) return pe;
    if (auto pe = steal(worker)) return pe;
    {
      std::unique_lock lock(mutex_);
      ++sleepers_;
      const auto ready = [&] { return over() || ready_count_.load() > 0; };
      if (worker == 0) {
        condition_.wait_for(lock, std::chrono::milliseconds(40), ready);
      } else {
        condition_.wait(lock, ready);
      }
      --sleepers_;
    }
    if (worker == 0) idle();
  }
  return std::nullopt;
}

}  // namespace cyclotron::runtime::local
