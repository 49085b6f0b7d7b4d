#include "snapshot.hpp"

#include <algorithm>
#include <limits>

#include "../timing/timed_engine.hpp"

namespace cyclotron::runtime::simulator {
namespace {

constexpr std::int64_t endless = std::numeric_limits<std::int64_t>::max();

}  // namespace

Snapshot::Snapshot(const TimedArray& array)
    : registers_(array.state().registers),
      times_(array.state().times),
      port_free_(array.state().port_free),
      messages_(array.state().messages) {
  if (const Recorder* const recorder = array.recorder()) {
    for (const Stream& stream : recorder->streams) recorded_.push_back(stream.size());
    skipped_ = recorder->skipped;
    skipped_.resize(array.state().queues.size());
  }
  if (!array.memory().empty()) memory_ = array.memory();
  pes_.reserve(array.state().pes.size());
  for (const TimedPe& pe : array.state().pes) pes_.push_back({pe.now, pe.stall_full, pe.counter});
  queues_.reserve(array.state().queues.size());
  for (const TimedQueue& queue : array.state().queues)
    queues_.push_back({queue.link_free, queue.mask, queue.sent, queue.received});
}

Period Snapshot::period(const TimedArray& array) const {
  const TimedState& state = array.state();
  if (state.queues.size() != queues_.size()) return {};
  Period result{.repeats = endless, .outer = false};
  std::vector<MemoryPorts::Progress> progress;
  for (std::uint32_t o = 0; o < array.count(); ++o) {
    const Period one = period(array, o);
    if (one.repeats == 0) return {};
    if (memory_) progress.push_back(this->progress(array, o, one));
    result.repeats = std::min(result.repeats, one.repeats);
    result.outer = result.outer || one.outer;
  }
  if (result.repeats == endless) return {};  // nothing has happened
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    if (!shifted(array, q)) return {};
  }
  for (std::uint32_t o = 0; !port_free_.empty() && o < array.count(); ++o) {
    if (!ports_shifted(array, o)) return {};
  }
  if (memory_) result.repeats = std::min(result.repeats, array.memory().repeats(*memory_, progress));
  return result;
}

MemoryPorts::Progress Snapshot::progress(const TimedArray& array, std::uint32_t ordinal,
                                         const Period& period) const {
  using Kind = MemoryPorts::Progress::Kind;
  const TimedPe& pe = array.state().pes[ordinal];
  const bool halts = array.code(pe).ops[pe.counter].kind == TimedOp::Kind::halt;
  const Kind still = halts ? Kind::done : Kind::waits;
  return {
      .now = pe.now, .shift = shift(array, ordinal), .kind = period.repeats == endless ? still : Kind::moves};
}

std::vector<std::int64_t> Snapshot::shifts(const TimedArray& array) const {
  std::vector<std::int64_t> result;
  for (std::uint32_t o = 0; o < array.count(); ++o) result.push_back(shift(array, o));
  return result;
}

/// Of one PE's loops: one of those around it went on by whole iterations and will go on like that, or the PE did
/// nothing. It stays inside the loop, so that no loop's end is skipped.
Period Snapshot::period(const TimedArray& array, std::uint32_t ordinal) const {
  const TimedPe& pe = array.state().pes[ordinal];
  if (pe.counter != pes_[ordinal].counter) return {};
  const TimedOp& op = array.code(pe).ops[pe.counter];
  Period result{.repeats = endless, .outer = false};
  for (std::uint32_t level = 0; level < op.level; ++level) {
    const std::size_t variable = pe.registers + std::size_t{2} * level, left = variable + 1;
    const std::int64_t passed = registers_[left] - array.state().registers[left];
    if (passed == 0 && registers_[variable] == array.state().registers[variable]) continue;
    const bool uniform = ((op.uniform >> level) & 1U) != 0;
    if (passed <= 0 || result.repeats != endless || !uniform) return {};
    result = {(array.state().registers[left] - 1) / passed, level + 1 < op.level};
  }
  return result;
}

/// Tells whether the queue's times that can still matter moved on with the PEs at its ends, or it was not used.
bool Snapshot::shifted(const TimedArray& array, std::size_t number) const {
  const TimedQueue& now = array.state().queues[number];
  const QueueMark& then = queues_[number];
  const std::uint32_t passed = now.sent - then.sent;
  if (now.received - then.received != passed || now.mask != then.mask) return false;
  if (passed == 0) return true;
  const std::int64_t shift = this->shift(array, now.sender);
  if (this->shift(array, now.receiver) != shift || now.link_free - then.link_free != shift) return false;
  const TimedChannel& channel = array.program().channels[now.channel];
  const std::int64_t* new_times = array.state().times.data() + now.ring;
  const std::int64_t* old_times = times_.data() + now.ring;
  // When the next message to depart was sent, or can be: earlier departures bind none, and none meets them.
  const std::int64_t next =
      now.sent != now.received ? new_times[now.received & now.mask] - channel.delay : now.link_free;
  const std::int64_t matters = next - std::max<std::int64_t>(1, channel.response);
  for (std::uint32_t m = now.sent - now.mask - 1; m != now.sent; ++m) {
    const std::int64_t new_time = new_times[m & now.mask];
    const std::int64_t old_time = old_times[(m - passed) & now.mask];
    if (new_time - old_time == shift) continue;
    const bool departed = now.sent - m > now.sent - now.received;
    if (!departed || new_time > matters || old_time > matters - shift) return false;
  }
  return true;
}

bool Snapshot::ports_shifted(const TimedArray& array, std::uint32_t ordinal) const {
  const TimedPe& pe = array.state().pes[ordinal];
  const std::size_t ports = array.program().codes[pe.pe_class].ports.size();
  for (std::size_t p = pe.ports; p < pe.ports + ports; ++p) {
    const std::int64_t moved = array.state().port_free[p] - port_free_[p];
    if (moved != 0 && moved != shift(array, ordinal)) return false;
  }
  return true;
}

std::int64_t Snapshot::skip(TimedArray& array, std::int64_t times) const {
  TimedState& state = array.state();
  Recorder* const recorder = array.recorder();
  std::int64_t most = 0;
  const auto by_pe = memory_ ? shifts(array) : std::vector<std::int64_t>{};
  for (std::uint32_t o = 0; o < array.count(); ++o) {
    TimedPe& pe = state.pes[o];
    const std::int64_t before = pe.now;
    repeat(pe.now, pes_[o].now, times);
    if (pe.now > latest) too_long();  // before its times overflow
    most = std::max(most, pe.now - before);
    if (recorder != nullptr) {
      Stream& stream = recorder->streams[o];
      stream.repeat(stream.size() - recorded_[o], times, before - pes_[o].now);
    }
    repeat(pe.stall_full, pes_[o].stall_full, times);
    // Registers of loops that are not open have no meaning; of one that is, they are two numbers each.
    const TimedCode& code = array.code(pe);
    const std::uint32_t open = pe.registers + 2U * code.ops[pe.counter].level;
    const std::uint32_t blocks = pe.registers + 2U * code.loops;
    for (std::uint32_t r = pe.registers; r < open; ++r) repeat(state.registers[r], registers_[r], times);
    for (std::uint32_t r = blocks; r < pe.registers + code.registers(); ++r)
      repeat(state.registers[r], registers_[r], times);
  }
  if (recorder != nullptr) recorder->skipped.resize(queues_.size());
  for (std::size_t c = 0; c < messages_.size(); ++c) repeat(state.messages[c], messages_[c], times);
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    TimedQueue& queue = state.queues[q];
    if (queue.sent == queues_[q].sent) continue;
    // Their places stay, so the messages that are skipped are only counted. A count may have started anew.
    const auto passed = static_cast<std::int32_t>(queue.sent - queues_[q].sent);
    repeat(state.messages[queue.channel], state.messages[queue.channel] - passed, times);
    if (recorder != nullptr) repeat(recorder->skipped[q], skipped_[q] - passed, times);
    std::int64_t link_free = queue.link_free;
    repeat(link_free, queues_[q].link_free, times);
    std::int64_t* place = state.times.data() + queue.ring;
    for (std::uint32_t n = 0; n <= queue.mask; ++n) place[n] += link_free - queue.link_free;
    queue.link_free = link_free;
  }
  for (std::size_t p = 0; p < port_free_.size(); ++p) repeat(state.port_free[p], port_free_[p], times);
  if (memory_) array.memory().skip(*memory_, times, by_pe);
  return most;
}

}  // namespace cyclotron::runtime::simulator
