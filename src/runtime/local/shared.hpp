// What the threads of a run share: the PEs and bounded queues, each with a lock of its own.
#pragma once
#include <deque>
#include <mutex>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

#include "../pe_array.hpp"
#include "../ring.hpp"
#include "../tensors.hpp"
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
  std::vector<std::size_t> message_bytes;  ///< By channel.
  Scheduler scheduler;
};

}  // namespace cyclotron::runtime::local
