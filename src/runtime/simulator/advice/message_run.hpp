// A run of messages alone. Which PEs can go on depends on messages and depths, never on numbers, sizes or times, so this is
// all that a search for depths has to try.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "../../engine/interpreter.hpp"
#include "../../engine/pe_array.hpp"
#include "../../engine/progress_ticker.hpp"
#include "../../engine/ready_set.hpp"
#include "../timing/wait_cycle.hpp"

namespace cyclotron::runtime::simulator {

/// Numbers of messages that queues hold: their own depth, or what their channel is given here; none less than `least`.
struct QueueDepths {
  std::vector<std::int64_t> given{};  ///< By channel; 0: the queue's own. Empty: for all their own.
  std::int64_t least = 0;
};

/// Tables that the runs of a program share.
class MessageArray {
 public:
  /// Throws as PeArray.
  explicit MessageArray(const program::Program& program);

  [[nodiscard]] const PeArray& pes() const { return pes_; }
  [[nodiscard]] const Pe& pe(std::uint32_t ordinal) const { return pes_.pes()[ordinal]; }
  /// Of a class, by step: the first one from there on that messages depend on.
  [[nodiscard]] const std::uint32_t* next(const Code& code) const { return next_[code.index].data(); }
  /// Numbers that a PE keeps: its coordinates and loop variables, then the last values of these.
  [[nodiscard]] std::size_t registers() const { return registers_; }

 private:
  PeArray pes_;
  std::vector<std::vector<std::uint32_t>> next_;
  std::size_t registers_ = 0;
};

/// A copy goes on from where the original stands, at the cost of its memory.
class MessageRun {
 public:
  /// Refers to the array.
  MessageRun(const MessageArray& array, QueueDepths depths);

  /// Runs until every PE is done (true), or until none can go on or no steps are left (false), from which it goes on
  /// after `deepen`. Takes the steps that it does from `steps_left`. Throws ExecutionError CYC706 where a message leaves
  /// the grid, and as `ProgressTicker::tick`.
  bool run(std::int64_t& steps_left, ProgressTicker& ticker);
  /// Requires: no queue's depth is less than before.
  void deepen(QueueDepths depths);
  /// After `run` returned false with steps left: one entry a PE that is not done, in order, without its cycle.
  [[nodiscard]] std::vector<Wait> waits();

 private:
  struct Queue {
    std::uint32_t sent = 0;  ///< Steps are limited, so that these do not wrap around.
    std::uint32_t received = 0;
    std::uint32_t channel = 0;
    std::uint32_t sender = PeArray::none;  ///< Ordinals.
    std::uint32_t receiver = PeArray::none;
    std::int64_t own_depth = 0;
    bool sender_waits = false;
    bool receiver_waits = false;
  };

  Outcome advance(std::uint32_t ordinal, std::int64_t& steps_left);
  Outcome advance(const Pe& pe, std::uint32_t& counter, std::int64_t* variables, std::int64_t& steps_left);
  bool send(const Pe& pe, const Step& step);
  bool broadcast(const Pe& pe, const Step& step, const std::int64_t* variables);
  bool receive(const Pe& pe, const Step& step, const std::int64_t* variables);
  [[nodiscard]] std::int64_t depth(const Queue& queue) const {
    const std::int64_t given = depths_.given.empty() ? 0 : depths_.given[queue.channel];
    return std::max(given > 0 ? given : queue.own_depth, depths_.least);
  }
  [[nodiscard]] bool has_place(const Queue& queue) const {
    return queue.sent - queue.received < depth(queue);
  }
  /// The first queue of a broadcast that has no place; null where all have.
  Queue* full_queue(const Pe& pe, const Step& step, const std::int64_t* variables);
  const Queue& waited_for(const Pe& pe, const Step& step, const std::int64_t* variables);
  Queue& queue_from(const Pe& pe, const Step& step, const std::int64_t* variables);
  template <class Visit>
  void each_receiver(const Pe& pe, const Step& step, const std::int64_t* variables, Visit visit);
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                       std::uint32_t sender);
  void put(Queue& queue);

  const MessageArray* array_;
  QueueDepths depths_;
  std::vector<std::uint32_t> counters_;  // By ordinal: the next step.
  std::vector<std::int64_t> registers_;  // By ordinal.
  std::vector<Queue> queues_;            // The links', then those of networks as they are used.
  /// By row of a network: where the queues from the senders' coordinates are.
  std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>> rows_;
  ReadySet ready_;
  std::uint32_t done_ = 0;
};

}  // namespace cyclotron::runtime::simulator
