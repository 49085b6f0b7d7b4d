#include "scheduler.hpp"

namespace cyclotron::runtime::local {

Scheduler::Scheduler(std::uint32_t pes, std::size_t workers)
    : workers_(workers),
      states_(std::make_unique<std::atomic<State>[]>(pes)),
      active_(pes),
      unfinished_(pes),
      ready_count_(pes),
      over_(pes == 0) {
  // All begin with worker 0, which may be the only one; the others steal.
  for (std::uint32_t pe = 0; pe < pes; ++pe) workers_[0].ready.push_back(pe);
}

void Scheduler::push(std::size_t worker, std::uint32_t pe) {
  {
    const std::lock_guard lock(workers_[worker].mutex);
    workers_[worker].ready.push_back(pe);
  }
  ready_count_.fetch_add(1);
  // Either a worker going to sleep sees the count, or this sees the worker.
  if (sleepers_.load() == 0) return;
  const std::lock_guard lock(mutex_);
  condition_.notify_one();
}

std::optional<std::uint32_t> Scheduler::pop(std::size_t worker) {
  Worker& own = workers_[worker];
  const std::lock_guard lock(own.mutex);
  if (own.ready.empty()) return std::nullopt;
  const std::uint32_t pe = own.ready.front();
  own.ready.pop_front();
  ready_count_.fetch_sub(1);
  return pe;
}

/// Takes half of what another worker has ready.
std::optional<std::uint32_t> Scheduler::steal(std::size_t worker) {
  for (std::size_t i = 1; i < workers_.size(); ++i) {
    Worker& victim = workers_[(worker + i) % workers_.size()];
    std::vector<std::uint32_t> taken;
    {
      const std::lock_guard lock(victim.mutex);
      const auto half = static_cast<std::ptrdiff_t>((victim.ready.size() + 1) / 2);
      taken.assign(victim.ready.end() - half, victim.ready.end());
      victim.ready.erase(victim.ready.end() - half, victim.ready.end());
    }
    if (taken.empty()) continue;
    ready_count_.fetch_sub(1);
    const std::lock_guard lock(workers_[worker].mutex);
    workers_[worker].ready.insert(workers_[worker].ready.end(), taken.begin() + 1, taken.end());
    return taken.front();
  }
  return std::nullopt;
}

void Scheduler::park(std::size_t worker, std::uint32_t pe) {
  State expected = running;
  if (states_[pe].compare_exchange_strong(expected, parked)) {
    retire();
  } else {
    states_[pe].store(running);
    push(worker, pe);
  }
}

void Scheduler::finish() {
  unfinished_.fetch_sub(1);
  retire();
}

void Scheduler::wake(std::size_t worker, std::uint32_t pe) {
  State state = states_[pe].load();
  while (state != woken) {
    if (!states_[pe].compare_exchange_weak(state, state == parked ? running : woken)) continue;
    if (state == parked) {
      active_.fetch_add(1);
      push(worker, pe);
    }
    return;
  }
}

void Scheduler::retire() {
  if (active_.fetch_sub(1) == 1) end();
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

bool Scheduler::all_finished() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  return unfinished_.load() == 0;
}

}  // namespace cyclotron::runtime::local
