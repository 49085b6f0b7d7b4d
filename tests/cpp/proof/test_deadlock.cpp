// Random small channel programs: the checker's verdict, its depths and the simulator's runs agree.
#include <gtest/gtest.h>

#include <algorithm>

#include <cyclotron/proof/channels.hpp>
#include <cyclotron/runtime/runtime.hpp>

#include "random.hpp"
#include "runtime/programs.hpp"

namespace cyclotron::proof::testing {
namespace {

using namespace program;
using runtime::testing::constant;
using runtime::testing::slot;
using runtime::testing::variable;

/// One message to one PE over a link, or over a network to a range of PEs.
struct Transfer {
  std::size_t channel = 0;
  std::int64_t sender = 0;
  std::int64_t first = 0;  ///< Receivers: a link's is alone.
  std::int64_t last = 0;
};

/// Something that a PE does, once.
using Body = std::vector<Instruction>;

Instruction instruction(Action action) { return {std::move(action), Span{}}; }

class Generator {
 public:
  /// `paced`: an operator of a cycle or more follows each send, so that no link is ever busy.
  explicit Generator(Random& random, bool paced = false) : random_(random), paced_(paced) {}

  Program operator()() {
    const std::int64_t pes = random_.between(2, 4);
    program_ = runtime::testing::make_program({pes});
    auto& machine = program_.machine;
    machine.topology = {random_.chance(30) ? machine::Topology::torus : machine::Topology::mesh};
    for (auto* link : {&machine.link, &machine.broadcast}) {
      link->depth = random_.between(1, 3);
      link->latency_cycles = random_.between(0, 3);
      link->response_latency_cycles = random_.between(0, 3);
    }
    machine.pe.cycles = {{"add", random_.between(paced_ ? 1 : 0, 3)}};
    add_channels(pes);
    bodies_.assign(static_cast<std::size_t>(pes), {});
    const std::int64_t parts = random_.between(1, 2);
    for (std::int64_t part = 0; part < parts; ++part) add_part(pes);
    program_.classes.clear();
    for (std::int64_t pe = 0; pe < pes; ++pe) add_class(pe);
    return program_;
  }

 private:
  void add_channels(std::int64_t pes) {
    const std::int64_t count = random_.between(1, 3);
    for (std::int64_t c = 0; c < count; ++c) {
      Channel channel;
      channel.name = "c" + std::to_string(c);
      channel.depth = random_.chance(70) ? random_.between(1, 3) : 0;
      if (random_.chance(25)) {
        channel.kind = Channel::Kind::network;
      } else {
        channel.offset = {random_.chance(50)   ? 1
                          : random_.chance(70) ? -1
                                               : std::min<std::int64_t>(2, pes - 1)};
      }
      program_.channels.push_back(channel);
    }
  }

  /// Sends and receives of some transfers, in the order of the transfers or shaken, in a loop or not.
  void add_part(std::int64_t pes) {
    std::vector<Body> bodies(static_cast<std::size_t>(pes));
    const std::int64_t transfers = random_.between(1, 6);
    for (std::int64_t n = 0; n < transfers; ++n) add_transfer(bodies, pes);
    const std::int64_t trips = random_.chance(50) ? 1 : random_.between(2, 4);
    const bool shake = random_.chance(60);
    for (std::size_t pe = 0; pe < bodies.size(); ++pe) {
      auto& body = bodies[pe];
      if (shake && body.size() > 1 && random_.chance(60)) std::swap(random_.pick(body), random_.pick(body));
      if (body.size() > 1 && random_.chance(4)) body.erase(body.begin());
      if (!body.empty() && random_.chance(4)) body.push_back(body.front());
      if (random_.chance(30)) body.push_back(instruction(Compute{Op::add, 0, {slot(0), slot(0)}, slot(0)}));
      auto& all = bodies_[pe];
      const std::int64_t here = random_.chance(3) ? trips + 1 : trips;
      if (here > 1) all.push_back(instruction(Loop{"k", {{constant(1), 1}}, {{constant(here), 1}}, 1}));
      all.insert(all.end(), body.begin(), body.end());
      if (here > 1) all.push_back(instruction(End{}));
    }
  }

  void add_transfer(std::vector<Body>& bodies, std::int64_t pes) {
    const std::size_t c = random_.below(program_.channels.size());
    const Channel& channel = program_.channels[c];
    const std::int64_t sender = random_.between(0, pes - 1);
    auto& sends = bodies[static_cast<std::size_t>(sender)];
    if (channel.kind == Channel::Kind::network) {
      const std::int64_t first = random_.between(0, pes - 1), last = random_.between(first, pes - 1);
      sends.push_back(
          instruction(Broadcast{ChannelId(c), slot(0), {{constant(first), 1}}, {{constant(last), 1}}}));
      for (std::int64_t to = first; to <= last; ++to) {
        if (to == sender) continue;
        bodies[static_cast<std::size_t>(to)].push_back(
            instruction(Receive{ChannelId(c), slot(0), {constant(sender)}}));
      }
      return;
    }
    std::int64_t to = sender + channel.offset[0];
    if (machine::wraps_around(program_.machine)) to = (to + pes) % pes;
    if (to < 0 || to >= pes) return;
    sends.push_back(instruction(Send{ChannelId(c), slot(0)}));
    bodies[static_cast<std::size_t>(to)].push_back(instruction(Receive{ChannelId(c), slot(0), {}}));
  }

  void add_class(std::int64_t pe) {
    PeClass result;
    result.name = "class " + std::to_string(pe);
    result.region = {{{Condition::Kind::zero, variable(0, -pe), 0}}};
    result.slots = {Slot{"x", DType::float64, {1, 1}, 1, 0, false}};
    result.memory_bytes = 16;
    result.code = {instruction(Move{slot(0), program::Constant{1, 0}})};
    const auto& body = bodies_[static_cast<std::size_t>(pe)];
    for (const auto& one : body) {
      result.code.push_back(one);
      const bool sends =
          std::holds_alternative<Send>(one.action) || std::holds_alternative<Broadcast>(one.action);
      if (paced_ && sends)
        result.code.push_back(instruction(Compute{Op::add, 0, {slot(0), slot(0)}, slot(0)}));
    }
    program_.classes.push_back(std::move(result));
  }

  Random& random_;
  bool paced_;
  Program program_;
  std::vector<Body> bodies_;
};

struct Simulated {
  bool deadlock = false;
  std::int64_t stalls = 0;  ///< Cycles that PEs waited for a place or a busy link.
  std::int64_t cycles = 0;
};

Simulated simulate(const Program& program) {
  Simulated result;
  try {
    const auto timing = runtime::simulate(program, {}, {.functional = false, .event_limit = 0});
    for (const auto& pe : timing.pes) result.stalls += pe.stall_full;
    result.cycles = timing.cycles;
  } catch (const DeadlockError&) {
    result.deadlock = true;
  }
  return result;
}

template <class Member>
Program with_depths(Program program, const Depths& depths, Member depth) {
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    program.channels[c].depth = depths.channels[c].*depth;
  return program;
}

bool deadlocks(const Program& program) {
  const Trace trace = unroll(program, 100'000);
  return !run_channels(channels_of(program, trace), depths_of(program, trace)).finished();
}

int all_programs() { return how_many("CYCLOTRON_CHANNEL_PROGRAMS", 100'000); }

/// A part of them: each of these runs at several depths.
int programs_with_depths() { return std::max(all_programs() * 6 / 100, 100); }

TEST(Deadlock, VerdictIsTheSimulatorsOnRandomPrograms) {
  const int programs = all_programs();
  Random random(fresh_seed("deadlock verdicts"));
  Generator generate(random);
  int blocked = 0;
  for (int n = 0; n < programs; ++n) {
    const Program program = generate();
    const bool verdict = deadlocks(program);
    blocked += verdict ? 1 : 0;
    ASSERT_EQ(verdict, simulate(program).deadlock) << "program " << n << "\n" << to_string(program);
  }
  std::cout << blocked << " of " << programs << " programs deadlock\n";
  EXPECT_GT(blocked, programs / 10);
  EXPECT_LT(blocked, programs * 9 / 10);
}

TEST(Deadlock, LeastDepthsPassAndNoneCanShrink) {
  const int programs = programs_with_depths();
  Random random(fresh_seed("least depths"));
  Generator generate(random);
  int found = 0, larger_than_one = 0;
  for (int n = 0; n < programs; ++n) {
    const Program program = generate();
    Depths depths;
    try {
      depths = least_depths(program, 100'000);
    } catch (const DeadlockError& error) {
      EXPECT_NE(error.diagnostic().help.find("no channel depth helps"), std::string::npos);
      auto deep = program;
      for (auto& channel : deep.channels) channel.depth = 1000;
      ASSERT_TRUE(simulate(deep).deadlock);
      continue;
    }
    ++found;
    EXPECT_EQ(depths.passes_as_given, !simulate(program).deadlock);
    Program least = with_depths(program, depths, &ChannelDepth::least);
    ASSERT_FALSE(simulate(least).deadlock) << to_string(program);
    for (auto& channel : least.channels) {
      if (channel.depth == 1) continue;
      ++larger_than_one;
      --channel.depth;
      ASSERT_TRUE(simulate(least).deadlock) << to_string(program);
      ++channel.depth;
    }
  }
  std::cout << found << " programs, " << larger_than_one << " depths above 1\n";
  EXPECT_GT(found, programs / 6);
  EXPECT_GT(larger_than_one, programs / 200);
}

TEST(Deadlock, NoStallDepthsChangeNothing) {
  const int programs = programs_with_depths();
  Random random(fresh_seed("depths without a stall"));
  Generator generate(random);
  int found = 0;
  for (int n = 0; n < programs; ++n) {
    Program program = generate();
    Depths depths;
    try {
      depths = least_depths(program, 100'000);
    } catch (const DeadlockError&) {
      continue;
    }
    ++found;
    auto free = program;
    for (auto& channel : free.channels) channel.depth = 1000;
    const Simulated without_bounds = simulate(free);
    const Simulated run = simulate(with_depths(program, depths, &ChannelDepth::no_stall));
    ASSERT_FALSE(run.deadlock);
    ASSERT_EQ(run.stalls, without_bounds.stalls) << to_string(program);
    ASSERT_EQ(run.cycles, without_bounds.cycles) << to_string(program);
  }
  EXPECT_GT(found, programs / 6);
}

TEST(Deadlock, NoStallDepthsCannotShrink) {
  const int programs = programs_with_depths();
  Random random(fresh_seed("least depths without a stall"));
  Generator generate(random, true);
  int shrunk = 0;
  for (int n = 0; n < programs; ++n) {
    Program program = generate();
    Depths depths;
    try {
      depths = least_depths(program, 100'000);
    } catch (const DeadlockError&) {
      continue;
    }
    program = with_depths(program, depths, &ChannelDepth::no_stall);
    ASSERT_EQ(simulate(program).stalls, 0) << to_string(program);
    for (auto& channel : program.channels) {
      if (channel.depth == 1) continue;
      ++shrunk;
      --channel.depth;
      const Simulated less = simulate(program);
      ASSERT_TRUE(less.deadlock || less.stalls > 0) << to_string(program);
      ++channel.depth;
    }
  }
  std::cout << shrunk << " depths above 1\n";
  EXPECT_GT(shrunk, programs / 6);
}

TEST(Deadlock, NamesTheCircle) {
  Program program = runtime::testing::make_program({2});
  for (const std::int64_t offset : {1, -1}) {
    Channel channel;
    channel.name = offset > 0 ? "right" : "left";
    channel.offset = {offset};
    program.channels.push_back(channel);
  }
  auto& all = program.classes.front();
  all.slots = {Slot{"x", DType::float64, {1, 1}, 1, 0, false}};
  all.memory_bytes = 16;
  runtime::testing::Code code;
  code.move(slot(0), program::Constant{1, 0}).loop("k", constant(0), constant(4));
  code.if_zero(variable(0)).send(0, slot(0)).end().if_zero(variable(0, -1)).send(1, slot(0)).end().end();
  code.loop("k", constant(0), constant(4));
  code.if_zero(variable(0)).receive(1, slot(0)).end().if_zero(variable(0, -1)).receive(0, slot(0)).end();
  all.code = code.end().code;
  const auto depths = least_depths(program, 1000);
  EXPECT_EQ(depths.channels[0].least, 1);  // the other one alone can then hold all
  EXPECT_EQ(depths.channels[1].least, 5);
  EXPECT_FALSE(depths.passes_as_given);
  EXPECT_FALSE(depths.rendezvous);

  const Trace trace = unroll(program, 1000);
  const auto channels = channels_of(program, trace);
  const auto given = depths_of(program, trace);
  const auto error = deadlock_error(program, trace, channels, run_channels(channels, given), given, "deeper");
  EXPECT_EQ(error.diagnostic().code, "CYC802");
  EXPECT_EQ(error.diagnostic().message, "the program deadlocks: 2 PEs wait for each other in a circle");
  ASSERT_EQ(error.diagnostic().notes.size(), 2U);
  EXPECT_EQ(
      error.diagnostic().notes[0].text,
      "PE (0) waits to send on `right` to PE (1): full (depth 2), at instruction 3 of class 0, where k = 2");
}

}  // namespace
}  // namespace cyclotron::proof::testing
