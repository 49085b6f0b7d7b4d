// The least depths of channels: without deadlock, and without a stall.
#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include <cyclotron/program/wires.hpp>
#include <cyclotron/proof/channels.hpp>

#include "execute.hpp"

namespace cyclotron::proof {
namespace {

/// Lowers one channel after the other as far as the rest allows, but not below its bound. A depth that blocks while
/// the others are larger also blocks when they are smaller, so in the end none can shrink alone.
std::vector<std::int64_t> lower_each(const ChannelProgram& channels, std::vector<std::int64_t> depths,
                                     const std::vector<std::int64_t>& bounds) {
  for (std::size_t c = 0; c < depths.size(); ++c) {
    auto& depth = depths[c];
    std::int64_t blocks = bounds[c] - 1, passes = depth;
    const auto try_with = [&](std::int64_t guess) {
      depth = guess;
      const bool enough = run_channels(channels, of_queues(channels, depths)).finished();
      (enough ? passes : blocks) = guess;
      return enough;
    };
    for (std::int64_t guess = bounds[c]; guess < passes && !try_with(guess);) guess *= 2;  // mostly small
    while (passes - blocks > 1) (void)try_with(blocks + (passes - blocks) / 2);
    depth = passes;
  }
  return depths;
}

/// The least depth with which message k always finds its place free when it is sent: one more than the
/// messages before it that have not been received, or whose place is not yet seen to be free.
std::int64_t without_stall(const QueueTimes& times, std::int64_t response_latency) {
  std::size_t gone = 0;
  std::size_t most = 1;
  for (std::size_t k = 0; k < times.sent.size(); ++k) {
    while (gone < k && gone < times.received.size() &&
           times.received[gone] + response_latency <= times.sent[k]) {
      ++gone;
    }
    most = std::max(most, k - gone + 1);
  }
  return static_cast<std::int64_t>(most);
}

[[noreturn]] void no_times(const program::Program& program) {
  throw LegalityError(
      {.code = "CYC672",
       .span = {},
       .message = fmt::format("the least depths without a stall of `{}` are not known on this machine: who "
                              "waits for shared links, units, ports or DRAM depends on the depths",
                              program.kernel),
       .notes = {},
       .help = "ask program.with_machine(...) of one without shared_links, latencies of units, ports, "
               "overlap and DRAM; the least depths without deadlock are the same there, and prove() holds on "
               "both"});
}

}  // namespace

Depths least_depths(const program::Program& program, std::int64_t limit) {
  program::verify(program);
  if (machine::has_hazards(program.machine)) no_times(program);
  const Trace trace = unroll(program, limit);
  const ChannelProgram channels = channels_of(program, trace);
  const std::vector<std::int64_t> free(trace.queues.size(), unbounded);
  const auto freely = run_channels(channels, free);
  if (!freely.finished()) {
    throw deadlock_error(program, trace, channels, freely, free,
                         "no channel depth helps: a message that is waited for is never sent");
  }
  TermTable terms(program.tensors);
  const auto executed = execute(program, trace, terms, {4 * limit, 0}, [](auto, auto, auto, auto, auto) {});

  const program::Wires wires(program);
  Depths result;
  const auto given = program::least_depths(program);
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    result.channels.push_back({program.channels[c].name, 0, 0, given[c], 1, 1});
  std::vector<std::int64_t> enough(program.channels.size(), 1);
  for (std::size_t q = 0; q < trace.queues.size(); ++q) {
    const auto number = trace.queues[q].channel;
    auto& channel = result.channels[number];
    const auto& times = executed.times[q];
    const auto sender = trace.queues[q].sender;
    const auto& link =
        sender == none ? *wires.links(number).front() : wires.link(number, trace.pes[sender].coordinates);
    ++channel.queues;
    channel.messages = std::max(channel.messages, static_cast<std::int64_t>(times.sent.size()));
    channel.no_stall = std::max(channel.no_stall, without_stall(times, link.response_latency_cycles));
    enough[number] = std::max(enough[number], channel.messages);
  }
  const std::vector<std::int64_t> ones(enough.size(), 1);
  const auto least = lower_each(channels, std::move(enough), ones);
  std::vector<std::int64_t> in_time, no_stall;
  for (std::size_t c = 0; c < least.size(); ++c) {
    result.channels[c].least = least[c];
    in_time.push_back(result.channels[c].no_stall);
    // Where hops take no time, a place may be free in time only because of the message that needs it.
    no_stall.push_back(std::max(in_time[c], least[c]));
  }
  no_stall = lower_each(channels, std::move(no_stall), in_time);
  for (std::size_t c = 0; c < no_stall.size(); ++c) result.channels[c].no_stall = no_stall[c];
  result.passes_as_given = run_channels(channels, depths_of(program, trace)).finished();
  result.rendezvous = run_channels(channels, std::vector<std::int64_t>(trace.queues.size(), 0)).finished();
  return result;
}

}  // namespace cyclotron::proof
