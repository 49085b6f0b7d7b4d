// Threads that do work for those of Python.
#pragma once
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include <cyclotron/runtime/runtime.hpp>
#include <cyclotron/support/interrupt.hpp>

namespace cyclotron::bindings {

/// Work, and what its thread shares with the one that waits. Holds nothing of Python's: the last of the two frees it.
class Job {
 public:
  explicit Job(std::function<void(const runtime::Progress&)> work) : work_(std::move(work)) {}

  void run() noexcept;
  /// After it: lets the one go on who waits.
  void end();

  /// Returns whether the work has ended, which may take a while.
  bool wait();
  [[nodiscard]] bool has_ended();
  void rethrow() const;

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
  static Threads& of_process();

  /// False where there are no more threads to be had.
  bool run(const std::shared_ptr<Job>& job);

 private:
  void go_on(std::shared_ptr<Job> job);

  pid_t process_ = getpid();
  std::mutex mutex_;
  std::condition_variable waiting_;
  std::deque<std::shared_ptr<Job>> jobs_;  ///< For those that are idle.
  std::size_t idle_ = 0;
};

}  // namespace cyclotron::bindings
