// What a run of time alone tells: how far it is, and in the end what it measured.
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

Timing TimedEngine::timing() const {
  const TimedState& state = array_.state();
  Timing result;
  for (const TimedPe& pe : state.pes) result.cycles = std::max(result.cycles, pe.now);
  result.pes.assign(array_.grid_size(), PeCycles{.idle = result.cycles});
  std::array<std::vector<std::int64_t>*, operators::operator_count> columns{};
  const auto column = [&](Op op) -> std::vector<std::int64_t>& {
    auto& found = columns[static_cast<std::size_t>(op)];
    if (found == nullptr) {
      found = &result.busy_by_operator[std::string(operators::info(op).name)];
      found->resize(array_.grid_size());
    }
    return *found;
  };
  Counters& counters = result.counters;
  counters.group_of.assign(array_.grid_size(), Counters::none);
  for (const TimedCode& code : array_.program().classes) {
    auto& group = counters.groups.emplace_back(Counters::Group{.once = code.once.work, .repeated = {}});
    for (const TimedBlock& block : code.blocks) group.repeated.push_back(block.work);
  }
  for (std::uint32_t o = 0; o < array_.count(); ++o) {
    const TimedPe& pe = state.pes[o];
    const TimedCode& code = array_.code(pe);
    PeCycles& cycles = result.pes[array_.grid_index(o)];
    const auto did = [&](const TimedBlock& block, std::int64_t times) {
      add(result.instructions, times, all_instructions(block.work));
      add(result.events_dropped, times, block.work.count(InstructionKind::compute));
      for (const auto& [op, one] : block.busy) {
        if (times == 0) continue;
        cycles.busy += times * one;
        column(op)[array_.grid_index(o)] += times * one;
      }
    };
    counters.group_of[array_.grid_index(o)] = pe.pe_class;
    did(code.once, 1);
    const std::int64_t* times = state.registers.data() + pe.registers + std::size_t{2} * code.loops;
    for (const TimedBlock& block : code.blocks) {
      did(block, *times);
      counters.times.push_back(*times++);
    }
    cycles.stall_full = pe.stall_full;
    cycles.stall_empty = pe.now - cycles.busy - pe.stall_full;
    cycles.idle = result.cycles - pe.now;
  }
  for (std::size_t c = 0; c < state.messages.size(); ++c) {
    ChannelStatistics& channel = result.channels.emplace_back();
    channel.name = array_.program().source->channels[c].name;
    channel.messages = state.messages[c];
  }
  for (const TimedQueue& queue : state.queues) {
    ChannelStatistics& channel = result.channels[queue.channel];
    channel.messages += queue.sent;
    channel.queues += queue.link_free > 0 ? 1 : 0;  // once a message was sent
    channel.peak_occupancy =
        std::max<std::int64_t>({channel.peak_occupancy, queue.peak, queue.sent - queue.received});
  }
  for (std::size_t c = 0; c < result.channels.size(); ++c) {
    const TimedChannel& constants = array_.program().channels[c];
    result.channels[c].words = result.channels[c].messages * constants.words;
    result.channels[c].busy_cycles = result.channels[c].messages * constants.transfer;
  }
  return result;
}

void too_long() {
  throw ExecutionError({.code = "CYC708",
                        .span = {},
                        .message = "the program runs for more than 2^61 cycles",
                        .notes = {},
                        .help = "give operators and links smaller costs"});
}

}  // namespace cyclotron::runtime::simulator
