#include "scheduler.hpp"

#include <algorithm>
#include <utility>

namespace cyclotron::runtime::local {

Scheduler::Scheduler(std::uint32_t pes, std::size_t workers)
    : pes_(pes),
      block_(std::max<std::uint32_t>(1, pes)),
      states_(std::make_unique<std::atomic<State>[]>(pes)),
      home_(pes),
      active_(pes),
      over_(pes == 0) {
  for (std::size_t w = 0; w < workers; ++w) workers_.emplace_back(pes);
}

void Scheduler::deal_out(std::uint32_t block) {
  const std::uint64_t begun = workers_[0].begun.load(std::memory_order_relaxed);
  block_ = std::max<std::uint32_t>(1, block);
  shares_ = workers_.size();
  for (std::uint64_t w = 0; w < shares_; ++w) {
    // Blocks that have begun, and what has of the block that the first one of the others is in.
    const std::uint64_t blocks = begun / block_;
    const std::uint64_t whole = (blocks + shares_ - 1 - w) / shares_;
    workers_[w].begun.store(whole * block_ + (blocks % shares_ == w ? begun % block_ : 0),
                            std::memory_order_relaxed);
  }
}

/// The PE that comes after n others of a share; no PE (`pes_` or more) where it has no more.
std::uint64_t Scheduler::in_share(std::size_t share, std::uint64_t n) const {
  return (n / block_ * shares_ + share) * block_ + n % block_;
}

std::optional<std::uint32_t> Scheduler::begin(std::size_t share) {
  auto& begun = workers_[share].begun;
  if (in_share(share, begun.load(std::memory_order_relaxed)) >= pes_) return std::nullopt;
  const std::uint64_t pe = in_share(share, begun.fetch_add(1, std::memory_order_relaxed));
  if (pe >= pes_) return std::nullopt;
  return static_cast<std::uint32_t>(pe);
}

void Scheduler::push(std::size_t worker, std::uint32_t pe) {
  Worker& whose = workers_[worker];
  {
    const std::lock_guard lock(whose.mutex);
    whose.ready.insert(pe);
    whose.ready_count.fetch_add(1, std::memory_order_relaxed);
  }
  ready_count_.fetch_add(1);
  // Either a worker going to sleep sees the count, or this sees the worker.
  if (sleepers_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  condition_.notify_one();
}

std::optional<std::uint32_t> Scheduler::pop(std::size_t worker) {
  Worker& own = workers_[worker];
  if (own.ready_count.load(std::memory_order_relaxed) == 0) return std::nullopt;
  const std::lock_guard lock(own.mutex);
  std::uint32_t pe = 0;
  if (!own.ready.take(pe)) return std::nullopt;
  own.ready_count.fetch_sub(1, std::memory_order_relaxed);
  ready_count_.fetch_sub(1);
  return pe;
}

/// Takes half of what another worker has ready.
std::optional<std::uint32_t> Scheduler::steal(std::size_t worker) {
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    Worker& victim = workers_[(worker + i) % workers_.size()];
    if (victim.ready_count.load(std::memory_order_relaxed) == 0) continue;
    std::vector<std::uint32_t> taken;
    {
      const std::lock_guard lock(victim.mutex);
      const std::size_t ready = victim.ready_count.load(std::memory_order_relaxed);
      taken.resize((ready + 1) / 2);
      for (std::uint32_t& pe : taken) victim.ready.take_behind(pe);
      victim.ready_count.store(ready - taken.size(), std::memory_order_relaxed);
    }
    if (taken.empty()) continue;
    ready_count_.fetch_sub(1);
    Worker& own = workers_[worker];
    const std::lock_guard lock(own.mutex);
    for (std::size_t n = 1; n < taken.size(); ++n) own.ready.insert(taken[n]);
    own.ready_count.fetch_add(taken.size() - 1, std::memory_order_relaxed);
    return taken.front();
  }
  return std::nullopt;
}

/// Those that were woken come first: what they wait for has come.
std::optional<Scheduler::Turn> Scheduler::find(std::size_t worker) {
  const auto ran_here = [&](std::uint32_t pe, bool begins) {
    home_[pe] = static_cast<std::uint32_t>(worker);
    return Turn{pe, begins};
  };
  if (const auto pe = pop(worker)) return ran_here(*pe, false);
  if (worker < shares_) {
    if (const auto pe = begin(worker)) return ran_here(*pe, true);
  }
  if (const auto pe = steal(worker)) return ran_here(*pe, false);
  for (std::size_t i = 1; i < shares_; ++i) {
    if (const auto pe = begin((worker + i) % shares_)) return ran_here(*pe, true);
  }
  return std::nullopt;
}

void Scheduler::park(std::size_t worker, std::uint32_t pe) {
  State expected = running;
  if (states_[pe].compare_exchange_strong(expected, parked)) {
    ++workers_[worker].retired;
  } else {
    states_[pe].store(running);
    push(worker, pe);
  }
}

void Scheduler::finish(std::size_t worker) {
  ++workers_[worker].finished;
  ++workers_[worker].retired;
}

void Scheduler::wake(std::size_t worker, std::uint32_t pe) {
  State state = states_[pe].load();
  while (state != woken) {
    if (!states_[pe].compare_exchange_weak(state, state == parked ? running : woken)) continue;
    if (state == parked) {
      // It takes the place of one that this worker has not told is no longer active.
      auto& retired = workers_[worker].retired;
      if (retired > 0) {
        --retired;
      } else {
        active_.fetch_add(1);
      }
      const std::uint32_t home = home_[pe];
      const bool has_none = workers_[home].ready_count.load(std::memory_order_relaxed) == 0;
      push(has_none ? home : worker, pe);
    }
    return;
  }
}

/// A worker that finds no PE tells how many of its PEs are no longer active: a run ends with no others.
void Scheduler::settle(std::size_t worker) {
  const std::int64_t retired = std::exchange(workers_[worker].retired, 0);
  if (retired > 0 && active_.fetch_sub(retired) == retired) end();
}

void Scheduler::end() {
  const std::lock_guard lock(mutex_);
  over_.store(true, std::memory_order_release);
  condition_.notify_all();
}

void Scheduler::fail(std::exception_ptr failure) {
  {
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::move(failure);
  }
  end();
}

bool Scheduler::finished() const {
  std::uint64_t finished = 0;
  for (const Worker& worker : workers_) finished += worker.finished;
  return finished == pes_;
}

bool Scheduler::all_finished() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return finished();
}

}  // namespace cyclotron::runtime::local
