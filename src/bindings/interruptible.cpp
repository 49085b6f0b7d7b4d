#include "interruptible.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "jobs.hpp"

namespace py = pybind11;
namespace cyclotron::bindings {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto time_to_end = std::chrono::milliseconds(30);  ///< Of work that was called off.

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
