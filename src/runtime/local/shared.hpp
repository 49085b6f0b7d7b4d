// What the threads of a run share: the PEs and the queues between them.
#pragma once
#include <deque>
#include <mutex>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../pe_array.hpp"
#include "../ring.hpp"
#include "../tensors.hpp"
#include "queue.hpp"
#include "scheduler.hpp"

namespace cyclotron::runtime::local {

/// What all threads of a run share.
struct Shared {
  /// Queues are as deep as the machine says, or deeper where they hold fewer than `least_bytes`.
  Shared(const program::Program& program, const Arrays& arrays, std::size_t workers, std::size_t least_bytes);
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                       std::uint32_t sender);

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
  Scheduler scheduler;

 private:
  void set_up(Queue& queue, std::uint32_t channel, std::uint32_t sender, std::uint32_t receiver) const;
  std::size_t least_bytes_;
};

}  // namespace cyclotron::runtime::local
