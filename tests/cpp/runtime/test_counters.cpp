// Sums over the work of PEs.
#include <cyclotron/runtime/counters.hpp>

#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::runtime {
namespace {

TEST(Counters, SumTheBlocksOfEachPe) {
  Counters counters;
  auto& group = counters.groups.emplace_back();
  group.once.flops = 5;
  group.once.on(2).sent = 7;
  group.repeated.resize(2);
  group.repeated[0].flops = 10;
  group.repeated[1].count(InstructionKind::load) = 1;
  group.repeated[1].on(2).received = 3;
  counters.groups.emplace_back().once.flops = 1;
  counters.group_of = {0, Counters::none, 1, 0};
  counters.times = {2, 3, 4, 0};
  using Numbers = std::vector<std::int64_t>;
  EXPECT_EQ(counters.total(&Work::flops), (Numbers{25, 0, 1, 45}));
  EXPECT_EQ(counters.instructions(InstructionKind::load), (Numbers{3, 0, 0, 0}));
  EXPECT_EQ(counters.words_sent(2), (Numbers{7, 0, 0, 7}));
  EXPECT_EQ(counters.words_received(2), (Numbers{9, 0, 0, 0}));
  EXPECT_EQ(counters.words_sent(0), (Numbers{0, 0, 0, 0}));
}

TEST(Counters, RefuseWhatDoesNotFit) {
  Counters counters;
  counters.groups.emplace_back().repeated.emplace_back().flops = std::int64_t{1} << 40;
  counters.group_of = {0};
  counters.times = {std::int64_t{1} << 30};
  try {
    (void)counters.total(&Work::flops);
    FAIL();
  } catch (const ExecutionError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC708");
  }
}

}  // namespace
}  // namespace cyclotron::runtime
