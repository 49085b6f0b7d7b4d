#include <cyclotron/proof/channels.hpp>

#include <algorithm>
#include <deque>

#include <fmt/format.h>

#include <cyclotron/program/wires.hpp>

#include "poll.hpp"
#include "violations.hpp"

namespace cyclotron::proof {
namespace {

using Kind = ChannelAction::Kind;

/// The run: who is where, and how many messages each queue holds.
class Runner {
 public:
  Runner(const ChannelProgram& channels, const std::vector<std::int64_t>& depths)
      : channels_(channels), next_(channels.pes.size(), 0), queues_(channels.queues.size()) {
    for (std::size_t q = 0; q < queues_.size(); ++q) queues_[q].depth = depths[q];
  }

  ChannelRun run() {
    for (std::uint32_t pe = 0; pe < next_.size(); ++pe) ready_.push_back(pe);
    while (!ready_.empty()) {
      const std::uint32_t pe = ready_.front();
      ready_.pop_front();
      const auto& actions = channels_.pes[pe];
      while (next_[pe] < actions.size() && passes(actions[next_[pe]])) ++next_[pe];
    }
    ChannelRun result;
    for (std::uint32_t pe = 0; pe < next_.size(); ++pe) {
      if (next_[pe] < channels_.pes[pe].size()) result.waits.push_back(wait_of(pe));
    }
    for (const auto& queue : queues_) result.left.push_back(queue.held);
    return result;
  }

 private:
  struct State {
    std::int64_t held = 0;
    std::int64_t depth = 1;
    bool sender_waits = false;
    bool receiver_waits = false;

    [[nodiscard]] bool has_place() const { return depth == 0 ? receiver_waits : held < depth; }
  };

  bool passes(const ChannelAction& action) {
    poll_.tick();
    switch (action.kind) {
      case Kind::receive: return receive(action.queue);
      case Kind::send:
        if (!queues_[action.queue].has_place()) return wait_for_place(action.queue);
        put(action.queue);
        return true;
      case Kind::broadcast:
        for (std::uint32_t n = 0; n < action.count; ++n) {
          const std::uint32_t queue = channels_.groups[action.queue + n];
          if (!queues_[queue].has_place()) return wait_for_place(queue);
        }
        for (std::uint32_t n = 0; n < action.count; ++n) put(channels_.groups[action.queue + n]);
        return true;
    }
    return false;
  }

  bool wait_for_place(std::uint32_t queue) {
    queues_[queue].sender_waits = true;
    return false;
  }

  void put(std::uint32_t queue) {
    State& state = queues_[queue];
    ++state.held;
    if (!state.receiver_waits) return;
    state.receiver_waits = false;
    ready_.push_back(channels_.queues[queue].receiver);
  }

  bool receive(std::uint32_t queue) {
    State& state = queues_[queue];
    const bool empty = state.held == 0;
    if (empty) {
      state.receiver_waits = true;
    } else {
      --state.held;
    }
    // A place is free now, or under rendezvous the receiver is there.
    if (state.sender_waits && state.has_place()) {
      state.sender_waits = false;
      ready_.push_back(channels_.queues[queue].sender);
    }
    return !empty;
  }

  [[nodiscard]] Wait wait_of(std::uint32_t pe) const {
    const ChannelAction& action = channels_.pes[pe][next_[pe]];
    std::uint32_t queue = action.queue;
    if (action.kind == Kind::broadcast) {
      std::uint32_t n = 0;
      while (n + 1 < action.count && queues_[channels_.groups[action.queue + n]].has_place()) ++n;
      queue = channels_.groups[action.queue + n];
    }
    const bool full = action.kind != Kind::receive;
    return {.pe = pe,
            .peer = full ? channels_.queues[queue].receiver : channels_.queues[queue].sender,
            .queue = queue,
            .event = action.event,
            .full = full};
  }

  const ChannelProgram& channels_;
  Poll poll_;
  std::vector<std::size_t> next_;
  std::vector<State> queues_;
  std::deque<std::uint32_t> ready_;
};

/// The circle of waits, or where there is none the wait on a PE that is done or absent.
std::vector<Wait> circle_of(const std::vector<Wait>& waits, bool& circle) {
  const auto position_of = [&](std::uint32_t pe) {
    const auto place = std::ranges::lower_bound(waits, pe, {}, &Wait::pe);
    return place != waits.end() && place->pe == pe ? static_cast<std::size_t>(place - waits.begin())
                                                   : waits.size();
  };
  std::vector<std::size_t> first_visit(waits.size(), waits.size());
  std::vector<Wait> dead_end;
  for (std::size_t start = 0; start < waits.size(); ++start) {
    std::vector<Wait> path;
    std::size_t at = start;
    while (at < waits.size() && first_visit[at] == waits.size()) {
      first_visit[at] = start;
      path.push_back(waits[at]);
      at = position_of(waits[at].peer);
    }
    if (at == waits.size()) {
      if (dead_end.empty()) dead_end = {path.back()};
    } else if (first_visit[at] == start) {
      circle = true;
      const auto begin = std::ranges::find(path, waits[at].pe, &Wait::pe);
      return {begin, path.end()};
    }
  }
  circle = false;
  return dead_end;
}

std::string wait_text(const program::Program& program, const Trace& trace, const ChannelProgram& channels,
                      const Wait& wait, const std::vector<std::int64_t>& depths) {
  const auto& queue = channels.queues[wait.queue];
  const std::string peer = wait.peer == none ? "a PE without a program" : trace.name(wait.peer);
  const std::string what = wait.full
                               ? fmt::format("waits to send on `{}` to {}: full (depth {})",
                                             program.channels[queue.channel].name, peer, depths[wait.queue])
                               : fmt::format("waits to receive on `{}` from {}: empty",
                                             program.channels[queue.channel].name, peer);
  const auto instruction = trace.pes[wait.pe].events[wait.event].instruction;
  return fmt::format(
      "{} {}, {}", trace.name(wait.pe), what,
      place_text(program, trace.pes[wait.pe], instruction, loops_text(program, trace, wait.pe, wait.event)));
}

}  // namespace

ChannelProgram channels_of(const program::Program& program, const Trace& trace) {
  ChannelProgram result{std::vector<std::vector<ChannelAction>>(trace.pes.size()), trace.queues, {}};
  for (std::size_t pe = 0; pe < trace.pes.size(); ++pe) {
    const auto& code = program.classes[trace.pes[pe].pe_class].code;
    const auto& events = trace.pes[pe].events;
    for (std::uint32_t e = 0; e < events.size(); ++e) {
      const auto& action = code[events[e].instruction].action;
      const std::int64_t* arguments = trace.arguments.data() + events[e].first;
      if (std::holds_alternative<program::Send>(action)) {
        result.pes[pe].push_back({Kind::send, static_cast<std::uint32_t>(arguments[1]), 1, e});
      } else if (std::holds_alternative<program::Receive>(action)) {
        result.pes[pe].push_back({Kind::receive, static_cast<std::uint32_t>(arguments[1]), 1, e});
      } else if (std::holds_alternative<program::Broadcast>(action) && arguments[1] > 0) {
        const auto count = static_cast<std::uint32_t>(arguments[1]);
        result.pes[pe].push_back(
            {Kind::broadcast, static_cast<std::uint32_t>(result.groups.size()), count, e});
        for (std::uint32_t n = 0; n < count; ++n)
          result.groups.push_back(static_cast<std::uint32_t>(arguments[2 + n]));
      }
    }
  }
  return result;
}

std::vector<std::int64_t> depths_of(const program::Program& program, const Trace& trace) {
  const program::Wires wires(program);
  std::vector<std::int64_t> result;
  for (const Queue& queue : trace.queues) {
    const bool sends = queue.sender != none;
    result.push_back(sends ? wires.depth(queue.channel, trace.pes[queue.sender].coordinates)
                           : wires.depths(queue.channel).least);
  }
  return result;
}

std::vector<std::int64_t> of_queues(const ChannelProgram& channels,
                                    const std::vector<std::int64_t>& of_channels) {
  std::vector<std::int64_t> result;
  for (const Queue& queue : channels.queues) result.push_back(of_channels[queue.channel]);
  return result;
}

ChannelRun run_channels(const ChannelProgram& channels, const std::vector<std::int64_t>& depths) {
  return Runner(channels, depths).run();
}

DeadlockError deadlock_error(const program::Program& program, const Trace& trace,
                             const ChannelProgram& channels, const ChannelRun& run,
                             const std::vector<std::int64_t>& depths, std::string help) {
  constexpr std::size_t most_notes = 16;
  bool circle = false;
  const auto waits = circle_of(run.waits, circle);
  std::vector<Note> notes;
  for (const auto& wait : waits) {
    if (notes.size() == most_notes) {
      notes.push_back({{}, fmt::format("and {} more PEs in the circle", waits.size() - most_notes)});
      break;
    }
    const auto instruction = trace.pes[wait.pe].events[wait.event].instruction;
    notes.push_back({span_of(program, trace.pes[wait.pe], instruction),
                     wait_text(program, trace, channels, wait, depths)});
  }
  const std::string what = circle
                               ? fmt::format("{} PEs wait for each other in a circle", waits.size())
                               : fmt::format("{} waits for {} that never comes", trace.name(waits.front().pe),
                                             waits.front().full ? "a place in a channel" : "a message");
  return DeadlockError({.code = "CYC802",
                        .span = notes.front().span,
                        .message = fmt::format("the program deadlocks: {}", what),
                        .notes = std::move(notes),
                        .help = std::move(help)});
}

}  // namespace cyclotron::proof
