#include "simulation.hpp"

#include <tuple>
#include <utility>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/timing.hpp>

#include "../../engine/messages.hpp"
#include "../timing/work.hpp"

namespace cyclotron::runtime::simulator {

namespace {

constexpr std::int64_t steps_a_turn = 4096;

MemoryPorts memory_ports(const PeArray& array) {
  std::vector<MemoryPorts::User> users;
  for (const Pe& pe : array.pes()) users.push_back({pe.index, pe.code});
  return {array.program(), users};
}

std::vector<std::uint32_t> grid_indices(const PeArray& array) {
  std::vector<std::uint32_t> result;
  for (const Pe& pe : array.pes()) result.push_back(pe.index);
  return result;
}

SharedLinks shared_links(const PeArray& array) {
  std::vector<SharedLinks::User> users;
  for (const Pe& pe : array.pes()) users.push_back({pe.index, pe.code});
  return {array.program(), array.wires(), users};
}

std::vector<const Code*> codes(const PeArray& array) {
  std::vector<const Code*> result;
  for (const Pe& pe : array.pes()) result.push_back(pe.code);
  return result;
}

/// Those of the executed instructions that are nothing else: a broadcast to nobody tells its host nothing.
void count_broadcasts(Work& work, std::int64_t executed) {
  work.count(InstructionKind::broadcast) = 0;
  work.count(InstructionKind::broadcast) = executed - all_instructions(work);
}

}  // namespace

template <bool f>
Simulation<f>::Simulation(const program::Program& program, const Arrays& arrays, std::int64_t event_limit,
                          const Progress& progress, const ControlledRun* control)
    : array_(program, f),
      memory_(memory_ports(array_)),
      controller_(control, program, grid_indices(array_)),
      shared_(shared_links(array_)),
      scoreboard_(program, codes(array_)),
      ports_(program.machine.pe, array_.count()),
      event_limit_(event_limit),
      tensors_(access_tensors(program, arrays, f)),
      ticker_(progress),
      links_(array_.links().size()),
      rows_(array_.network_rows()),
      port_free_(array_.port_count()),
      clocks_(array_.count()),
      work_(array_.count()),
      waiting_for_(array_.count()),
      in_call_(array_.count()) {
  for (std::size_t q = 0; q < links_.size(); ++q) {
    const Link& link = array_.links()[q];
    set_up(links_[q], link.channel, link.sender,
           link.receiver == PeArray::none ? PeArray::none : array_.grid_index(link.receiver));
  }
  for (const Pe& pe : array_.pes()) executed_.emplace_back(pe.code->steps.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    buffers_.emplace_back(message_bytes(program.channels[c]));
    network_.push_back(array_.wires().links(c).front());
  }
  for (std::uint32_t o = 0; o < array_.count(); ++o) ready_.push(o);
  memory_.record(event_limit);
}

template <bool f>
void Simulation<f>::set_up(Queue& queue, std::uint32_t channel, std::uint32_t sender,
                           std::uint32_t receiver_index) {
  queue.channel = channel;
  queue.sender = sender;
  queue.receiver_index = receiver_index;
  queue.receiver = receiver_index == PeArray::none ? PeArray::none : array_.ordinal(receiver_index);
  queue.link = sender == PeArray::none
                   ? array_.wires().links(channel).front()
                   : &array_.wires().link(channel, array_.coordinates(array_.grid_index(sender)));
  queue.latency = queue.link->latency_cycles;
  if (sender != PeArray::none && receiver_index != PeArray::none) {
    queue.latency = array_.wires().latency(channel, array_.coordinates(array_.grid_index(sender)),
                                           array_.coordinates(receiver_index));
  }
  queue.depth = array_.depth(channel, sender);
  const bool network = array_.program().channels[channel].kind == program::Channel::Kind::network;
  if (shared_.on() && !network && sender != PeArray::none)
    queue.hop = shared_.hop_number(channel, array_.grid_index(sender));
}

template <bool f>
bool Simulation<f>::run() {
  Interpreter interpreter(*this, array_, tensors_);
  const auto granted = [&] {
    return give_bus() || memory_.grant(MemoryPorts::never, [&](std::uint32_t ordinal) { wake(ordinal); });
  };
  while (!ready_.empty() || granted()) {
    if (ready_.empty()) continue;
    const std::uint32_t ordinal = ready_.front();
    ready_.pop();
    Pe& pe = array_.pe(ordinal);
    waiting_for_[ordinal] = nullptr;
    const std::int64_t before = pe.executed;
    waits_for_call_ = false;
    const Outcome outcome = interpreter.run(pe, steps_a_turn);
    if (outcome == Outcome::done) {
      ++done_;
      controller_.finish(ordinal, clocks_[ordinal].now, [&](std::uint32_t other) { wake(other); });
    }
    if (outcome == Outcome::blocked) in_call_[ordinal] = pe.step().begins_call && !waits_for_call_ ? 1 : 0;
    if (outcome == Outcome::paused) ready_.push(ordinal);
    const std::int64_t steps = outcome == Outcome::paused ? steps_a_turn : pe.executed - before + 1;
    ticker_.tick(steps, [&] { return array_.fraction_done(); });
  }
  return done_ == array_.count();
}

/// A bus that was asked for by when a memory can serve a PE comes first: what that PE does is later.
template <bool f>
bool Simulation<f>::give_bus() {
  const std::int64_t asked = shared_.next_asked();
  if (asked == SharedLinks::never || asked > memory_.next_start()) return false;
  wake(shared_.grant());
  return true;
}

template <bool f>
void Simulation<f>::wait_until(Clock& clock, std::int64_t time, std::int64_t& stall) {
  if (time <= clock.now) return;
  stall += time - std::min(time, std::max(clock.now, clock.busy_until));
  clock.now = time;
}

template <bool f>
Queue& Simulation<f>::network_queue(std::uint32_t channel, std::uint32_t receiver_index,
                                    std::int64_t coordinate, std::uint32_t sender) {
  return rows_[array_.row(channel, receiver_index)].find(coordinate, [&] {
    Queue& queue = network_queues_.emplace_back();
    set_up(queue, channel, sender, receiver_index);
    return &queue;
  });
}

/// The earliest time at which the next message may enter. Requires: has_place(queue).
template <bool f>
std::int64_t Simulation<f>::place_free_at(Queue& queue) const {
  const std::int64_t leaves_first = queue.sent - queue.depth;
  if (leaves_first < queue.first_departure) return 0;
  return queue.departures[static_cast<std::size_t>(leaves_first - queue.first_departure)] +
         queue.link->response_latency_cycles;
}

/// Requires: the sender's clock is at the sending.
template <bool f>
void Simulation<f>::push(Queue& queue, std::int64_t arrival, const Packet& packet) {
  Message message;
  message.sent = queue.last_sent = clocks_[queue.sender].now;
  message.arrival = arrival;
  message.payload.size = packet.size;
  if constexpr (f) {
    if (Payload::fits(packet.bytes)) {
      copy_scalar(message.payload.few.data(), packet.data, packet.bytes);
    } else {
      message.payload.many = buffers_[queue.channel].take();
      std::memcpy(message.payload.many.get(), packet.data, packet.bytes);
    }
  }
  record_send(array_.pe(queue.sender), queue, message);
  queue.messages.push(std::move(message));
  ++queue.sent;
  queue.words += packet.size.words();
  queue.busy += transfer_cycles(packet.size, *queue.link);
  if (queue.receiver_waits) {
    queue.receiver_waits = false;
    wake(queue.receiver);
  }
}

/// Requires: as `push`, and it came to the instruction at `ready_at_`.
template <bool f>
void Simulation<f>::record_send(const Pe& pe, Queue& queue, Message& message) {
  if (messages_.size() >= static_cast<std::size_t>(event_limit_)) {
    if (event_limit_ > 0) ++messages_dropped_;
    message.record = PeArray::none;
    return;
  }
  message.record = static_cast<std::uint32_t>(messages_.size());
  messages_.push_back({.channel = queue.channel,
                       .sender = pe.index,
                       .receiver = queue.receiver_index,
                       .send_instruction = pe.counter,
                       .send_order = actions_,
                       .words = message.payload.size.words(),
                       .ready = ready_at_,
                       .placed = placed_at_,
                       .sent = message.sent,
                       .link_free = free_at_,
                       .arrival = message.arrival});
}

template <bool f>
void Simulation<f>::wait(Pe& pe, Queue& queue, bool full) {
  (full ? queue.sender_waits : queue.receiver_waits) = true;
  waiting_for_[pe.ordinal] = &queue;
}

/// The sender waits for a place, then for the link.
template <bool f>
void Simulation<f>::enter_link(Clock& clock, std::int64_t place, std::int64_t link) {
  ready_at_ = std::max(clock.now, std::min(clock.busy_until, std::max(place, link)));
  wait_until(clock, place, clock.stall_full);
  placed_at_ = std::max(ready_at_, clock.now);
  wait_until(clock, link, clock.stall_link);
}

template <bool f>
void Simulation<f>::tally(const Pe& pe, const Step& step, std::span<const Shape> operands,
                          std::int64_t words) {
  if (step.scalar) {
    ++executed_[pe.ordinal][static_cast<std::size_t>(&step - pe.code->steps.data())];
  } else {
    add_amounts(work_[pe.ordinal], *pe.code, step, operands, words, 1);
  }
}

template <bool f>
bool Simulation<f>::send(Pe& pe, const Step& step, const Packet& packet) {
  const std::uint32_t number = pe.queues[step.port];
  const std::uint32_t channel = pe.code->ports[step.port].channel;
  if (number == PeArray::none) no_neighbour(array_.program().channels[channel]);
  Work& work = work_[pe.ordinal];
  Queue& queue = links_[number];
  require_fits(array_.program().channels[channel], packet.size);
  come_to(pe, PortLimits::Kind::send);
  if (scoreboard_.on()) await_read(pe, elements(pe, step.access));
  if (!has_place(queue)) return wait(pe, queue, true), false;
  SharedLinks::End* const end = shared_.on() ? &shared_.hop(queue.hop) : nullptr;
  const std::int64_t place = std::max(place_free_at(queue), queue.link_free);
  enter_link(clocks_[pe.ordinal], place, end == nullptr ? place : end->cycle);
  const std::int64_t sent = clocks_[pe.ordinal].now;
  queue.link_free = free_at_ = sent + transfer_cycles(packet.size, *queue.link);
  std::int64_t last = queue.link_free - 1;
  if (end != nullptr) {
    last = end->take(sent, 0, packet.size.words(), queue.link->words_per_cycle).last;
    free_at_ = end->cycle;
  }
  begin(pe, PortLimits::Kind::send);
  push(queue, last + queue.latency, packet);
  ++actions_;
  ++work.count(InstructionKind::send);
  work.on(channel).sent += packet.size.words();
  tally(pe, step, {}, packet.size.words());
  return true;
}

/// All or nothing: the message enters every receiver's queue at once, when each has a place.
template <bool f>
bool Simulation<f>::broadcast(Pe& pe, const Step& step, std::int64_t first, std::int64_t last,
                              const Packet& packet) {
  const std::uint32_t number = pe.code->ports[step.port].channel;
  const auto& channel = array_.program().channels[number];
  require_fits(channel, packet.size);
  const std::int64_t own = array_.along(pe.index, channel.axis);
  if (first == own && last == own) return true;
  come_to(pe, PortLimits::Kind::send);
  if (scoreboard_.on()) await_read(pe, elements(pe, step.access));
  Clock& clock = clocks_[pe.ordinal];
  std::int64_t& port_free = port_free_[array_.port_number(pe, step.port)];
  std::int64_t place = std::max(clock.now, port_free);
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver = array_.on_line(pe, channel.axis, to);
    if (to == own || !array_.leads_to(number, receiver)) continue;
    Queue& queue = network_queue(number, receiver, own, pe.ordinal);
    if (!has_place(queue)) return wait(pe, queue, true), false;
    place = std::max(place, place_free_at(queue));
  }
  const std::int64_t words = packet.size.words(), width = network_[number]->words_per_cycle;
  const auto axis = static_cast<std::uint32_t>(channel.axis);
  std::optional<SharedLinks::Passage> passage;
  if (shared_.on() && axis < array_.program().grid.size()) {  // the executive's is nobody else's
    passage = shared_.take_bus(pe.ordinal, axis, place, words, width);
    if (!passage) return false;
  }
  enter_link(clock, place, passage ? passage->cycle : place);
  port_free = free_at_ = clock.now + transfer_cycles(packet.size, *network_[number]);
  begin(pe, PortLimits::Kind::send);
  work_[pe.ordinal].on(number).sent += words;
  tally(pe, step, {}, words);
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver = array_.on_line(pe, channel.axis, to);
    if (to == own || !array_.leads_to(number, receiver)) continue;
    Queue& queue = network_queue(number, receiver, own, pe.ordinal);
    std::int64_t arrival = port_free - 1 + queue.latency;
    if (passage) {
      SharedLinks::End& end = shared_.bus_end(axis, queue.receiver_index);
      arrival = end.take(passage->cycle + queue.latency, passage->place, words, width).last;
    }
    push(queue, arrival, packet);
  }
  ++actions_;
  return true;
}

template <bool f>
template <class Deliver>
bool Simulation<f>::receive(Pe& pe, const Step& step, std::int64_t sender, Deliver&& deliver) {
  const Port port = pe.code->ports[step.port];
  const bool network = port.kind == Port::Kind::network_in;
  Work& work = work_[pe.ordinal];
  Queue* queue = nullptr;
  if (network) {
    const auto axis = array_.program().channels[port.channel].axis;
    queue = &network_queue(port.channel, pe.index, sender, array_.ordinal(array_.on_line(pe, axis, sender)));
  } else {
    queue = &links_[pe.queues[step.port]];
  }
  come_to(pe, PortLimits::Kind::receive);
  if (scoreboard_.on()) await_write(pe, elements(pe, step.access));
  if (queue->messages.empty()) return wait(pe, *queue, false), false;
  Message& message = queue->messages.front();
  deliver(message.payload.size, message.payload.data());
  ++work.count(InstructionKind::receive);
  work.on(port.channel).received += message.payload.size.words();
  tally(pe, step, {}, message.payload.size.words());
  if (message.payload.many) buffers_[port.channel].give(std::move(message.payload.many));
  Clock& clock = clocks_[pe.ordinal];
  const std::int64_t came = std::max(clock.now, std::min(clock.busy_until, message.arrival));
  wait_until(clock, message.arrival, clock.stall_empty);
  if (message.record < messages_.size()) {
    MessageRecord& record = messages_[message.record];
    record.receive_instruction = pe.counter;
    record.receive_order = actions_;
    record.waiting = came;
    record.received = clock.now;
  }
  ++actions_;
  begin(pe, PortLimits::Kind::receive);
  depart(*queue, clock.now);
  return true;
}

/// The first message leaves its queue.
template <bool f>
void Simulation<f>::depart(Queue& queue, std::int64_t now) {
  const std::int64_t sent = queue.messages.front().sent;
  // How many messages, itself included, were in the queue when it entered: those that left then or later.
  std::int64_t occupancy = 1;
  for (std::size_t i = queue.departures.size(); i-- > 0 && queue.departures[i] >= sent;) ++occupancy;
  queue.peak = std::max(queue.peak, occupancy);
  queue.messages.pop();
  queue.departures.push(now);
  ++queue.received;
  const std::int64_t next_sent = queue.messages.empty() ? queue.last_sent : queue.messages.front().sent;
  const std::int64_t binds = std::max<std::int64_t>(1, queue.link->response_latency_cycles);
  while (!queue.departures.empty() && queue.departures.front() + binds <= next_sent) {
    queue.departures.pop();
    ++queue.first_departure;
  }
  if (queue.sender_waits) {
    queue.sender_waits = false;
    wake(queue.sender);
  }
}

template <bool f>
void Simulation<f>::moved(Pe& pe, const Step& step, TileSize size) {
  if (step.kind == Step::Kind::move) {
    come_to(pe, PortLimits::Kind::issue);
    if (scoreboard_.on()) {
      each_operand(pe, step, [&](const Elements& of) { await_read(pe, of); });
      await_write(pe, elements(pe, step.access));
    }
    begin(pe, PortLimits::Kind::issue);
  }
  add_access(work_[pe.ordinal], step, size.words());
  tally(pe, step, {}, size.words());
}

template <bool f>
bool Simulation<f>::access(Pe& pe, const Step& step, TileSize size) {
  const bool stores = step.kind == Step::Kind::store;
  const auto kind = stores ? PortLimits::Kind::store : PortLimits::Kind::load;
  const bool asks = !step.resident && memory_.serves(pe.ordinal);
  come_to(pe, kind);
  if (scoreboard_.on()) {
    const Elements of = elements(pe, step.access);
    if (!stores) await_write(pe, of);
    if (stores && asks) await_read(pe, of);
  }
  if (!asks) {
    begin(pe, kind);
    return true;
  }
  Clock& clock = clocks_[pe.ordinal];
  auto rows = memory_.rows(pe.ordinal, *pe.code, step, pe.variables);
  const auto passed = stores ? memory_.store(pe.ordinal, size.words(), clock.now, std::move(rows))
                             : memory_.load(pe.ordinal, size.words(), clock.now, std::move(rows));
  if (!passed) return false;
  if (MemoryRecord* record = memory_.last_record()) {
    record->instruction = pe.counter;
    record->order = actions_;
    record->waiting = clock.now;
    record->passed = *passed;
  }
  ++actions_;
  clock.hidden_memory += hidden(clock, *passed);
  clock.now = *passed;
  begin(pe, kind);
  return true;
}

template <bool f>
bool Simulation<f>::finish(Pe& pe) {
  Clock& clock = clocks_[pe.ordinal];
  wait_until(clock, std::max(clock.busy_until, scoreboard_.all_written(pe.ordinal)), clock.stall_unit);
  if (!memory_.serves(pe.ordinal)) return true;
  const auto done = memory_.finish(pe.ordinal, clock.now);  // no unit computes any more
  if (done) clock.now = *done;
  return done.has_value();
}

template <bool f>
Scoreboard::Elements Simulation<f>::elements(const Pe& pe, std::uint32_t access, bool all) {
  const SlotAccess& of = pe.code->accesses[access];
  if (all) return {of.slot, 0, of.count};
  const std::int64_t at = evaluate(*pe.code, of, pe.variables);
  const bool inside = at >= 0 && at < of.count;  // where numbers are computed, the interpreter sees to it
  return {of.slot, inside ? at : 0, inside ? 1 : 0};
}

/// Calls visit(elements) for what a computation or a move reads; an element that a number tells is any of its slot's.
template <bool f>
template <class Visit>
void Simulation<f>::each_operand(const Pe& pe, const Step& step, Visit visit) const {
  const bool indexed = step.kind == Step::Kind::compute && step.indexed != Step::not_indexed;
  for (std::uint32_t n = 0; n < step.operands.count; ++n) {
    const Source& source = pe.code->sources[step.operands.first + n];
    const bool gathers = indexed && !pe.code->indexed[step.indexed].scatters && n + 1 == step.operands.count;
    if (!source.constant) visit(elements(pe, source.index, gathers));
  }
  if (indexed) visit(elements(pe, pe.code->indexed[step.indexed].number));
}

/// Moves the clock to when an operator begins.
template <bool f>
void Simulation<f>::start_operator(const Pe& pe, const Step& step, std::span<const Shape> operands) {
  if (!step.unit_input) come_to(pe, PortLimits::Kind::issue);
  if (scoreboard_.on()) {
    each_operand(pe, step, [&](const Elements& of) { await_read(pe, of); });
    await_write(pe, result_of(pe, step));
    find_unit(step, operands);
    Clock& clock = clocks_[pe.ordinal];
    if (unit_number_ < clock.unit_free.size())
      wait_until(clock, clock.unit_free[unit_number_], clock.stall_unit);
  }
  if (!step.unit_input) begin(pe, PortLimits::Kind::issue);
}

/// Finds the unit that runs an operator, and its number.
template <bool f>
void Simulation<f>::find_unit(const Step& step, std::span<const Shape> operands) {
  const machine::Pe& pe = array_.program().machine.pe;
  static constexpr std::array<Shape, 3> scalars{};
  if (operands.empty()) operands = std::span(scalars.data(), step.operands.count);
  unit_ = step.unit_input ? nullptr : program::unit_of(pe, step.op, step.flags, operands);
  const std::array units{&pe.matrix, &pe.vector, &pe.scalar};
  unit_number_ = 0;
  while (unit_number_ < units.size() && (unit_ == nullptr || unit_ != &**units[unit_number_])) ++unit_number_;
}

/// The clock after an operator, which keeps its unit for so many cycles.
template <bool f>
void Simulation<f>::end_operator(const Pe& pe, const Step& step, std::int64_t cycles) {
  Clock& clock = clocks_[pe.ordinal];
  const std::int64_t end = clock.now + cycles;
  clock.busy_until = std::max(clock.busy_until, end);
  const bool overlaps = array_.program().machine.pe.overlap && unit_ != nullptr;
  if (!scoreboard_.on() || !overlaps) clock.now = end;
  if (!scoreboard_.on()) return;
  if (overlaps) {
    clock.unit_free[unit_number_] = end;
    each_operand(pe, step, [&](const Elements& of) { scoreboard_.read(pe.ordinal, of, end); });
  }
  const std::int64_t later = unit_ == nullptr ? 0 : machine::pipeline_cycles(*unit_);
  scoreboard_.write(pe.ordinal, result_of(pe, step), end + later);
}

/// The elements that a computation overwrites.
template <bool f>
Scoreboard::Elements Simulation<f>::result_of(const Pe& pe, const Step& step) {
  const bool scatters = step.indexed != Step::not_indexed && pe.code->indexed[step.indexed].scatters;
  return elements(pe, step.access, scatters);
}

template <bool f>
void Simulation<f>::computed(Pe& pe, const Step& step, std::span<const Shape> operands) {
  const std::int64_t cycles = operator_cycles(array_.program(), *pe.code, step, operands);
  Clock& clock = clocks_[pe.ordinal];
  Work& work = work_[pe.ordinal];
  ++work.count(InstructionKind::compute);
  work.flops += operands.empty() ? step.flops : operators::flops(step.op, step.flags, operands);
  tally(pe, step, operands, 0);
  start_operator(pe, step, operands);
  const std::int64_t covers =
      std::max<std::int64_t>(0, clock.now + cycles - std::max(clock.now, clock.busy_until));
  clock.busy += covers;
  clock.busy_by_operator[static_cast<std::size_t>(step.op)] += covers;
  if (events_.size() < static_cast<std::size_t>(event_limit_)) {
    Event event{.pe = pe.index,
                .instruction = pe.counter,
                .start = clock.now,
                .end = clock.now + cycles,
                .order = actions_,
                .loops = {}};
    for (std::uint32_t at = 0; at < pe.counter; ++at) {
      const Step& outer = pe.code->steps[at];
      if (outer.kind != Step::Kind::loop && outer.kind != Step::Kind::branch) continue;
      if (outer.target <= pe.counter) {
        at = outer.target - 1;
      } else if (outer.kind == Step::Kind::loop) {
        event.loops.push_back(static_cast<std::int32_t>(pe.variables[outer.variable]));
      }
    }
    events_.push_back(std::move(event));
  } else if (event_limit_ > 0) {
    ++events_dropped_;
  }
  end_operator(pe, step, cycles);
  ++actions_;
  if (f && !operands.empty()) ticker_.tick(tile_work(operands), [&] { return array_.fraction_done(); });
}

template <bool f>
bool Simulation<f>::decide(Pe& pe, const Step& step) {
  if (scoreboard_.on()) await_read(pe, elements(pe, step.access));
  Clock& clock = clocks_[pe.ordinal];
  std::int64_t now = clock.now;
  const bool passes = controller_.decide(pe.ordinal, step.plan, pe.variables[step.variable], now,
                                         [&](std::uint32_t ordinal) { wake(ordinal); });
  clock.hidden_control += hidden(clock, now);
  clock.now = now;
  return passes;
}

template <bool f>
bool Simulation<f>::call(Pe& pe) {
  if (std::exchange(in_call_[pe.ordinal], char{0}) != 0) return true;
  Clock& clock = clocks_[pe.ordinal];
  std::int64_t now = clock.now;
  waits_for_call_ = !controller_.call(pe.ordinal, pe.code->index, pe.counter, now,
                                      [&](std::uint32_t ordinal) { wake(ordinal); });
  clock.hidden_control += hidden(clock, now);
  clock.now = now;
  return !waits_for_call_;
}

template <bool f>
Timing Simulation<f>::timing() {
  Timing result;
  for (const Clock& clock : clocks_) result.cycles = std::max(result.cycles, clock.now);
  result.pes.assign(array_.grid_size(), PeCycles{.idle = result.cycles});
  if constexpr (f) result.exits = array_.loop_exits().outcomes();
  memory_.tell(result);
  result.counters.group_of.assign(array_.grid_size(), Counters::none);
  for (std::uint32_t o = 0; o < array_.count(); ++o) {
    const Clock& clock = clocks_[o];
    PeCycles& pe = result.pes[array_.grid_index(o)];
    pe.busy = clock.busy;
    pe.stall_empty = clock.stall_empty;
    pe.stall_full = clock.stall_full;
    pe.stall_memory -= clock.hidden_memory;
    pe.stall_control = controller_.stalled(o) - clock.hidden_control;
    pe.wait_control = std::min(controller_.waited(o), pe.stall_control);
    pe.stall_link = clock.stall_link;
    pe.stall_unit = clock.stall_unit;
    pe.stall_port = clock.stall_port;
    pe.idle = result.cycles - clock.now;
    const std::int64_t stalls = pe.stall_empty + pe.stall_full + pe.stall_memory + pe.stall_control +
                                pe.stall_link + pe.stall_unit + pe.stall_port;
    CYC_CHECK(pe.busy + stalls + pe.idle == result.cycles, "of " + array_.name(array_.grid_index(o)));
    for (std::size_t op = 0; op < operator_count; ++op) {
      if (clock.busy_by_operator[op] == 0) continue;
      auto& column = result.busy_by_operator[std::string(operators::info(static_cast<Op>(op)).name)];
      column.resize(array_.grid_size());
      column[array_.grid_index(o)] = clock.busy_by_operator[op];
    }
    result.instructions += array_.pe(o).executed;
    count_broadcasts(work_[o], array_.pe(o).executed);
    const Code& code = *array_.pe(o).code;
    for (std::size_t at = 0; at < executed_[o].size(); ++at) {
      if (executed_[o][at] > 0) add_amounts(work_[o], code, code.steps[at], {}, 1, executed_[o][at]);
    }
    result.counters.group_of[array_.grid_index(o)] = o;
    result.counters.groups.push_back({.once = work_[o], .repeated = {}});
  }
  for (const auto& channel : array_.program().channels) {
    result.channels.emplace_back().name = channel.name;
  }
  const auto add = [&](Queue& queue) {
    ChannelStatistics& statistics = result.channels[queue.channel];
    statistics.messages += queue.sent;
    statistics.words += queue.words;
    statistics.queues += queue.sent > 0 ? 1 : 0;
    statistics.words_per_cycle += queue.sent > 0 ? queue.link->words_per_cycle : 0;
    statistics.busy_cycles += queue.busy;
    statistics.peak_occupancy =
        std::max({statistics.peak_occupancy, queue.peak, queue.sent - queue.received});
  };
  for (Queue& queue : links_) add(queue);
  for (Queue& queue : network_queues_) add(queue);
  if (events_dropped_ > 0) {
    events_dropped_ += static_cast<std::int64_t>(events_.size());
    events_.clear();
  }
  result.events = std::move(events_);
  std::stable_sort(result.events.begin(), result.events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.start, a.pe) < std::tie(b.start, b.pe);
  });
  result.events_dropped = events_dropped_;
  if (messages_dropped_ > 0 || events_dropped_ > 0) {
    messages_dropped_ += static_cast<std::int64_t>(messages_.size());
    messages_.clear();
  }
  result.messages = std::move(messages_);
  result.messages_dropped = messages_dropped_;
  result.memory_requests = memory_.take_records();
  std::int64_t requests = 0;
  for (const auto& port : result.memory_ports) requests += port.loads + port.stores;
  if (event_limit_ <= 0) requests = 0;
  if (requests > static_cast<std::int64_t>(result.memory_requests.size()) || events_dropped_ > 0) {
    result.memory_requests_dropped = requests;
    result.memory_requests.clear();
  }
  return result;
}

template <bool f>
std::vector<Wait> Simulation<f>::waits() {
  std::vector<Wait> result;
  for (std::uint32_t o = 0; o < array_.count(); ++o) {
    const Queue* queue = waiting_for_[o];
    if (queue == nullptr) continue;
    const bool full = array_.pe(o).step().kind != Step::Kind::receive;
    const std::uint32_t sender =
        queue->sender == PeArray::none ? PeArray::none : array_.grid_index(queue->sender);
    result.push_back({.pe = array_.grid_index(o),
                      .peer = full ? queue->receiver_index : sender,
                      .channel = queue->channel,
                      .instruction = array_.pe(o).counter,
                      .depth = queue->depth,
                      .cycle = clocks_[o].now,
                      .full = full});
  }
  return result;
}

template class Simulation<true>;
template class Simulation<false>;

}  // namespace cyclotron::runtime::simulator
