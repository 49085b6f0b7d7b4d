#include "shared.hpp"

#include <algorithm>

#include "../messages.hpp"

namespace cyclotron::runtime::local {

Shared::Shared(const program::Program& program, const Arrays& arrays, std::size_t workers,
               std::size_t least_bytes)
    : array(program, true),
      tensors(access_tensors(program, arrays, true)),
      links(array.links().size()),
      rows(array.network_rows()),
      scheduler(array.count(), workers),
      least_bytes_(least_bytes) {
  for (std::size_t q = 0; q < links.size(); ++q) {
    const Link& link = array.links()[q];
    set_up(links[q], link.channel, link.sender, link.receiver);
  }
}

void Shared::set_up(Queue& queue, std::uint32_t channel, std::uint32_t sender, std::uint32_t receiver) const {
  const program::Channel& what = array.program().channels[channel];
  const MessageShape shape{.bytes = message_bytes(what), .scalar = what.tile == Shape{}};
  const auto fit = static_cast<std::int64_t>(least_bytes_ / shape.bytes);
  queue.set_up(std::max(array.depth(channel, sender), fit), sender, receiver, shape);
}

Queue& Shared::network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                             std::uint32_t sender) {
  Row& row = rows[array.row(channel, receiver_index)];
  const std::lock_guard lock(row.mutex);
  return row.queues.find(coordinate, [&] {
    const std::lock_guard all(network_mutex);
    Queue& queue = network_queues.emplace_back();
    set_up(queue, channel, sender, array.ordinal(receiver_index));
    return &queue;
  });
}

}  // namespace cyclotron::runtime::local
