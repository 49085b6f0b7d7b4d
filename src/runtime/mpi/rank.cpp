#include "rank.hpp"

#include "../messages.hpp"

namespace cyclotron::runtime::mpi {

Rank::Rank(const program::Program& program, const Arrays& arrays, Transport& transport,
           const Progress& progress)
    : transport_(transport),
      array_(program, true,
             {static_cast<std::uint32_t>(transport.rank()), static_cast<std::uint32_t>(transport.size())}),
      tensors_(access_tensors(program, arrays, true)),
      pulse_(progress),
      links_(array_.links().size()),
      rows_(array_.network_rows()),
      interpreter_(*this, array_, tensors_) {
  for (std::size_t q = 0; q < links_.size(); ++q) links_[q].receiver = array_.links()[q].receiver;
  for (const auto& channel : program.channels) buffers_.emplace_back(message_bytes(channel));
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    stored_.emplace_back(program.tensors[t].role == program::Role::output ? tensors_[t].tiles() : 0);
  }
  for (const Pe& pe : array_.pes()) ready_.push(pe.ordinal);
}

/// Runs PEs, then looks after the messages.
void Rank::work() {
  constexpr std::int64_t work_a_poll = 1 << 12;
  work_ = 0;
  while (!ready_.empty() && work_ < work_a_poll) {
    const std::uint32_t ordinal = ready_.front();
    ready_.pop();
    Pe& pe = array_.pe(ordinal);
    const std::int64_t before = pe.executed;
    const Outcome outcome = interpreter_.run(pe, steps_a_turn);
    if (outcome == Outcome::done) ++done_;
    if (outcome == Outcome::paused) ready_.push(ordinal);
    work_ += outcome == Outcome::paused ? steps_a_turn : pe.executed - before + 1;
  }
  exchange();
  pulse_.tick(work_, [&] { return array_.fraction_done(); });
}

void Rank::exchange() {
  transport_.flush();
  transport_.poll([&](const Record& record, const std::byte* numbers) { take(record, numbers); });
  if (transport_.alarmed()) throw Stopped{};
}

void Rank::take(const Record& record, const std::byte* numbers) {
  const TileSize size{record.rows, record.columns};
  const auto& channel = array_.program().channels[record.channel];
  if (channel.kind == program::Channel::Kind::link) {
    return push(links_[record.source], record.channel, size, numbers, record.bytes);
  }
  const auto sender = array_.coordinates(record.source);
  std::int64_t stride = 1;
  for (std::size_t d = sender.size() - 1; d > channel.axis; --d) stride *= array_.program().grid[d];
  const std::int64_t own = sender[channel.axis];
  for (std::int64_t to = record.first; to <= record.last; ++to) {
    const auto receiver_index = static_cast<std::uint32_t>(record.source + (to - own) * stride);
    const std::uint32_t receiver = array_.ordinal(receiver_index);
    if (to == own || receiver == PeArray::none || !array_.in_part(receiver)) continue;
    push(network_queue(record.channel, receiver_index, own), record.channel, size, numbers, record.bytes);
  }
}

Rank::Queue& Rank::network_queue(std::uint32_t channel, std::uint32_t receiver_index,
                                 std::int64_t coordinate) {
  return rows_[array_.row(channel, receiver_index)].find(coordinate, [&] {
    Queue& queue = network_queues_.emplace_back();
    queue.receiver = array_.ordinal(receiver_index);
    return &queue;
  });
}

void Rank::push(Queue& queue, std::uint32_t channel, TileSize size, const std::byte* numbers,
                std::size_t bytes) {
  Payload payload;
  payload.size = size;
  if (Payload::fits(bytes)) {
    copy_scalar(payload.few.data(), numbers, bytes);
  } else {
    payload.many = buffers_[channel].take();
    std::memcpy(payload.many.get(), numbers, bytes);
  }
  queue.messages.push(std::move(payload));
  if (queue.receiver_waits) {
    queue.receiver_waits = false;
    ready_.push(queue.receiver);
  }
}

bool Rank::send(Pe& pe, const Step& step, const Packet& packet) {
  const std::uint32_t number = pe.queues[step.port];
  const std::uint32_t channel = pe.code->ports[step.port].channel;
  const auto& what = array_.program().channels[channel];
  if (number == PeArray::none) no_neighbour(what);
  require_fits(what, packet.size);
  const std::uint32_t receiver = links_[number].receiver;
  if (receiver == PeArray::none) return true;
  if (array_.in_part(receiver)) {
    push(links_[number], channel, packet.size, packet.data, packet.bytes);
  } else {
    transport_.send(static_cast<int>(array_.part_of(receiver)),
                    {.channel = channel,
                     .source = number,
                     .first = 0,
                     .last = 0,
                     .rows = packet.size.rows,
                     .columns = packet.size.columns,
                     .bytes = packet.bytes},
                    packet.data);
  }
  return true;
}

/// One record for each rank that has receivers; there it is copied to each.
bool Rank::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, const Packet& packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = array_.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = pe.variables[channel.axis];
  int sent_to = transport_.rank();
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver_index = array_.on_line(pe, channel.axis, to);
    const std::uint32_t receiver = array_.ordinal(receiver_index);
    if (to == own || receiver == PeArray::none) continue;
    if (array_.in_part(receiver)) {
      push(network_queue(number, receiver_index, own), number, packet.size, packet.data, packet.bytes);
      continue;
    }
    const int rank = static_cast<int>(array_.part_of(receiver));  // grows along the line
    if (rank == sent_to) continue;
    sent_to = rank;
    transport_.send(rank,
                    {.channel = number,
                     .source = pe.index,
                     .first = static_cast<std::int32_t>(first),
                     .last = static_cast<std::int32_t>(last),
                     .rows = packet.size.rows,
                     .columns = packet.size.columns,
                     .bytes = packet.bytes},
                    packet.data);
  }
  return true;
}

template <class Deliver>
bool Rank::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  Queue& queue = port.kind == Port::Kind::network_in ? network_queue(port.channel, pe.index, sender)
                                                     : links_[pe.queues[step.port]];
  if (queue.messages.empty()) {
    queue.receiver_waits = true;
    return false;
  }
  Payload& payload = queue.messages.front();
  deliver(payload.size, payload.data());
  if (payload.many) buffers_[port.channel].give(std::move(payload.many));
  queue.messages.pop();
  return true;
}

void Rank::computed(Pe&, const Step&, std::span<const Shape> operands) {
  if (operands.empty()) return;
  // A long operator: others may wait for what is on its way.
  const std::int64_t work = tile_work(operands);
  work_ += work;
  constexpr std::int64_t long_work = 1 << 12;
  if (work < long_work) return;
  exchange();
}

void Rank::stored(const Step& step, const std::int64_t* index) {
  stored_[step.tensor][tensors_[step.tensor].linear(index)] = 1;
}

}  // namespace cyclotron::runtime::mpi
