// State that the threads of a run share: the PEs and the queues between them.
#pragma once
#include <deque>
#include <mutex>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../engine/pe_array.hpp"
#include "../engine/ring.hpp"
#include "../engine/tensors.hpp"
#include "queue.hpp"
#include "scheduler.hpp"

namespace cyclotron::runtime::local {

/// State that all threads of a run share.
struct Shared {
  /// Queues are as deep as the machine says, or deeper where they hold fewer than `least_bytes`.
  Shared(const program::Program& program, const Arrays& arrays, std::size_t workers, std::size_t least_bytes);
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared();
  /// Before a PE runs for the first time: sets up the queues of the links that it sends on.
  void begin(const Pe& pe);
  Queue& network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                       std::uint32_t sender);

  PeArray array;
  std::vector<TensorAccess> tensors;
  BlockDepot depot;
  std::deque<BlockPool> pools;  ///< By worker.
  ZeroTable<Queue> links;
  struct Row {
    std::mutex mutex;
    QueueRow<Queue> queues;
  };
  std::vector<Row> rows;
  std::mutex network_mutex;
  std::deque<Queue> network_queues;
  Scheduler scheduler;

 private:
  struct Kind {
    MessageShape message;
    std::int64_t least_depth = 0;
  };
  void set_up(Queue& queue, const Link& link) const;
  std::vector<Kind> kinds_;  ///< By channel.
};

}  // namespace cyclotron::runtime::local
