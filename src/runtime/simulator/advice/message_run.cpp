#include "message_run.hpp"

#include <algorithm>

#include "../../engine/messages.hpp"

namespace cyclotron::runtime::simulator {
namespace {

bool is_message(const Step& step) {
  return step.kind == Step::Kind::send || step.kind == Step::Kind::receive ||
         step.kind == Step::Kind::broadcast;
}

/// By step, the first one from there on that is a message, the end, or control around a message.
std::vector<std::uint32_t> next_steps(const Code& code) {
  const auto count = static_cast<std::uint32_t>(code.steps.size());
  std::vector<std::uint32_t> messages(count + 1, 0);  // Before each step.
  for (std::uint32_t at = 0; at < count; ++at)
    messages[at + 1] = messages[at] + (is_message(code.steps[at]) ? 1 : 0);
  std::vector<std::uint32_t> result(count);
  for (std::uint32_t at = count; at-- > 0;) {
    const Step& step = code.steps[at];
    switch (step.kind) {
      case Step::Kind::load:
      case Step::Kind::store:
      case Step::Kind::move:
      case Step::Kind::compute:
      case Step::Kind::exit:
      case Step::Kind::skip: result[at] = result[at + 1]; break;
      case Step::Kind::loop:
      case Step::Kind::branch:
        result[at] = messages[step.target] > messages[at] ? at : result[step.target];
        break;
      case Step::Kind::repeat:
      case Step::Kind::send:
      case Step::Kind::receive:
      case Step::Kind::broadcast:
      case Step::Kind::halt: result[at] = at; break;
    }
  }
  return result;
}

}  // namespace

MessageArray::MessageArray(const program::Program& program) : pes_(program, false) {
  next_.resize(program.classes.size());
  for (const Pe& pe : pes_.pes()) {
    auto& next = next_[pe.code->index];
    if (!next.empty()) continue;
    next = next_steps(*pe.code);
    registers_ = std::max(registers_, std::size_t{2} * pe.code->variables);
  }
}

MessageRun::MessageRun(const MessageArray& array, QueueDepths depths)
    : array_(&array),
      depths_(std::move(depths)),
      registers_(array.registers() * array.pes().count()),
      rows_(array.pes().network_rows()),
      ready_(array.pes().count()) {
  for (const Pe& pe : array.pes().pes()) {
    counters_.push_back(array.next(*pe.code)[0]);
    std::copy_n(pe.variables, pe.code->dimensions, registers_.data() + array.registers() * pe.ordinal);
    ready_.insert(pe.ordinal);
  }
  for (const Link& link : array.pes().links())
    queues_.push_back({.channel = link.channel,
                       .sender = link.sender,
                       .receiver = link.receiver,
                       .own_depth = array.pes().depth(link.channel, link.sender)});
}

bool MessageRun::run(std::int64_t& steps_left, ProgressTicker& ticker) {
  for (std::uint32_t ordinal = 0; steps_left > 0 && ready_.take(ordinal);) {
    const std::int64_t before = steps_left;
    const Outcome outcome = advance(ordinal, steps_left);
    if (outcome == Outcome::done) ++done_;
    if (outcome == Outcome::paused) ready_.insert(ordinal);
    ticker.tick(before - steps_left, [] { return -1.0; });
  }
  return done_ == array_->pes().count();
}

void MessageRun::deepen(QueueDepths depths) {
  depths_ = std::move(depths);
  for (Queue& queue : queues_) {
    if (!queue.sender_waits || !has_place(queue)) continue;
    queue.sender_waits = false;
    ready_.insert(queue.sender);
  }
}

Outcome MessageRun::advance(std::uint32_t ordinal, std::int64_t& steps_left) {
  const Pe& pe = array_->pe(ordinal);
  std::int64_t* const variables = registers_.data() + array_->registers() * ordinal;
  try {
    return advance(pe, counters_[ordinal], variables, steps_left);
  } catch (const KernelFailure& failure) {
    Pe at = pe;
    at.counter = counters_[ordinal];
    at.variables = variables;
    throw failure_in(array_->pes(), at, failure);
  }
}

Outcome MessageRun::advance(const Pe& pe, std::uint32_t& counter, std::int64_t* variables,
                            std::int64_t& steps_left) {
  constexpr std::int64_t steps_a_turn = 4096;
  const Code& code = *pe.code;
  const std::uint32_t* const next = array_->next(code);
  std::int64_t* const limits = variables + code.variables;
  const std::int64_t last_step = std::max<std::int64_t>(0, steps_left - steps_a_turn);
  while (steps_left > last_step) {
    --steps_left;
    const Step& step = code.steps[counter];
    switch (step.kind) {
      case Step::Kind::loop: {
        const std::int64_t first = lower_limit(code, step.lower, variables);
        const std::int64_t last = upper_limit(code, step.upper, variables);
        variables[step.variable] = first;
        limits[step.variable] = last;
        counter = next[first <= last ? counter + 1 : step.target];
        continue;
      }
      case Step::Kind::repeat: {
        std::int64_t& variable = variables[step.variable];
        const auto left =
            static_cast<std::uint64_t>(limits[step.variable]) - static_cast<std::uint64_t>(variable);
        const bool again = left >= static_cast<std::uint64_t>(step.step);
        if (again) variable += step.step;
        counter = next[again ? step.target : counter + 1];
        continue;
      }
      case Step::Kind::branch:
        counter = next[holds(code, step.lower, variables) ? counter + 1 : step.target];
        continue;
      case Step::Kind::send:
        if (!send(pe, step)) return Outcome::blocked;
        break;
      case Step::Kind::broadcast:
        if (!broadcast(pe, step, variables)) return Outcome::blocked;
        break;
      case Step::Kind::receive:
        if (!receive(pe, step, variables)) return Outcome::blocked;
        break;
      case Step::Kind::halt: return Outcome::done;
      case Step::Kind::load:
      case Step::Kind::store:
      case Step::Kind::move:
      case Step::Kind::compute:
      case Step::Kind::exit:
      case Step::Kind::skip: CYC_CHECK(false, "no message depends on it");
    }
    counter = next[counter + 1];
  }
  return Outcome::paused;
}

void MessageRun::put(Queue& queue) {
  ++queue.sent;
  if (!queue.receiver_waits) return;
  queue.receiver_waits = false;
  ready_.insert(queue.receiver);
}

bool MessageRun::send(const Pe& pe, const Step& step) {
  const std::uint32_t number = pe.queues[step.port];
  if (number == PeArray::none)
    no_neighbour(array_->pes().program().channels[pe.code->ports[step.port].channel]);
  Queue& queue = queues_[number];
  queue.sender_waits = !has_place(queue);
  if (!queue.sender_waits) put(queue);
  return !queue.sender_waits;
}

MessageRun::Queue& MessageRun::network_queue(std::uint32_t channel, std::uint32_t receiver_index,
                                             std::int64_t coordinate, std::uint32_t sender) {
  auto& row = rows_[array_->pes().row(channel, receiver_index)];
  for (const auto& [from, number] : row) {
    if (from == coordinate) return queues_[number];
  }
  row.emplace_back(coordinate, static_cast<std::uint32_t>(queues_.size()));
  return queues_.emplace_back(Queue{.channel = channel,
                                    .sender = sender,
                                    .receiver = array_->pes().ordinal(receiver_index),
                                    .own_depth = array_->pes().depth(channel, sender)});
}

template <class Visit>
void MessageRun::each_receiver(const Pe& pe, const Step& step, const std::int64_t* variables, Visit visit) {
  const std::uint32_t channel = pe.code->ports[step.port].channel;
  const std::uint32_t axis = array_->pes().program().channels[channel].axis;
  const std::int64_t first = lower_limit(*pe.code, step.lower, variables);
  const std::int64_t last = upper_limit(*pe.code, step.upper, variables);
  if (first > last) return;
  require_on_line(array_->pes().program(), axis, first);
  require_on_line(array_->pes().program(), axis, last);
  const std::int64_t own = array_->pes().along(pe.index, axis);
  for (std::int64_t to = first; to <= last; ++to) {
    const std::uint32_t receiver = array_->pes().on_line(pe, axis, to);
    if (to == own || !array_->pes().leads_to(channel, receiver)) continue;
    if (!visit(network_queue(channel, receiver, own, pe.ordinal))) return;
  }
}

MessageRun::Queue* MessageRun::full_queue(const Pe& pe, const Step& step, const std::int64_t* variables) {
  Queue* result = nullptr;
  each_receiver(pe, step, variables, [&](Queue& queue) {
    if (!has_place(queue)) result = &queue;
    return result == nullptr;
  });
  return result;
}

/// All or nothing, as the simulator's.
bool MessageRun::broadcast(const Pe& pe, const Step& step, const std::int64_t* variables) {
  if (Queue* const full = full_queue(pe, step, variables)) {
    full->sender_waits = true;
    return false;
  }
  each_receiver(pe, step, variables, [&](Queue& queue) {
    put(queue);
    return true;
  });
  return true;
}

MessageRun::Queue& MessageRun::queue_from(const Pe& pe, const Step& step, const std::int64_t* variables) {
  const Port& port = pe.code->ports[step.port];
  if (port.kind != Port::Kind::network_in) return queues_[pe.queues[step.port]];
  const auto& program = array_->pes().program();
  const std::uint32_t axis = program.channels[port.channel].axis;
  const std::int64_t sender = evaluate(*pe.code, step.sender, variables);
  require_on_line(program, axis, sender);
  return network_queue(port.channel, pe.index, sender,
                       array_->pes().ordinal(array_->pes().on_line(pe, axis, sender)));
}

bool MessageRun::receive(const Pe& pe, const Step& step, const std::int64_t* variables) {
  Queue& queue = queue_from(pe, step, variables);
  queue.receiver_waits = queue.sent == queue.received;
  if (queue.receiver_waits) return false;
  ++queue.received;
  if (queue.sender_waits) {
    queue.sender_waits = false;
    ready_.insert(queue.sender);
  }
  return true;
}

const MessageRun::Queue& MessageRun::waited_for(const Pe& pe, const Step& step,
                                                const std::int64_t* variables) {
  if (step.kind == Step::Kind::send) return queues_[pe.queues[step.port]];
  if (step.kind == Step::Kind::receive) return queue_from(pe, step, variables);
  const Queue* const full = full_queue(pe, step, variables);
  CYC_CHECK(full != nullptr, "a broadcast waits for a place");
  return *full;
}

std::vector<Wait> MessageRun::waits() {
  std::vector<Wait> result;
  result.reserve(array_->pes().count() - done_);
  for (const Pe& pe : array_->pes().pes()) {
    const std::uint32_t counter = counters_[pe.ordinal];
    const Step& step = pe.code->steps[counter];
    if (step.kind == Step::Kind::halt) continue;
    const std::int64_t* const variables = registers_.data() + array_->registers() * pe.ordinal;
    const bool full = step.kind != Step::Kind::receive;
    const Queue& queue = waited_for(pe, step, variables);
    const std::uint32_t peer = full ? queue.receiver : queue.sender;
    result.push_back({.pe = pe.index,
                      .peer = peer == PeArray::none ? PeArray::none : array_->pes().grid_index(peer),
                      .channel = queue.channel,
                      .instruction = counter,
                      .depth = depth(queue),
                      .full = full});
  }
  return result;
}

}  // namespace cyclotron::runtime::simulator
