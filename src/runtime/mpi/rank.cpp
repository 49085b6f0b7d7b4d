#include "rank.hpp"

#include <algorithm>

#include "../engine/messages.hpp"

namespace cyclotron::runtime::mpi {

Rank::Rank(const program::Program& program, const Arrays& arrays, const DistributedTensors& distributed,
           const std::optional<BlockCyclic>& dealt, std::int64_t event_limit, const LoopSettings& loops,
           Transport& transport, const Progress& progress)
    : transport_(transport),
      array_(program, true,
             {static_cast<std::uint32_t>(transport.rank()), static_cast<std::uint32_t>(transport.size()),
              dealt}),
      tensors_(access_tensors(program, arrays, true)),
      ticker_(progress),
      links_(array_.links().size()),
      rows_(array_.network_rows()),
      tiles_(array_.tile_count()),
      distributed_(distributed),
      traffic_(program.channels.size() + program.tensors.size()),
      events_(event_limit),
      interpreter_(*this, array_, tensors_) {
  for (std::size_t q = 0; q < links_.size(); ++q) {
    const Link& link = array_.links()[q];
    const auto& channel = program.channels[link.channel];
    links_[q].receiver = link.receiver;
    if (channel.tile == Shape{})
      links_[q].scalar_bytes = static_cast<std::uint8_t>(operators::size_bytes(channel.dtype));
  }
  for (std::size_t t = 0; t < tensors_.size(); ++t) {
    const bool output = program.tensors[t].role == program::Role::output;
    stored_.emplace_back(output ? tensors_[t].tiles() : 0);
    held_.emplace_back();
    if (distributed_[t] == nullptr) continue;
    if (output) {
      held_[t].resize(tensors_[t].tiles());
    } else {
      held_[t] = distributed_[t]->tiles;
    }
  }
  for (const Pe& pe : array_.pes()) ready_.push(pe.ordinal);
  loops_.emplace(array_, tensors_, loops, &stored_);
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
  loops_->poll();
  exchange();
  if (finished()) finished_ = wall_seconds();
  ticker_.tick(work_, [&] { return array_.fraction_done(); });
}

void Rank::exchange() {
  const double begun = wall_seconds();
  transport_.flush();
  if (!transport_.quiet()) {
    transport_.poll([&](const Record& record, const std::byte* numbers, const Tile& holder) {
      take(record, numbers, holder);
    });
  }
  exchanged(begun);
  if (transport_.alarmed()) throw Stopped{};
}

void Rank::exchanged(double begun) {
  const double now = wall_seconds();
  profile_.exchange += now - begun;
  events_.add({.kind = Event::Kind::exchange, .start = begun, .end = now});
}

std::uint32_t Rank::number_of(std::uint32_t channel) const {
  if ((channel & Record::of_tensor) == 0) return channel;
  return static_cast<std::uint32_t>(array_.program().channels.size()) + (channel & ~Record::of_tensor);
}

void Rank::take(const Record& record, const std::byte* numbers, const Tile& holder) {
  hand_out(record, numbers, holder);
  Traffic& traffic = on(record.channel);
  const auto bytes = static_cast<std::int64_t>(record.bytes);
  traffic.received += bytes;
  const bool resumes = waits_since_ != works && can_work();
  if (!resumes && !events_.on()) return;
  const double now = wall_seconds();
  const std::uint32_t what = number_of(record.channel);
  if (resumes) {
    const double since = std::exchange(waits_since_, works);
    traffic.wait += now - since;
    events_.add({.kind = Event::Kind::wait, .what = what, .start = since, .end = now});
  }
  events_.add({.kind = Event::Kind::receive,
               .what = what,
               .source = record.source,
               .bytes = bytes,
               .start = now,
               .end = now});
}

/// To the queues of its receivers.
void Rank::hand_out(const Record& record, const std::byte* numbers, const Tile& holder) {
  const TileSize size{record.rows, record.columns};
  if ((record.channel & Record::of_tensor) != 0) {
    Tile& tile = held_[record.channel & ~Record::of_tensor][record.source];
    tile = holder ? holder.at(holder.data() + (numbers - holder.data()))
                  : Arena::instance().take(record.bytes, Reach::computer);
    if (!holder) std::memcpy(tile.data(), numbers, record.bytes);
    --missing_;
    return;
  }
  const auto& channel = array_.program().channels[record.channel];
  if (channel.kind == program::Channel::Kind::link) {
    Queue& queue = links_[record.source];
    if (queue.scalar_bytes == 0) return push(queue, size, numbers, record.bytes, holder);
    queue.scalars.push(numbers, record.bytes);
    return wake_receiver(queue);
  }
  const std::int64_t own = array_.along(record.source, channel.axis);
  for (std::int64_t to = record.first; to <= record.last; ++to) {
    const std::uint32_t receiver_index = array_.on_line(record.source, channel.axis, to);
    const std::uint32_t receiver = array_.ordinal(receiver_index);
    if (to == own || receiver == PeArray::none || !array_.in_part(receiver) ||
        !array_.leads_to(record.channel, receiver_index))
      continue;
    push(network_queue(record.channel, receiver_index, own), size, numbers, record.bytes, holder);
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

void Rank::push(Queue& queue, TileSize size, const std::byte* numbers, std::size_t bytes,
                const Tile& holder) {
  Message message;
  message.size = size;
  if (bytes <= message.few.size()) {
    copy_scalar(message.few.data(), numbers, bytes);
  } else if (holder) {
    message.many = holder.at(holder.data() + (numbers - holder.data()));
  } else {
    message.many = Arena::instance().take(bytes, Reach::computer);
    std::memcpy(message.many.data(), numbers, bytes);
  }
  queue.messages.push(std::move(message));
  wake_receiver(queue);
}

void Rank::wake_receiver(Queue& queue) {
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
  Queue& queue = links_[number];
  if (queue.receiver == PeArray::none) return true;
  if (!array_.in_part(queue.receiver)) {
    Packet sent = packet;
    transmit(array_.part_of(queue.receiver), {.channel = channel, .source = number}, sent);
  } else if (queue.scalar_bytes == 0) {
    push(queue, packet.size, packet.data, packet.bytes, holder_of(packet));
  } else {
    queue.scalars.push(packet.data, packet.bytes);
    wake_receiver(queue);
  }
  return true;
}

void Rank::transmit(std::uint32_t part, Record record, Packet& packet) {
  const int destination = static_cast<int>(part);
  // Scalars, and tiles that are lent as they are, take no longer than the clock.
  const bool copied = packet.tile != Packet::no_tile && (!transport_.lends(destination, packet.bytes) ||
                                                         tiles_[packet.tile].block()->segment < 0);
  const double begun = copied || events_.on() ? wall_seconds() : untimed;
  if (packet.tile != Packet::no_tile) {
    make_lendable(tiles_[packet.tile], destination, packet.bytes);
    packet.data = tiles_[packet.tile].data();
  }
  record.rows = packet.size.rows;
  record.columns = packet.size.columns;
  record.bytes = packet.bytes;
  transport_.send(destination, record, packet.data, holder_of(packet));
  handed_over(record, destination, begun);
}

void Rank::handed_over(const Record& record, int destination, double begun) {
  Traffic& traffic = on(record.channel);
  const auto bytes = static_cast<std::int64_t>(record.bytes);
  traffic.sent += bytes;
  if (begun == untimed) return;
  const double now = wall_seconds();
  traffic.send += now - begun;
  events_.add({.kind = Event::Kind::send,
               .what = number_of(record.channel),
               .source = record.source,
               .peer = destination,
               .bytes = bytes,
               .start = begun,
               .end = now});
}

void Rank::make_lendable(Tile& tile, int destination, std::size_t bytes) const {
  if (!transport_.lends(destination, bytes) || tile.block()->segment >= 0) return;
  Tile copy = Arena::instance().take(bytes, Reach::computer);
  std::memcpy(copy.data(), tile.data(), bytes);
  tile = std::move(copy);
}

Scalars Rank::arrived(const Pe& pe, std::uint32_t port) {
  Queue& queue = links_[pe.queues[port]];
  return {queue.scalars.front(), static_cast<std::int64_t>(queue.scalars.size() / queue.scalar_bytes)};
}

void Rank::taken(const Pe& pe, std::uint32_t port, std::int64_t count) {
  Queue& queue = links_[pe.queues[port]];
  queue.scalars.pop(static_cast<std::size_t>(count) * queue.scalar_bytes);
}

/// Those for another rank, and for nobody, are written where this rank's queue would keep them.
Scalars Rank::room(const Pe& pe, std::uint32_t port) {
  Queue& queue = links_[pe.queues[port]];
  if (queue.receiver == pe.ordinal) return {};  // what it reads may have to move for what it writes
  return {queue.scalars.room(static_cast<std::size_t>(queue.at_once) * queue.scalar_bytes), queue.at_once};
}

void Rank::sent(const Pe& pe, std::uint32_t port, std::int64_t count) {
  Queue& queue = links_[pe.queues[port]];
  if (count == queue.at_once) queue.at_once = std::min(2 * queue.at_once, Queue::most_at_once);
  if (queue.receiver == PeArray::none) return;
  const std::size_t bytes = static_cast<std::size_t>(count) * queue.scalar_bytes;
  if (array_.in_part(queue.receiver)) {
    queue.scalars.push(bytes);
    wake_receiver(queue);
  } else {
    const std::uint32_t link = pe.queues[port];
    Packet packet{.size = {1, 1}, .data = queue.scalars.room(0), .bytes = bytes};
    transmit(array_.part_of(queue.receiver), {.channel = array_.links()[link].channel, .source = link},
             packet);
  }
}

/// One record for each rank that has receivers; there it is copied to each.
bool Rank::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last, Packet packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = array_.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = array_.along(pe.index, channel.axis);
  reached_.assign(static_cast<std::size_t>(transport_.size()), 0);
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver_index = array_.on_line(pe, channel.axis, to);
    const std::uint32_t receiver = array_.ordinal(receiver_index);
    if (to == own || receiver == PeArray::none || !array_.leads_to(number, receiver_index)) continue;
    if (array_.in_part(receiver)) {
      push(network_queue(number, receiver_index, own), packet.size, packet.data, packet.bytes,
           holder_of(packet));
      continue;
    }
    const std::uint32_t rank = array_.part_of(receiver);
    if (std::exchange(reached_[rank], 1) != 0) continue;
    transmit(rank,
             {.channel = number,
              .source = pe.index,
              .first = static_cast<std::int32_t>(first),
              .last = static_cast<std::int32_t>(last)},
             packet);
  }
  return true;
}

template <class Deliver>
bool Rank::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  Queue& queue = port.kind == Port::Kind::network_in ? network_queue(port.channel, pe.index, sender)
                                                     : links_[pe.queues[step.port]];
  if (queue.messages.empty() && queue.scalars.empty()) {
    queue.receiver_waits = true;
    return false;
  }
  if (queue.scalar_bytes != 0) {
    deliver(TileSize{1, 1}, static_cast<const std::byte*>(queue.scalars.front()));
    queue.scalars.pop(queue.scalar_bytes);
    return true;
  }
  Message message = std::move(queue.messages.front());
  queue.messages.pop();
  if (message.many) {
    deliver(message.size, std::move(message.many));
  } else {
    deliver(message.size, static_cast<const std::byte*>(message.few.data()));
  }
  return true;
}

/// Flushes before a long operator, so that messages do not wait for its end: an operand that is passed on first lets the
/// next rank compute at the same time.
void Rank::computing(std::span<const Shape> operands) {
  started();
  if (tile_work(operands) < long_work) return;
  const double begun = started_;
  transport_.flush();
  exchanged(begun);
  started();
}

void Rank::computed(Pe& pe, const Step& step, std::span<const Shape> operands) {
  if (operands.empty()) return;
  const double now = wall_seconds();
  const auto op = static_cast<std::size_t>(step.op);
  profile_.compute[op] += now - started_;
  profile_.flops[op] += flops(step, operands);
  events_.add({.kind = Event::Kind::compute,
               .what = static_cast<std::uint32_t>(step.op),
               .pe = pe.index,
               .start = started_,
               .end = now});
  // A long operator: others may wait for what is on its way.
  const std::int64_t work = tile_work(operands);
  work_ += work;
  if (work < long_work) return;
  exchange();
}

std::int64_t Rank::flops(const Step& step, std::span<const Shape> operands) {
  Counted& last = counted_[static_cast<std::size_t>(step.op)];
  if (last.flops < 0 || last.flags != step.flags || !std::ranges::equal(last.operands(), operands)) {
    last.flags = step.flags;
    last.count = operands.size();
    std::ranges::copy(operands, last.shapes.begin());
    last.flops = operators::flops(step.op, step.flags, operands);
  }
  return last.flops;
}

void Rank::accessed(const Pe& pe, const Step& step) {
  const double now = wall_seconds();
  profile_.load_store += now - started_;
  events_.add({.kind = step.kind == Step::Kind::load ? Event::Kind::load : Event::Kind::store,
               .what = step.tensor,
               .pe = pe.index,
               .start = started_,
               .end = now});
}

Account Rank::account(double begun) {
  const double now = wall_seconds();
  profile_.seconds = now - begun;
  profile_.finish = now - std::max(finished_, begun);  // perhaps it had nothing to do
  profile_.lent = transport_.lent_bytes();
  profile_.sent = transport_.sent_bytes();
  profile_.messages = transport_.messages();
  const auto outcomes = array_.loop_exits().outcomes();
  std::ranges::transform(array_.program().exit_plans, outcomes, profile_.skipped.begin(),
                         program::skipped_iterations);
  const auto first_tensor = traffic_.begin() + static_cast<std::ptrdiff_t>(array_.program().channels.size());
  return {.profile = profile_,
          .channels = {traffic_.begin(), first_tensor},
          .tensors = {first_tensor, traffic_.end()},
          .events = std::move(events_.kept()),
          .events_dropped = events_.dropped()};
}

void Rank::stored(const Step& step, const std::int64_t* index) {
  stored_[step.tensor][tensors_[step.tensor].linear(index)] = 1;
}

/// Elements of a tensor of scalars, so far apart.
void Rank::stored(std::uint32_t tensor, std::size_t first, std::ptrdiff_t apart, std::int64_t count) {
  auto at = stored_[tensor].begin() + static_cast<std::ptrdiff_t>(first);
  if (apart == 1) {
    std::fill_n(at, count, std::uint8_t{1});
    return;
  }
  for (std::int64_t n = 0; n < count; ++n) at[n * apart] = 1;
}

}  // namespace cyclotron::runtime::mpi
