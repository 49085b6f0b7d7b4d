// Rows of PEs that do the same, a constant time later: found, and only where they are.
#include <gtest/gtest.h>

#include <random>

#include <cyclotron/support/error.hpp>

#include "../../../src/runtime/simulator/skipping/replicate_rows.hpp"
#include "../../../src/runtime/simulator/timing/row_replicas.hpp"
#include "../../../src/runtime/simulator/timing/recorder.hpp"
#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

using simulator::Cut;
using simulator::simulate_replicated;
using simulator::Stream;

/// A stream, and its times written out.
struct Written {
  Stream stream;
  std::vector<std::int64_t> times;

  void add(std::int64_t time) {
    stream.add(time, false);
    times.push_back(time);
  }
  void repeat(std::int64_t period, std::int64_t count, std::int64_t later) {
    stream.repeat(period, count, later);
    for (std::int64_t n = 0; n < period * count; ++n)
      times.push_back(times[times.size() - static_cast<std::size_t>(period)] + later);
  }
};

Written random_stream(std::mt19937& random) {
  Written result;
  const auto below = [&](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
  for (std::int64_t pieces = 1 + below(4); pieces > 0; --pieces) {
    for (std::int64_t n = 1 + below(3); n > 0; --n)
      result.add((result.times.empty() ? 0 : result.times.back()) + below(3));
    const auto size = static_cast<std::uint32_t>(result.times.size());
    if (below(2) == 0) result.repeat(1 + below(std::min(size, 3U)), 1 + below(4), below(4));
  }
  return result;
}

TEST(Stream, TellsWhatWasSkipped) {
  std::mt19937 random(1);
  for (int n = 0; n < 500; ++n) {
    const Written written = random_stream(random);
    ASSERT_EQ(written.stream.size(), static_cast<std::int64_t>(written.times.size()));
    for (std::size_t k = 0; k < written.times.size(); ++k)
      ASSERT_EQ(written.stream.at(static_cast<std::int64_t>(k)), written.times[k]);
  }
}

TEST(Stream, FindsAShiftOnlyWhereThereIsOne) {
  std::mt19937 random(2);
  int found = 0;
  for (int n = 0; n < 100'000; ++n) {
    const Written a = random_stream(random), b = random_stream(random);
    const auto shift = a.stream.shift_to(b.stream);
    bool same = a.times.size() == b.times.size();
    for (std::size_t k = 0; same && k < a.times.size(); ++k)
      same = b.times[k] - a.times[k] == b.times[0] - a.times[0];
    if (shift) {
      ++found;
      ASSERT_TRUE(same);
      ASSERT_EQ(*shift, b.times[0] - a.times[0]);
    }
  }
  EXPECT_GT(found, 200);
}

/// One stops to repeat itself earlier than the other, which is one event behind.
TEST(Stream, FindsTheShiftOfOneThatIsBehind) {
  constexpr std::int64_t steps = 1'000'000'000;
  Stream first, second;
  for (std::int64_t k = 0; k < 6; ++k) first.add(10 + 3 * k, false);
  first.repeat(2, steps, 6);
  for (std::int64_t k = 0; k < 5; ++k) second.add(14 + 3 * k, false);
  second.repeat(2, steps, 6);
  second.add(14 + 3 * (5 + 2 * steps), false);
  EXPECT_EQ(first.shift_to(second), 4);
  EXPECT_EQ(second.shift_to(first), -4);
  second = {};
  for (std::int64_t k = 0; k < 5; ++k) second.add(14 + 3 * k, false);
  second.repeat(2, steps, 6);
  second.add(14 + 3 * (5 + 2 * steps) + 1, false);
  EXPECT_FALSE(first.shift_to(second));
}

TEST(Cut, MapsRowsAndTheirShifts) {
  for (const std::int64_t shift : {3, -3}) {
    const Cut cut{.row = 1, .copies = 2, .shift = shift};  // of rows 0 to 3: 0 1 1 1 2 3
    const std::vector<std::int64_t> rows{0, 1, 1, 1, 2, 3};
    std::int64_t copies = 0;
    for (std::int64_t x = 0; x < 6; ++x) {
      EXPECT_EQ(cut.row_of(x), rows[static_cast<std::size_t>(x)]);
      if (x > 0) {
        EXPECT_EQ(cut.shift_of(x) - cut.shift_of(x - 1), x == 2 || x == 3 ? shift : 0);
      }
      EXPECT_GE(cut.shift_of(x), 0);
    }
    for (std::int64_t row = 0; row < 4; ++row) copies += cut.times(row);
    EXPECT_EQ(copies, 6);
  }
}

/// A chain that passes on `messages` numbers; a PE's code looks at its coordinate unless there are classes for that.
Program chain(std::int64_t pes, std::int64_t messages, bool classes) {
  Program result = make_program({pes});
  result.channels = {link("x.i+1", {1})};
  const auto region = [](Affine form) {
    return program::Disjunction{{Condition{Condition::Kind::zero, std::move(form), 0}}};
  };
  const auto fill = [&](PeClass& part, bool asks, bool receives, bool sends) {
    const auto x = add_slot(part, "x");
    Code code;
    code.loop("k", constant(0), constant(messages - 1));
    if (asks) code.if_not_negative(variable(0, -1));
    if (asks || receives) code.receive(0, slot(x));
    if (asks) code.end();
    code.compute(Op::negative, slot(x), {slot(x)});
    if (asks) code.if_not_negative(minus(0, pes - 2));
    if (asks || sends) code.send(0, slot(x));
    if (asks) code.end();
    part.code = code.end().code;
  };
  if (!classes) {
    fill(result.classes[0], true, true, true);
    return result;
  }
  const PeClass empty = result.classes[0];
  result.classes = {empty, empty, empty};
  result.classes[0].region = region(variable(0));
  result.classes[2].region = region(minus(0, pes - 1));
  result.classes[1].region = {{Condition{Condition::Kind::non_negative, variable(0, -1), 0},
                               Condition{Condition::Kind::non_negative, minus(0, pes - 2), 0}}};
  fill(result.classes[0], false, false, true);
  fill(result.classes[1], false, true, true);
  fill(result.classes[2], false, true, false);
  return result;
}

std::optional<Timing> replicated(const Program& program) {
  const auto timed = simulator::time_program(program);
  return timed ? simulate_replicated(*timed, {}, 3) : std::nullopt;
}

TEST(RowReplicator, IsExactOnChains) {
  for (const std::int64_t pes : {13, 14, 33, 1000}) {
    for (const std::int64_t depth : {1, 2, 5}) {
      Program program = chain(pes, 700, true);
      program.machine.link.latency_cycles = 3;
      program.machine.link.response_latency_cycles = 2;
      program.machine.link.depth = depth;
      const auto found = replicated(program);
      ASSERT_TRUE(found);
      const Timing expected =
          simulate(program, {}, {.functional = false, .event_limit = 0, .engine = Engine::general});
      EXPECT_EQ(found->cycles, expected.cycles);
      EXPECT_GT(found->pes_skipped, 0);
      for (std::size_t pe = 0; pe < expected.pes.size(); ++pe) {
        EXPECT_EQ(found->pes[pe].busy, expected.pes[pe].busy);
        EXPECT_EQ(found->pes[pe].stall_empty, expected.pes[pe].stall_empty);
        EXPECT_EQ(found->pes[pe].stall_full, expected.pes[pe].stall_full);
        EXPECT_EQ(found->pes[pe].idle, expected.pes[pe].idle);
      }
      EXPECT_EQ(found->channels[0].messages, expected.channels[0].messages);
      EXPECT_EQ(found->channels[0].peak_occupancy, expected.channels[0].peak_occupancy);
    }
  }
}

TEST(RowReplicator, IsLeftAloneWhereRowsAreNotUniform) {
  EXPECT_TRUE(replicated(chain(20, 10, true)));
  EXPECT_FALSE(replicated(chain(12, 10, true))) << "too small";
  EXPECT_FALSE(replicated(chain(20, 10, false))) << "the code looks where it is";
  Program hasty = chain(20, 10, true);
  hasty.machine.link.response_latency_cycles = 0;
  EXPECT_FALSE(replicated(hasty)) << "PEs may wait for each other in no time";
  hasty.machine.link.response_latency_cycles = 1;
  EXPECT_TRUE(replicated(hasty));
}

void expect_as_general(const Program& program) {
  const auto run = [&](Engine engine) {
    return simulate(program, {}, {.functional = false, .event_limit = 0, .engine = engine});
  };
  const Timing expected = run(Engine::general), found = run(Engine::fast_forward);
  EXPECT_EQ(found.cycles, expected.cycles);
  for (std::size_t pe = 0; pe < expected.pes.size(); ++pe) {
    EXPECT_EQ(found.pes[pe].busy, expected.pes[pe].busy);
    EXPECT_EQ(found.pes[pe].stall_empty, expected.pes[pe].stall_empty);
    EXPECT_EQ(found.pes[pe].stall_full, expected.pes[pe].stall_full);
  }
  EXPECT_EQ(found.channels[0].messages, expected.channels[0].messages);
  EXPECT_EQ(found.channels[0].queues, expected.channels[0].queues);
}

/// Two nests, of which the first has no period for so long that rounds are those of outer loops; then each row is late by
/// more than in the first.
TEST(RowReplicator, SeesAShiftThatChangesLate) {
  for (const std::int64_t pes : {17, 20, 40}) {
    Program program = chain(pes, 1, true);
    program.machine.link.depth = machine::unbounded_depth;
    for (std::size_t part = 0; part < 3; ++part) {
      Code code;
      const auto body = [&](std::int64_t cost) {
        if (part > 0) code.receive(0, slot(0));
        for (std::int64_t n = 0; n < cost; ++n) code.compute(Op::negative, slot(0), {slot(0)});
        if (part < 2) code.send(0, slot(0));
        code.end().end();
      };
      code.loop("i", constant(0), constant(149)).loop("k", variable(1), variable(1, 1));
      body(1);
      code.loop("m", constant(0), constant(9)).loop("p", constant(0), constant(9));
      body(10);
      program.classes[part].code = code.code;
    }
    expect_as_general(program);
  }
}

TEST(RowReplicator, CountsMessagesToPesWithoutAProgram) {
  Program program = make_program({20});
  program.channels = {link("x.i+1", {1})};
  PeClass& part = program.classes[0];
  part.region = {{Condition{Condition::Kind::non_negative, minus(0, 17), 0}}};
  const auto x = add_slot(part, "x");
  part.code = Code().compute(Op::negative, slot(x), {slot(x)}).send(0, slot(x)).code;
  expect_as_general(program);
}

TEST(RowReplicator, RefusesCyclesThatDoNotFit) {
  Program program = chain(1000, 2, true);
  program.machine.link.latency_cycles = std::int64_t{1} << 50;
  EXPECT_TRUE(replicated(program));
  program.machine.link.latency_cycles = std::int64_t{1} << 55;
  EXPECT_THROW((void)replicated(program), ExecutionError);
}

}  // namespace
}  // namespace cyclotron::runtime::testing
