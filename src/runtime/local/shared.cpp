#include "shared.hpp"

#include <algorithm>

#include "../engine/messages.hpp"

namespace cyclotron::runtime::local {

Shared::Shared(const program::Program& program, const Arrays& arrays, std::size_t workers,
               std::size_t least_bytes)
    : array(program, true),
      tensors(access_tensors(program, arrays, true)),
      links(array.links().size()),
      rows(array.network_rows()),
      scheduler(array.count(), std::clamp<std::size_t>(workers, 1, std::max(1U, array.count()))) {
  for (std::size_t worker = 0; worker < scheduler.workers(); ++worker) pools.emplace_back(depot);
  for (const auto& channel : program.channels) {
    const MessageShape message{.bytes = message_bytes(channel), .scalar = channel.tile == Shape{}};
    kinds_.push_back({message, static_cast<std::int64_t>(least_bytes / message.bytes)});
  }
}

/// Once all PEs are done their links have no blocks.
Shared::~Shared() {
  if (!scheduler.finished()) {
    for (Queue& queue : links) queue.free_blocks(pools.front());
  }
  for (Queue& queue : network_queues) queue.free_blocks(pools.front());
}

void Shared::begin(const Pe& pe) {
  for (std::size_t p = 0; p < pe.code->ports.size(); ++p) {
    if (pe.code->ports[p].kind != Port::Kind::link_out || pe.queues[p] == PeArray::none) continue;
    set_up(links[pe.queues[p]], array.links()[pe.queues[p]]);
  }
}

void Shared::set_up(Queue& queue, const Link& link) const {
  const Kind& kind = kinds_[link.channel];
  queue.set_up({.depth = std::max(array.depth(link.channel, link.sender), kind.least_depth),
                .sender = link.sender,
                .receiver = link.receiver,
                .received = link.received,
                .message = kind.message});
}

Queue& Shared::network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                             std::uint32_t sender) {
  Row& row = rows[array.row(channel, receiver_index)];
  const std::lock_guard lock(row.mutex);
  return row.queues.find(coordinate, [&] {
    const std::lock_guard all(network_mutex);
    Queue& queue = network_queues.emplace_back();
    set_up(
        queue,
        {.channel = channel, .sender = sender, .receiver = array.ordinal(receiver_index), .received = true});
    return &queue;
  });
}

}  // namespace cyclotron::runtime::local
