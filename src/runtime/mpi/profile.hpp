// The parts of a rank's time.
#pragma once
#include <time.h>

#include <array>
#include <chrono>
#include <cstdint>

#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::runtime::mpi {

/// Of one rank and one run; plain numbers, so that ranks can exchange it as bytes. Seconds are of wall time.
struct Profile {
  double seconds = 0;            ///< From the first instruction of any rank to the last.
  double processor_seconds = 0;  ///< That this thread had of a core meanwhile, polling included.
  double load_store = 0;         ///< Of tiles, from and to tensors.
  double exchange = 0;           ///< Passing messages to and from MPI between instructions.
  double finish = 0;             ///< From this rank's last instruction to the last of all.
  std::int64_t lent = 0;         ///< Bytes handed to other ranks in shared memory.
  std::int64_t sent = 0;         ///< Bytes of messages.
  std::int64_t messages = 0;
  std::int64_t loaded = 0;  ///< Words of tiles, from tensors.
  std::int64_t stored = 0;
  std::int64_t raised = 0;                                      ///< See `raised_flags`.
  std::array<double, operators::operator_count> compute{};      ///< On tiles, by operator.
  std::array<std::int64_t, operators::operator_count> flops{};  ///< The same.
  std::array<std::int64_t, program::most_exit_plans>
      skipped{};  ///< Iterations of loops that ended early, by exit plan.
};

/// Traffic between a rank and the others on a channel; or as tiles of a tensor that is distributed.
struct Traffic {
  double send = 0;  ///< Seconds in which tiles were copied into messages, or to memory that is lent.
  double wait = 0;  ///< Seconds in which no PE of the rank could go on, until a message here came for one.
  std::int64_t sent = 0;      ///< Bytes of numbers, to each rank.
  std::int64_t received = 0;  ///< The same.
};

/// One thing that a rank did.
struct Event {
  enum class Kind : std::uint32_t { compute, load, store, send, receive, wait, exchange };
  Kind kind = Kind::compute;
  std::uint32_t what = 0;    ///< Operator; tensor; or channel, from the program's number of them on tensors.
  std::uint32_t source = 0;  ///< Of a message: as `Record::source`.
  std::int32_t peer = -1;    ///< Of a send: to which rank.
  std::uint32_t pe = 0;      ///< Of computing, loads and stores: linear index, last grid dimension fastest.
  std::uint32_t rank = 0;
  std::int64_t bytes = 0;  ///< Of a message.
  double start = 0;        ///< Seconds.
  double end = 0;
};

/// Keeps up to so many events of a rank; none costs nothing.
class Events {
 public:
  explicit Events(std::int64_t limit) : limit_(static_cast<std::size_t>(limit)) {}
  [[nodiscard]] bool on() const { return limit_ > 0; }
  void add(const Event& event) {
    if (!on()) return;
    if (kept_.size() < limit_) {
      kept_.push_back(event);
    } else {
      ++dropped_;
    }
  }
  [[nodiscard]] std::vector<Event>& kept() { return kept_; }
  [[nodiscard]] std::int64_t dropped() const { return dropped_; }

 private:
  std::size_t limit_;
  std::vector<Event> kept_;
  std::int64_t dropped_ = 0;
};

/// One rank's account of a run.
struct Account {
  Profile profile;
  std::vector<Traffic> channels;  ///< Of the program.
  std::vector<Traffic> tensors;
  std::vector<Event> events;  ///< By `start`; from the start of the run.
  std::int64_t events_dropped = 0;
};

/// Of one clock a computer.
[[nodiscard]] inline double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of this thread.
[[nodiscard]] inline double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace cyclotron::runtime::mpi
