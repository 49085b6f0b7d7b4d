// The host of PEs on threads of this process: bounded queues, each with a lock of its own.
#pragma once
#include <deque>
#include <mutex>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../interpreter.hpp"
#include "../messages.hpp"
#include "../pulse.hpp"
#include "../ring.hpp"
#include "scheduler.hpp"

namespace cyclotron::runtime::local {

/// One sender, one receiver: a place that the sender saw free, or a message that the receiver saw, stays so.
struct Queue {
  std::mutex mutex;
  Ring<Payload> messages;
  std::vector<Buffer> free;
  std::size_t depth = 1;
  std::uint32_t sender = PeArray::none;  ///< Ordinals.
  std::uint32_t receiver = PeArray::none;
  bool sender_waits = false;
  bool receiver_waits = false;
};

/// What all threads of a run share.
struct Shared {
  Shared(const program::Program& program, const Arrays& arrays, std::size_t workers);
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate, std::uint32_t sender);

  PeArray array;
  std::vector<TensorAccess> tensors;
  std::vector<Queue> links;
  struct Row {
    std::mutex mutex;
    QueueRow<Queue> queues;
  };
  std::vector<Row> rows;
  std::mutex network_mutex;
  std::deque<Queue> network_queues;
  std::vector<std::size_t> message_bytes;  ///< By channel.
  Scheduler scheduler;
};

/// Thrown through a PE's code where another thread has ended the run.
struct Stopped {};

/// One thread. Worker 0 is the caller's and answers for progress.
class Worker {
 public:
  static constexpr bool functional = true;

  Worker(Shared& shared, std::size_t number, const Progress& progress);

  /// Runs PEs until the run is over. `on_work` is called after every turn with the work done, about an instruction a unit.
  template <class OnWork>
  void run(OnWork on_work);

  // What the interpreter asks for.
  bool send(Pe& pe, const Step& step, const Packet& packet);
  bool broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet);
  template <class Deliver>
  bool receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver);
  void computed(Pe& pe, const Step& step, std::span<const Shape> operands);
  void stored(const Step&, const std::int64_t*) {}

 private:
  static constexpr std::int64_t steps_a_turn = 4096;
  [[nodiscard]] static bool has_place(Queue& queue);
  void put(Queue& queue, std::uint32_t channel, const Packet& packet);
  void wake(std::uint32_t pe) {
    if (pe != PeArray::none) shared_.scheduler.wake(number_, pe);
  }

  Shared& shared_;
  std::size_t number_;
  Pulse pulse_;
  std::int64_t tile_work_ = 0;
};

template <class OnWork>
void Worker::run(OnWork on_work) {
  try {
    Interpreter interpreter(*this, shared_.array, shared_.tensors);
    const auto idle = [&] { pulse_.beat([] { return -1.0; }); };
    while (const auto ordinal = shared_.scheduler.next(number_, idle)) {
      Pe& pe = shared_.array.pe(*ordinal);
      const std::int64_t before = pe.executed;
      const Outcome outcome = interpreter.run(pe, steps_a_turn);
      const std::int64_t work = outcome == Outcome::paused ? steps_a_turn : pe.executed - before + 1;
      pulse_.tick(work, [&] { return PeArray::fraction_done(pe); });
      on_work(work + tile_work_);
      tile_work_ = 0;
      switch (outcome) {  // from here on the PE may be another thread's
        case Outcome::done: shared_.scheduler.finish(); break;
        case Outcome::paused: shared_.scheduler.pause(number_, *ordinal); break;
        case Outcome::blocked: shared_.scheduler.park(number_, *ordinal); break;
      }
    }
  } catch (const Stopped&) {
  } catch (...) {
    shared_.scheduler.fail(std::current_exception());
  }
}

}  // namespace cyclotron::runtime::local
