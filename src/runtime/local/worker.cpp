#include "worker.hpp"

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

Worker::Worker(Shared& shared, std::size_t number, const Progress& progress)
    : shared_(shared), number_(number), pulse_(progress) {}

/// Where there is no place, the sender is woken when there is.
bool Worker::has_place(Queue& queue) {
  const std::lock_guard lock(queue.mutex);
  if (queue.messages.size() < queue.depth) return true;
  queue.sender_waits = true;
  return false;
}

/// Requires: has_place(queue). Numbers are copied outside of the lock.
void Worker::put(Queue& queue, std::uint32_t channel, const Packet& packet) {
  Payload payload;
  payload.size = packet.size;
  if (Payload::fits(packet.bytes)) {
    copy_scalar(payload.few.data(), packet.data, packet.bytes);
  } else {
    {
      const std::lock_guard lock(queue.mutex);
      if (!queue.free.empty()) {
        payload.many = std::move(queue.free.back());
        queue.free.pop_back();
      }
    }
    if (!payload.many) payload.many = std::make_unique_for_overwrite<std::byte[]>(shared_.message_bytes[channel]);
    std::memcpy(payload.many.get(), packet.data, packet.bytes);
  }
  bool waits = false;
  {
    const std::lock_guard lock(queue.mutex);
    queue.messages.push(std::move(payload));
    waits = std::exchange(queue.receiver_waits, false);
  }
  if (waits) wake(queue.receiver);
}

bool Worker::send(Pe& pe, const Step& step, const Packet& packet) {
  const std::uint32_t number = pe.queues[step.port];
  const std::uint32_t channel = pe.code->ports[step.port].channel;
  const auto& what = shared_.array.program().channels[channel];
  if (number == PeArray::none) no_neighbour(what);
  require_fits(what, packet.size);
  if (!has_place(shared_.links[number])) return false;
  put(shared_.links[number], channel, packet);
  return true;
}

bool Worker::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = shared_.array.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = pe.variables[channel.axis];
  const auto queue_to = [&](std::int64_t to) -> Queue& {
    return shared_.network_queue(number, shared_.array.on_line(pe, channel.axis, to), own, pe.ordinal);
  };
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own && !has_place(queue_to(to))) return false;
  }
  for (std::int64_t to = first; to <= last; ++to) {
    if (to != own) put(queue_to(to), number, packet);
  }
  return true;
}

template <class Deliver>
bool Worker::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  Queue* queue = nullptr;
  if (port.kind == Port::Kind::network_in) {
    const auto axis = shared_.array.program().channels[port.channel].axis;
    const auto sender_index = shared_.array.on_line(pe, axis, sender);
    queue = &shared_.network_queue(port.channel, pe.index, sender, shared_.array.ordinal(sender_index));
  } else {
    queue = &shared_.links[pe.queues[step.port]];
  }
  Payload payload;
  bool waits = false;
  {
    const std::lock_guard lock(queue->mutex);
    if (queue->messages.empty()) {
      queue->receiver_waits = true;
      return false;
    }
    payload = std::move(queue->messages.front());
    queue->messages.pop();
    waits = std::exchange(queue->sender_waits, false);
  }
  deliver(payload.size, payload.data());
  if (payload.many) {
    const std::lock_guard lock(queue->mutex);
    queue->free.push_back(std::move(payload.many));
  }
  if (waits) wake(queue->sender);
  return true;
}

void Worker::computed(Pe& pe, const Step&, std::span<const Shape> operands) {
  if (operands.empty()) return;
  const std::int64_t work = runtime::tile_work(operands);
  tile_work_ += work;
  if (shared_.scheduler.over()) throw Stopped{};
  pulse_.tick(work, [&] { return PeArray::fraction_done(pe); });
}

// Instantiated here, where `receive` is.
template class runtime::Interpreter<Worker>;

}  // namespace cyclotron::runtime::local
