// Senders that run ahead of full queues: exact where no queue is ever full, and seen not to be where one is.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include <cyclotron/support/error.hpp>

#include "../../../src/runtime/simulator/timing/timed_engine.hpp"
#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

using simulator::RanAheadTooFar;
using simulator::Senders;
using simulator::time_program;
using simulator::TimedEngine;

struct Chain {
  std::int64_t pes, messages;
  std::int64_t first_cycles, middle_cycles, last_cycles;
  machine::Link link;
};

/// Each PE but the last sends `messages` numbers to the next one, and computes on each before that.
Program program_of(const Chain& chain) {
  Program result = make_program({chain.pes});
  result.machine.link = chain.link;
  result.machine.pe.cycles = {
      {"negative", chain.first_cycles}, {"sqrt", chain.middle_cycles}, {"exp", chain.last_cycles}};
  result.tensors = {{"x", DType::float64, Role::input, {chain.messages}, {1}, false},
                    {"y", DType::float64, Role::output, {chain.messages}, {1}, false}};
  result.channels = {link("x.i+1", {1})};
  const auto at_least = [](Affine form) {
    return Condition{Condition::Kind::non_negative, std::move(form), 0};
  };
  const auto add_class = [&](std::vector<Condition> region, Op op, bool receives, bool sends) {
    PeClass part{.name = "part",
                 .region = {std::move(region)},
                 .region_text = "part",
                 .slots = {},
                 .code = {},
                 .memory_bytes = 0};
    const auto x = add_slot(part, "x");
    Code code;
    code.loop("k", constant(0), constant(chain.messages - 1));
    if (receives) code.receive(0, slot(x));
    if (!receives) code.load(slot(x), 0, {variable(1)});
    code.compute(op, slot(x), {slot(x)});
    if (sends) code.send(0, slot(x));
    if (!sends) code.store(1, {variable(1)}, slot(x));
    part.code = code.end().code;
    result.classes.push_back(std::move(part));
  };
  result.classes.clear();
  add_class({at_least(minus(0))}, Op::negative, false, true);
  add_class({at_least(variable(0, -1)), at_least(minus(0, chain.pes - 2))}, Op::sqrt, true, true);
  add_class({at_least(variable(0, 1 - chain.pes))}, Op::exp, true, false);
  return result;
}

/// The expected measurements of each PE, message by message.
std::vector<PeCycles> expected(const Chain& chain) {
  const auto count = static_cast<std::size_t>(chain.pes);
  std::vector<PeCycles> pes(count);
  std::vector<std::int64_t> now(count);
  std::vector<std::vector<std::int64_t>> sent(count), left(count);
  for (std::int64_t k = 0; k < chain.messages; ++k) {
    for (std::size_t p = 0; p < count; ++p) {
      if (p > 0) {
        const std::int64_t arrival = std::max(now[p], sent[p - 1].back() + chain.link.latency_cycles);
        pes[p].stall_empty += arrival - now[p];
        left[p].push_back(now[p] = arrival);
      }
      const std::int64_t cycles = p == 0           ? chain.first_cycles
                                  : p + 1 == count ? chain.last_cycles
                                                   : chain.middle_cycles;
      pes[p].busy += cycles;
      now[p] += cycles;
      if (p + 1 == count) continue;
      std::int64_t at = now[p];
      if (k > 0) at = std::max(at, sent[p].back() + 1);
      if (k >= chain.link.depth)
        at = std::max(at, left[p + 1][static_cast<std::size_t>(k - chain.link.depth)] +
                              chain.link.response_latency_cycles);
      pes[p].stall_full += at - now[p];
      sent[p].push_back(now[p] = at);
    }
  }
  const std::int64_t end = *std::max_element(now.begin(), now.end());
  for (std::size_t p = 0; p < count; ++p) pes[p].idle = end - now[p];
  return pes;
}

void expect_equal(const std::vector<PeCycles>& found, const std::vector<PeCycles>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t p = 0; p < found.size(); ++p) {
    EXPECT_EQ(found[p].busy, wanted[p].busy);
    EXPECT_EQ(found[p].stall_empty, wanted[p].stall_empty);
    EXPECT_EQ(found[p].stall_full, wanted[p].stall_full);
    EXPECT_EQ(found[p].idle, wanted[p].idle);
  }
}

std::optional<Timing> run(const Program& program, Senders senders) {
  auto timed = time_program(program, senders);
  CYC_CHECK(timed.has_value(), "a program of constant tile sizes");
  TimedEngine engine(std::move(*timed), {});
  try {
    if (!engine.run() || !engine.within_depths()) return std::nullopt;
  } catch (const RanAheadTooFar&) {
    return std::nullopt;
  }
  return std::move(engine).timing();
}

TEST(RunAhead, MeasuresTheSameOrSeesThatAQueueWasFull) {
  std::mt19937 random(1);
  const auto draw = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  int ahead = 0, full = 0;
  for (int n = 0; n < 2000; ++n) {
    const Chain chain{.pes = draw(2, 5),
                      .messages = draw(1, 80),
                      .first_cycles = draw(0, 4),
                      .middle_cycles = draw(0, 3),
                      .last_cycles = draw(0, 3),
                      .link = {.latency_cycles = draw(0, 4),
                               .response_latency_cycles = draw(0, 3),
                               .words_per_cycle = 1,
                               .depth = draw(1, 20)}};
    const Program program = program_of(chain);
    const auto wanted = expected(chain);
    const auto kept = run(program, Senders::kept);
    ASSERT_TRUE(kept);
    expect_equal(kept->pes, wanted);
    if (!simulator::may_run_ahead(program)) continue;
    const auto timing = run(program, Senders::ahead);
    const bool waits =
        std::any_of(wanted.begin(), wanted.end(), [&](const PeCycles& pe) { return pe.stall_full > 0; });
    if (timing) {
      ++ahead;
      expect_equal(timing->pes, wanted);
      ASSERT_EQ(timing->channels.size(), 1U);
      EXPECT_EQ(timing->channels[0].peak_occupancy, kept->channels[0].peak_occupancy);
    } else {
      ++full;
      EXPECT_TRUE(waits);
    }
  }
  EXPECT_GT(ahead, 400);
  EXPECT_GT(full, 200);
}

TEST(RunAhead, NotWherePesCouldWaitForEachOtherInNoTime) {
  Chain chain{.pes = 2, .messages = 1, .first_cycles = 1, .middle_cycles = 1, .last_cycles = 1, .link = {}};
  EXPECT_TRUE(simulator::may_run_ahead(program_of(chain)));
  chain.link.response_latency_cycles = 0;
  EXPECT_FALSE(simulator::may_run_ahead(program_of(chain)));
  chain.link.response_latency_cycles = 1;
  chain.pes = 1 << 20;
  EXPECT_FALSE(simulator::may_run_ahead(program_of(chain)));
}

/// Two PEs send two messages to each other before they receive: a place for one is too little.
TEST(RunAhead, MessagesLeftInAQueueAreSeen) {
  Program program = make_program({2});
  program.machine.link.depth = 1;
  program.channels = {link("x.i+1", {1})};
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x");
  Code code;
  code.if_zero(variable(0)).move(slot(x), Constant{}).send(0, slot(x)).send(0, slot(x)).end();
  code.if_zero(variable(0, -1)).receive(0, slot(x)).end();
  all.code = code.code;
  EXPECT_FALSE(run(program, Senders::ahead));
}

}  // namespace
}  // namespace cyclotron::runtime::testing
