#include "shared.hpp"

#include "../messages.hpp"

namespace cyclotron::runtime::local {

Shared::Shared(const program::Program& program, const Arrays& arrays, std::size_t workers)
    : array(program, true),
      tensors(access_tensors(program, arrays, true)),
      links(array.links().size()),
      rows(array.network_rows()),
      scheduler(array.count(), workers) {
  for (std::size_t q = 0; q < links.size(); ++q) {
    const Link& link = array.links()[q];
    links[q].sender = link.sender;
    links[q].receiver = link.receiver;
    links[q].depth = static_cast<std::size_t>(array.depth(link.channel));
  }
  for (const auto& channel : program.channels) message_bytes.push_back(runtime::message_bytes(channel));
}

Queue& Shared::network_queue(std::uint32_t channel, std::uint32_t receiver_index, std::int64_t coordinate,
                             std::uint32_t sender) {
  Row& row = rows[array.row(channel, receiver_index)];
  const std::lock_guard lock(row.mutex);
  return row.queues.find(coordinate, [&] {
    const std::lock_guard all(network_mutex);
    Queue& queue = network_queues.emplace_back();
    queue.sender = sender;
    queue.receiver = array.ordinal(receiver_index);
    queue.depth = static_cast<std::size_t>(array.depth(channel));
    return &queue;
  });
}

}  // namespace cyclotron::runtime::local
