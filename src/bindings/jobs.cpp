#include "jobs.hpp"

#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

namespace cyclotron::bindings {

namespace {

constexpr auto time_between_looks = std::chrono::milliseconds(10);
constexpr std::size_t most_idle = 4;

}  // namespace

void Job::run() noexcept {
  const Interrupt::Scope scope(interrupt);
  try {
    work_([this](double done) {
      fraction = done;
      return !interrupt.raised();
    });
  } catch (...) {
    failure_ = std::current_exception();
  }
}

void Job::end() {
  const std::lock_guard lock(mutex_);
  done_ = true;
  ended_.notify_all();
}

bool Job::wait() {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time_between_looks, [this] { return done_; });
}

bool Job::has_ended() {
  const std::lock_guard lock(mutex_);
  return done_;
}

void Job::rethrow() const {
  if (failure_) std::rethrow_exception(failure_);
}

Threads& Threads::of_process() {
  static std::atomic<Threads*> threads = nullptr;  // never destroyed, as they may still run at the end
  auto* found = threads.load();
  if (found == nullptr || found->process_ != getpid()) threads = found = new Threads;
  return *found;
}

bool Threads::run(const std::shared_ptr<Job>& job) {
  std::unique_lock lock(mutex_);
  if (idle_ > jobs_.size()) {
    jobs_.push_back(job);
    waiting_.notify_one();
    return true;
  }
  lock.unlock();
  try {
    std::thread([this, own = job]() mutable { go_on(std::move(own)); }).detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Threads::go_on(std::shared_ptr<Job> job) {
  for (;;) {
    job->run();
    std::unique_lock lock(mutex_);
    const bool stays = idle_ < most_idle;
    if (stays) ++idle_;  // before the one who waits for the end has another job
    job->end();
    job.reset();
    if (!stays) return;
    waiting_.wait(lock, [this] { return !jobs_.empty(); });
    job = std::move(jobs_.front());
    jobs_.pop_front();
    --idle_;
  }
}

}  // namespace cyclotron::bindings
