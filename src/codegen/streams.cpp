#include "streams.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <variant>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/uses.hpp>
#include <cyclotron/support/division.hpp>

namespace cyclotron::codegen {

namespace {

using program::ChannelId;
using program::Condition;
using program::End;
using program::If;
using program::Loop;
using program::PeClass;
using program::Program;
using program::Receive;
using program::Send;
using Blocks = std::vector<std::size_t>;  // The beginnings of those around, outermost first.

/// By instruction.
std::vector<Blocks> blocks_around(const std::vector<program::Instruction>& code) {
  std::vector<Blocks> result;
  Blocks open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (std::holds_alternative<End>(code[at].action)) open.pop_back();
    result.push_back(open);
    if (program::opens(code[at].action)) open.push_back(at);
  }
  return result;
}

/// A loop's iterations.
struct Iterations {
  std::int64_t first = 0, last = 0, step = 1;
  [[nodiscard]] std::int64_t count() const { return last < first ? 0 : (last - first) / step + 1; }
};

std::optional<Iterations> iterations_of(const Loop& loop) {
  const auto is_number = [](const program::Bound& bound) { return bound.numerator.coefficients.empty(); };
  if (!std::ranges::all_of(loop.lower, is_number) || !std::ranges::all_of(loop.upper, is_number))
    return std::nullopt;
  const auto lower = [](const program::Bound& b) { return ceil_divide(b.numerator.constant, b.divisor); };
  const auto upper = [](const program::Bound& b) { return floor_divide(b.numerator.constant, b.divisor); };
  return Iterations{lower(*std::ranges::max_element(loop.lower, {}, lower)),
                    upper(*std::ranges::min_element(loop.upper, {}, upper)), loop.step};
}

/// Leaves the iterations in which a condition holds; false where it is of something else than this variable.
bool narrow(Iterations& range, const Condition& condition, std::size_t variable) {
  const auto& by = condition.form.coefficients;
  const bool is_own =
      by.size() == variable + 1 && std::all_of(by.begin(), by.end() - 1, [](auto c) { return c == 0; });
  if (!is_own || condition.kind != Condition::Kind::non_negative || range.step != 1) return false;
  if (by.back() == 1)
    range.first = std::max(range.first, -condition.form.constant);
  else if (by.back() == -1)
    range.last = std::min(range.last, condition.form.constant);
  else
    return false;
  return true;
}

/// The times that an instruction in these blocks runs, where that is one number.
std::optional<std::int64_t> times(const Program& program, const PeClass& pe_class, const Blocks& blocks) {
  std::vector<Iterations> loops;
  for (const std::size_t begin : blocks) {
    if (const auto* loop = std::get_if<Loop>(&pe_class.code[begin].action)) {
      const auto range = iterations_of(*loop);
      if (!range) return std::nullopt;
      loops.push_back(*range);
      continue;
    }
    const auto& branch = std::get<If>(pe_class.code[begin].action);
    if (loops.empty() || branch.condition.size() != 1 || !branch.within.empty()) return std::nullopt;
    for (const Condition& condition : branch.condition.front()) {
      if (!narrow(loops.back(), condition, program.grid.size() + loops.size() - 1)) return std::nullopt;
    }
  }
  std::int64_t result = 1;
  for (const Iterations& loop : loops) {
    if (__builtin_mul_overflow(result, loop.count(), &result)) return std::nullopt;
  }
  return result;
}

template <class Message>
const Message* message_on(const program::Instruction& one, const std::set<ChannelId>& channels) {
  const auto* message = std::get_if<Message>(&one.action);
  return message != nullptr && channels.contains(message->channel) ? message : nullptr;
}

class StreamFinder {
 public:
  StreamFinder(const Program& program, std::size_t pe_class, const DataFlow& flow, const Places& writers)
      : program_(program), number_(pe_class), blocks_(blocks_around(program.classes[pe_class].code)) {
    for (std::size_t at = 0; at < flow.writers.size(); ++at) {
      const auto* send = std::get_if<Send>(&own().code[at].action);
      const auto is_such = [&](std::size_t writer) { return writers.contains(writer); };
      if (send != nullptr && !flow.writers[at].empty() && std::ranges::all_of(flow.writers[at], is_such))
        sends_.emplace(at, flow.writers[at]);
    }
  }

  std::vector<Stream> run() {
    join();
    std::vector<Stream> result;
    const auto add = [&](const std::set<ChannelId>& channels) {
      auto stream = stream_on(channels);
      if (!stream) return false;
      result.push_back(*std::move(stream));
      return true;
    };
    for (const auto& [root, channels] : groups()) {
      if (add(channels)) continue;
      std::map<std::size_t, std::set<ChannelId>> parts;
      for (const ChannelId channel : channels) parts[apart_[channel.index()]].insert(channel);
      for (const auto& [part, own] : parts) {
        if (parts.size() > 1) add(own);
      }
    }
    return result;
  }

 private:
  [[nodiscard]] const PeClass& own() const { return program_.classes[number_]; }

  std::size_t root(std::size_t channel) {
    while (parent_[channel] != channel) channel = parent_[channel];
    return channel;
  }

  /// Joins channels that what is sent comes by, from PE to PE; then those of one message to PEs of other classes.
  void join() {
    parent_.resize(program_.channels.size());
    std::iota(parent_.begin(), parent_.end(), 0);
    for (const auto& [at, writers] : sends_) carries_.insert(std::get<Send>(own().code[at].action).channel);
    for (std::size_t c = 0; c < program_.classes.size(); ++c) flows_.emplace_back(program_.classes[c]);
    for (bool more = true; more;) {
      more = false;
      for (std::size_t c = 0; c < program_.classes.size(); ++c) {
        for (std::size_t at = 0; c != number_ && at < program_.classes[c].code.size(); ++at)
          more = join_sends(c, at) || more;
      }
    }
    for (std::size_t c = 0; c < parent_.size(); ++c) apart_.push_back(root(c));
    const ChannelId* last = nullptr;
    std::size_t before = 0;
    for (const auto& [at, writers] : sends_) {
      const ChannelId& channel = std::get<Send>(own().code[at].action).channel;
      if (last != nullptr && are_one(before, at) && are_apart(root(last->index()), root(channel.index())))
        parent_[root(channel.index())] = root(last->index());
      last = &channel;
      before = at;
    }
  }

  /// With the channel by which a value comes those on which it is sent.
  bool join_sends(std::size_t pe_class, std::size_t at) {
    const auto* receive = message_on<Receive>(program_.classes[pe_class].code[at], carries_);
    if (receive == nullptr) return false;
    bool more = false;
    for (const std::size_t reader : flows_[pe_class].readers[at]) {
      const auto* send = std::get_if<Send>(&program_.classes[pe_class].code[reader].action);
      if (send == nullptr) continue;
      more = carries_.insert(send->channel).second || more;
      parent_[root(send->channel.index())] = root(receive->channel.index());
    }
    return more;
  }

  /// Two SENDs of the PE on different channels, the second one later: they send the same value in one block.
  [[nodiscard]] bool are_one(std::size_t first, std::size_t second) const {
    const auto& code = own().code;
    const auto &one = std::get<Send>(code[first].action), &two = std::get<Send>(code[second].action);
    return blocks_[first] == blocks_[second] && !(one.channel == two.channel) &&
           origin(first, one.source) == origin(second, two.source);
  }

  /// The instruction before this one that wrote a value, and where to; of copies in the same block the one that wrote what
  /// they copy. Where there is none in the block, its beginning.
  [[nodiscard]] std::pair<std::size_t, program::SlotId> origin(std::size_t at,
                                                               const program::SlotRef& value) const {
    const auto& code = own().code;
    const Blocks& block = blocks_[at];
    program::SlotId slot = value.slot;
    const std::size_t begin = block.empty() ? 0 : block.back() + 1;
    while (at-- > begin) {
      const program::Action& action = code[at].action;
      const auto written = program::uses_of(action).written;
      if (is_in_place(action) || std::ranges::find(written, slot.index()) == written.end()) continue;
      const auto* move = std::get_if<program::Move>(&action);
      const auto* source = move == nullptr ? nullptr : std::get_if<program::SlotRef>(&move->source);
      if (source == nullptr || !is_copy(own(), action) || blocks_[at] != block) return {at, slot};
      slot = source->slot;
    }
    return {begin, slot};
  }

  /// No class receives on channels of both.
  [[nodiscard]] bool are_apart(std::size_t one, std::size_t other) {
    if (one == other) return false;
    return std::ranges::none_of(program_.classes, [&](const PeClass& pe_class) {
      std::set<std::size_t> roots;
      for (const auto& instruction : pe_class.code) {
        if (const auto* receive = message_on<Receive>(instruction, carries_))
          roots.insert(root(receive->channel.index()));
      }
      return roots.contains(one) && roots.contains(other);
    });
  }

  std::map<std::size_t, std::set<ChannelId>> groups() {
    std::map<std::size_t, std::set<ChannelId>> result;
    for (const ChannelId channel : carries_) result[root(channel.index())].insert(channel);
    return result;
  }

  std::optional<Stream> stream_on(std::set<ChannelId> channels) {
    Stream result{std::move(channels), {}};
    std::int64_t count = 0;
    if (!collect(result, count)) return std::nullopt;
    for (std::size_t c = 0; c < program_.classes.size(); ++c) {
      if (c != number_ && !passes_all(c, result.channels, count)) return std::nullopt;
    }
    return result;
  }

  /// The messages of the PE, each on all channels that it sends on, and how many there are.
  bool collect(Stream& stream, std::int64_t& count) const {
    const auto& code = own().code;
    std::set<ChannelId> used;
    for (std::size_t at = 0; at < code.size(); ++at) {
      if (message_on<Receive>(code[at], stream.channels) != nullptr) return false;
      const auto* send = message_on<Send>(code[at], stream.channels);
      if (send == nullptr) continue;
      if (!sends_.contains(at)) return false;
      used.insert(send->channel);
      if (stream.messages.empty() || !are_one(*stream.messages.back().rbegin(), at) ||
          has_channel(stream.messages.back(), send->channel))
        stream.messages.emplace_back();
      stream.messages.back().insert(at);
    }
    for (const Places& message : stream.messages) {
      const auto own_times = times(program_, own(), blocks_[*message.begin()]);
      if (!own_times || message.size() != used.size()) return false;
      count += *own_times;
    }
    return true;
  }
  [[nodiscard]] bool has_channel(const Places& message, ChannelId channel) const {
    return std::ranges::any_of(
        message, [&](std::size_t at) { return std::get<Send>(own().code[at].action).channel == channel; });
  }

  /// A class receives so many messages, all on one channel, and sends each on at most once a channel where it has it; or none.
  bool passes_all(std::size_t c, const std::set<ChannelId>& channels, std::int64_t count) const {
    const PeClass& pe_class = program_.classes[c];
    const auto blocks = blocks_around(pe_class.code);
    std::set<ChannelId> used;
    std::set<std::pair<std::size_t, ChannelId>> sent;
    std::int64_t received = 0;
    for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
      if (const auto* receive = message_on<Receive>(pe_class.code[at], channels)) {
        const auto own_times = times(program_, pe_class, blocks[at]);
        if (!own_times || __builtin_add_overflow(received, *own_times, &received)) return false;
        used.insert(receive->channel);
      }
      const auto* send = message_on<Send>(pe_class.code[at], channels);
      if (send == nullptr) continue;
      const Places& writers = flows_[c].writers[at];
      if (writers.size() != 1) return false;
      const std::size_t from = *writers.begin();
      const bool is_passed = message_on<Receive>(pe_class.code[from], channels) != nullptr && from < at &&
                             blocks[from] == blocks[at];
      if (!is_passed || !sent.emplace(from, send->channel).second) return false;
    }
    return used.size() == 1 ? received == count : used.empty() && sent.empty();
  }

  const Program& program_;
  std::size_t number_;
  std::vector<Blocks> blocks_;           // Of the class, by instruction.
  std::map<std::size_t, Places> sends_;  // Of the values, with their writers.
  std::set<ChannelId> carries_;          // Channels of the values.
  std::vector<DataFlow> flows_;          // By class.
  std::vector<std::size_t> parent_;      // By channel: one of the same stream; itself: the root.
  std::vector<std::size_t> apart_;       // By channel: the root without those that begin at the PE alone.
};

}  // namespace

std::vector<Stream> streams_of(const Program& program, std::size_t pe_class, const DataFlow& flow,
                               const Places& writers) {
  return StreamFinder(program, pe_class, flow, writers).run();
}

}  // namespace cyclotron::codegen
