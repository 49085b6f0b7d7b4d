// The report of a timing-only run: its progress, and in the end its measurements.
#include <algorithm>
#include <array>
#include <string>

#include <cyclotron/support/error.hpp>

#include "timed_engine.hpp"
#include "work.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// sum += times * amount, exactly.
void add(std::int64_t& sum, std::int64_t times, std::int64_t amount) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(times, amount, &product) || __builtin_add_overflow(sum, product, &sum))
    too_long();
}

}  // namespace

/// A guess from the outermost loops of some of the PEs.
double TimedEngine::fraction_done() const {
  const TimedState& state = array_.state();
  const std::size_t every = std::max<std::size_t>(1, state.pes.size() / 64);
  double sum = 0, samples = 0;
  for (std::size_t p = 0; p < state.pes.size(); p += every, ++samples) {
    const TimedPe& pe = state.pes[p];
    const auto& ops = array_.code(pe).ops;
    double at = pe.counter;
    for (std::uint32_t n = 0; n < pe.counter; ++n) {  // the outermost loop that it is in
      const bool loop = ops[n].kind == TimedOp::Kind::loop || ops[n].kind == TimedOp::Kind::fixed_loop;
      if (!loop || ops[n].target <= pe.counter) continue;
      const Step& step = array_.program().codes[pe.pe_class].steps[ops[n].step];
      const std::int64_t* registers = state.registers.data() + pe.registers;
      const auto left = static_cast<double>(registers[1]);
      const auto size = static_cast<double>(ops[n].target - n);
      const auto past = ops[n].kind == TimedOp::Kind::fixed_loop
                            ? static_cast<double>(ops[n].trips) - left
                            : static_cast<double>(registers[0]) / static_cast<double>(step.step);
      at = n + size * std::clamp(past / (past + left), 0.0, 1.0);
      break;
    }
    sum += at / static_cast<double>(std::max<std::size_t>(1, ops.size() - 1));
  }
  return samples == 0 ? 1 : std::clamp(sum / samples, 0.0, 1.0);
}

namespace {

/// The PEs of an array, larger than the one that was simulated.
class ReplicatedArray {
 public:
  ReplicatedArray(const TimedArray& array, const RowReplicas& replicas) : array_(array) {
    const auto& grid = array.program().grid;
    for (std::uint32_t d = 0; d < grid.size(); ++d) {
      cuts_.push_back(replicas.cuts.empty() ? Cut{} : replicas.cuts[d]);
      extents_.push_back(grid[d] + cuts_[d].copies);
      size_ *= static_cast<std::size_t>(extents_[d]);
    }
    steady_ = replicas.steady;
  }

  [[nodiscard]] std::size_t size() const { return size_; }
  /// Calls f(grid index, ordinal of the PE that was simulated, cycles that it is later).
  template <class F>
  void for_each_pe(F f) const {
    for_each_row(0, 0, 0, 0, f);
  }
  /// Number of PEs that one that was simulated stands for.
  [[nodiscard]] std::int64_t copies(std::uint32_t ordinal) const {
    std::int64_t result = 1;
    for (std::uint32_t d = 0; d < cuts_.size(); ++d)
      result *= cuts_[d].times(array_.coordinate(array_.grid_index(ordinal), d));
    return result;
  }

 private:
  template <class F>
  void for_each_row(std::size_t dimension, std::size_t index, std::size_t simulated, std::int64_t shift,
                    F& f) const {
    if (dimension == extents_.size()) {
      const std::uint32_t ordinal = array_.ordinal(simulated);
      if (ordinal == TimedArray::none) return;
      f(index, ordinal, !steady_.empty() && steady_[ordinal] != 0 ? 0 : shift);
      return;
    }
    const auto extent = static_cast<std::size_t>(extents_[dimension]);
    const auto kept = extent - static_cast<std::size_t>(cuts_[dimension].copies);
    for (std::size_t x = 0; x < extent; ++x) {
      const auto row = static_cast<std::size_t>(cuts_[dimension].row_of(static_cast<std::int64_t>(x)));
      for_each_row(dimension + 1, index * extent + x, simulated * kept + row,
                   shift + cuts_[dimension].shift_of(static_cast<std::int64_t>(x)), f);
    }
  }

  const TimedArray& array_;
  std::vector<Cut> cuts_;
  std::vector<std::int64_t> extents_;
  std::vector<char> steady_;
  std::size_t size_ = 1;
};

/// A channel's queues together.
void tell_channels(const TimedArray& array, const ReplicatedArray& replicated, const RowReplicas& replicas,
                   Timing& result) {
  const TimedState& state = array.state();
  for (const auto& channel : array.program().source->channels)
    result.channels.emplace_back().name = channel.name;
  const bool whole = replicas.cuts.empty();
  std::vector<std::int64_t> messages(state.messages.size(), 0);  // By channel of the timed program.
  if (whole) messages = state.messages;
  for (std::size_t q = 0; q < state.queues.size(); ++q) {
    const TimedQueue& queue = state.queues[q];
    const TimedChannel& constants = array.program().channels[queue.channel];
    ChannelStatistics& channel = result.channels[constants.source];
    const std::uint32_t end = queue.receiver == TimedArray::none ? queue.sender : queue.receiver;
    const std::int64_t copies = whole ? 1 : replicated.copies(end);
    add(messages[queue.channel], copies, queue.sent + (whole ? 0 : replicas.skipped[q]));
    const std::int64_t used = queue.link_free > 0 ? copies : 0;  // once a message was sent
    channel.queues += used;
    channel.words_per_cycle += used * constants.words_per_cycle;
    channel.peak_occupancy =
        std::max<std::int64_t>({channel.peak_occupancy, queue.peak, queue.sent - queue.received});
  }
  for (std::size_t c = 0; c < messages.size(); ++c) {
    const TimedChannel& constants = array.program().channels[c];
    ChannelStatistics& channel = result.channels[constants.source];
    channel.messages += messages[c];
    channel.words += messages[c] * constants.words;
    channel.busy_cycles += messages[c] * constants.transfer;
  }
}

/// Tells how each PE spent its cycles, of which the result has the number.
void tell_pes(const TimedArray& array, const Controller& controller, const ReplicatedArray& replicated,
              Timing& result) {
  const TimedState& state = array.state();
  std::array<std::vector<std::int64_t>*, operators::operator_count> columns{};
  const auto column = [&](Op op) -> std::vector<std::int64_t>& {
    auto& found = columns[static_cast<std::size_t>(op)];
    if (found == nullptr) {
      found = &result.busy_by_operator[std::string(operators::info(op).name)];
      found->resize(replicated.size());
    }
    return *found;
  };
  Counters& counters = result.counters;
  counters.group_of.assign(replicated.size(), Counters::none);
  for (const TimedCode& code : array.program().classes) {
    auto& group = counters.groups.emplace_back(Counters::Group{.once = code.once.work, .repeated = {}});
    for (const TimedBlock& block : code.blocks) group.repeated.push_back(block.work);
  }
  replicated.for_each_pe([&](std::size_t index, std::uint32_t o, std::int64_t shift) {
    const TimedPe& pe = state.pes[o];
    const TimedCode& code = array.code(pe);
    PeCycles& cycles = result.pes[index];
    const auto did = [&](const TimedBlock& block, std::int64_t times) {
      add(result.instructions, times, all_instructions(block.work));
      add(result.events_dropped, times, block.work.count(InstructionKind::compute));
      for (const auto& [op, one] : block.busy) {
        if (times == 0) continue;
        cycles.busy += times * one;
        column(op)[index] += times * one;
      }
    };
    counters.group_of[index] = pe.pe_class;
    did(code.once, 1);
    const std::int64_t* times = state.registers.data() + pe.registers + std::size_t{2} * code.loops;
    for (const TimedBlock& block : code.blocks) {
      did(block, *times);
      counters.times.push_back(*times++);
    }
    cycles.stall_full = pe.stall_full;
    cycles.stall_control = controller.stalled(o);
    cycles.wait_control = controller.waited(o);
    cycles.stall_empty =
        pe.now + shift - cycles.busy - pe.stall_full - cycles.stall_memory - cycles.stall_control;
    cycles.idle = result.cycles - pe.now - shift;
  });
}

}  // namespace

Timing TimedEngine::timing(const RowReplicas& replicas) && {
  const ReplicatedArray replicated(array_, replicas);
  Timing result;
  replicated.for_each_pe([&](std::size_t, std::uint32_t o, std::int64_t shift) {
    result.cycles = std::max(result.cycles, array_.state().pes[o].now + shift);
  });
  if (result.cycles > latest) too_long();
  tell_channels(array_, replicated, replicas, result);
  array_.release_queues();  // as large as what is told of the PEs
  result.pes.assign(replicated.size(), PeCycles{.idle = result.cycles});
  array_.memory().tell(result);
  tell_pes(array_, controller_, replicated, result);
  return result;
}

}  // namespace cyclotron::runtime::simulator
