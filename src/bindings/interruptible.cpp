#include "interruptible.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include <cyclotron/support/interrupt.hpp>

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto time_between_looks = std::chrono::milliseconds(10);
constexpr auto time_to_end = std::chrono::milliseconds(30);  ///< Of work that was called off.

/// Work, and what its thread shares with the one that waits. Holds nothing of Python's: the last of the two frees it.
class Job {
 public:
  explicit Job(std::function<void(const runtime::Progress&)> work) : work_(std::move(work)) {}

  void run() noexcept {
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
  void end() {
    const std::lock_guard lock(mutex_);
    done_ = true;
    ended_.notify_all();
  }

  /// Returns whether the work has ended, which may take a while.
  bool wait() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, time_between_looks, [this] { return done_; });
  }
  [[nodiscard]] bool has_ended() {
    const std::lock_guard lock(mutex_);
    return done_;
  }
  void rethrow() const {
    if (failure_) std::rethrow_exception(failure_);
  }

  Interrupt interrupt;
  std::atomic<double> fraction = -1;

 private:
  std::function<void(const runtime::Progress&)> work_;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  std::exception_ptr failure_;
};

/// Threads that wait for the next job: to start one takes as long as a small run.
class Threads {
 public:
  /// Of this process: after a fork those of its parent are not there.
  static Threads& of_process() {
    static std::atomic<Threads*> threads = nullptr;  // never destroyed, as they may still run at the end
    auto* found = threads.load();
    if (found == nullptr || found->process_ != getpid()) threads = found = new Threads;
    return *found;
  }

  /// False where there are no more threads to be had.
  bool run(const std::shared_ptr<Job>& job) {
    std::unique_lock lock(mutex_);
    if (idle_ > jobs_.size()) {
      jobs_.push_back(job);
      waiting_.notify_one();
      return true;
    }
    lock.unlock();
    try {
      std::thread([this, job]() mutable { go_on(std::move(job)); }).detach();
    } catch (const std::system_error&) {
      return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t most_idle = 4;

  void go_on(std::shared_ptr<Job> job) {
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

  pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< For those that are idle.
  std::size_t idle_ = 0;
};

struct Abandoned {
  std::shared_ptr<Job> job;
  std::vector<py::object> inputs;
};

/// Under the GIL. Never destroyed: at the end of the process there is no Python to give inputs back to.
std::vector<Abandoned>& abandoned() {
  static auto& jobs = *new std::vector<Abandoned>;
  return jobs;
}

/// Called by exit(), before what was registered earlier: the destructors of the libraries that abandoned work still uses.
void leave(int status, void*) {
  if (std::ranges::all_of(abandoned(), [](const Abandoned& one) { return one.job->has_ended(); })) return;
  std::fflush(nullptr);
  _exit(status);
}

/// Under the GIL.
void abandon(const std::shared_ptr<Job>& job, std::vector<py::object> inputs) {
  [[maybe_unused]] static const int registered = on_exit(leave, nullptr);
  abandoned().push_back({job, std::move(inputs)});
}

void start(const std::shared_ptr<Job>& job) {
  if (Threads::of_process().run(job)) return;
  const py::gil_scoped_release release;  // nobody can call it off
  job->run();
  job->end();
}

/// Returns what a handler of signals or the callback raises; the callback may also end the work without an error.
std::optional<py::error_already_set> look(Job& job, const py::object& callback) {
  try {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!callback.is_none() && !py::bool_(callback(job.fraction.load()))) job.interrupt.raise();
  } catch (py::error_already_set& error) {
    return std::move(error);
  }
  return std::nullopt;
}

}  // namespace

void run_interruptibly(const py::object& callback, std::vector<py::object> inputs,
                       std::function<void(const runtime::Progress&)> work) {
  std::erase_if(abandoned(), [](const Abandoned& one) { return one.job->has_ended(); });
  const auto job = std::make_shared<Job>(std::move(work));
  start(job);
  std::optional<py::error_already_set> raised;
  auto until = Clock::time_point::max();
  for (bool ended = false; !ended && Clock::now() < until;) {
    {
      const py::gil_scoped_release release;
      ended = job->wait();
    }
    if (raised) continue;
    raised = look(*job, ended ? py::none() : callback);
    if (!raised) continue;
    job->interrupt.raise();
    until = Clock::now() + time_to_end;
  }
  if (!job->has_ended()) abandon(job, std::move(inputs));
  if (raised) throw std::move(*raised);
  job->rethrow();
}

}  // namespace cyclotron::bindings
