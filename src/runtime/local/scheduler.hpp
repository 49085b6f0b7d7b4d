// Work for threads: a share of the PEs that have not begun, a set of those that were woken, stealing, and
// parking that loses no wake-up.
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
#include <thread>
#include <vector>

#include "../engine/ready_set.hpp"

namespace cyclotron::runtime::local {

/// PEs by ordinal. A PE is new (in one share), ready (in one set), running (on one thread), parked or done; who finds
/// it, owns it.
///
/// Worker 0 begins alone, with the PEs in order. Once they are dealt out, blocks of PEs go round the workers, and each
/// begins those of its share in order. A PE that is woken goes back to the worker that ran it before, which has its
/// memory in its cache, unless that one has enough to do: so where values travel over the grid the workers follow them side
/// by side, a few rows apart.
class Scheduler {
 public:
  /// A PE for a worker; `begins`: it has not run before.
  struct Turn {
    std::uint32_t pe = 0;
    bool begins = false;
  };

  Scheduler(std::uint32_t pes, std::size_t workers);

  [[nodiscard]] std::size_t workers() const { return workers_.size(); }

  /// Worker 0, still alone, deals out the PEs that have not begun, in blocks of so many.
  void deal_out(std::uint32_t block);

  /// A PE for this worker, waiting for one if need be. None when the run is over. A waiting worker calls
  /// `idle` now and then (outside of locks) where it is worker 0.
  template <class Idle>
  std::optional<Turn> next(std::size_t worker, Idle idle);

  /// The PE goes on later.
  void pause(std::size_t worker, std::uint32_t pe) { push(worker, pe); }
  /// The PE waits for `wake`. Where it was woken since it last ran, it is ready again at once.
  void park(std::size_t worker, std::uint32_t pe);
  void finish(std::size_t worker);
  /// Readies a parked PE, or makes its next `park` return at once. Called by the thread of the PE that it
  /// waited for.
  void wake(std::size_t worker, std::uint32_t pe);

  /// Ends the run with this exception; the first one counts.
  void fail(std::exception_ptr failure);
  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  /// After the run: rethrows its exception. Returns whether every PE finished (else none could go on).
  [[nodiscard]] bool all_finished();
  /// After the run, with no worker still at it: whether every PE finished.
  [[nodiscard]] bool finished() const;

 private:
  enum State : std::uint8_t { running, parked, woken };
  /// Fields that different workers write stand on different lines of the cache.
  struct alignas(64) Worker {
    explicit Worker(std::uint32_t pes) : ready(pes) {}
    std::atomic<std::uint64_t> begun = 0;  ///< PEs of its share, by whichever worker.
    // Its own.
    alignas(64) std::int64_t retired = 0;  ///< PEs that are no longer active, not yet told.
    std::uint64_t finished = 0;            ///< PEs that it finished.
    // Those that are ready, for all workers.
    alignas(64) std::mutex mutex;
    std::atomic<std::size_t> ready_count = 0;  ///< Written under the mutex.
    ReadySet ready;
  };
  void push(std::size_t worker, std::uint32_t pe);
  [[nodiscard]] std::optional<std::uint32_t> pop(std::size_t worker);
  [[nodiscard]] std::optional<std::uint32_t> steal(std::size_t worker);
  [[nodiscard]] std::optional<std::uint32_t> begin(std::size_t share);
  [[nodiscard]] std::uint64_t in_share(std::size_t share, std::uint64_t n) const;
  [[nodiscard]] std::optional<Turn> find(std::size_t worker);
  void settle(std::size_t worker);
  void end();

  std::uint32_t pes_;
  std::deque<Worker> workers_;
  std::uint64_t block_;       ///< Of PEs that are dealt out together.
  std::uint64_t shares_ = 1;  ///< Workers that they are dealt out to.
  std::unique_ptr<std::atomic<State>[]> states_;
  std::vector<std::uint32_t> home_;  ///< By PE, the worker that ran it last.
  /// PEs that are new, ready or running, and some that a worker has not told are no longer. Only they can wake others, so
  /// at zero the run is over, one way or the other.
  std::atomic<std::int64_t> active_;
  std::atomic<std::int64_t> ready_count_ = 0;
  std::atomic<int> sleepers_ = 0;
  std::atomic<bool> over_;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::exception_ptr failure_;
};

template <class Idle>
std::optional<Scheduler::Turn> Scheduler::next(std::size_t worker, Idle idle) {
  while (!over()) {
    if (const auto turn = find(worker)) return turn;
    settle(worker);
    // Falling asleep and being woken take longer than most turns of others.
    for (int n = 0; n < 50 && !over() && ready_count_.load(std::memory_order_relaxed) == 0; ++n)
      std::this_thread::yield();
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
