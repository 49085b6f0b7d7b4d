#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <random>
#include <set>

#include "../../../src/runtime/engine/ready_set.hpp"
#include "../../../src/runtime/simulator/timing/tile_sizes.hpp"
#include "../../../src/runtime/simulator/timing/timed_program.hpp"
#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

using simulator::constant_tile_sizes;
using simulator::loop_trips;

TEST(ReadySet, TakesTheNextToTheEndAndBack) {
  constexpr std::uint32_t count = 10'000;  // several words of words
  ReadySet ready(count);
  std::set<std::uint32_t> expected;
  std::mt19937 random(1);
  std::uint32_t last = 0;
  bool upwards = true;
  for (int n = 0; n < 20'000; ++n) {
    if (random() % 3 != 0 && expected.size() < 40) {
      const auto member = static_cast<std::uint32_t>(random() % count);
      ready.insert(member);
      expected.insert(member);
      continue;
    }
    std::uint32_t found = 0;
    if (random() % 100 == 0) {
      ready.restart();
      last = 0;
      upwards = true;
    }
    if (random() % 8 == 0) {  // from behind, which leaves the way as it is
      ASSERT_EQ(ready.take_behind(found), !expected.empty());
      if (expected.empty()) continue;
      ASSERT_EQ(found, upwards ? *expected.begin() : *expected.rbegin());
      expected.erase(found);
      continue;
    }
    ASSERT_EQ(ready.take(found), !expected.empty());
    if (expected.empty()) {
      upwards = !upwards;
      continue;
    }
    const auto above = expected.lower_bound(last);
    if (upwards ? above == expected.end() : above == expected.begin()) upwards = !upwards;
    ASSERT_EQ(found, upwards ? *above : *std::prev(above));
    expected.erase(found);
    last = upwards ? found + 1 : found;
  }
}

TEST(LoopTrips, OfAnyLimits) {
  constexpr auto least = std::numeric_limits<std::int64_t>::min(),
                 most = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(loop_trips(3, 2, 1), 0);
  EXPECT_EQ(loop_trips(3, 3, 5), 1);
  EXPECT_EQ(loop_trips(0, 9, 3), 4);
  EXPECT_EQ(loop_trips(least, most, 1), (std::int64_t{1} << 62) + 1);
  EXPECT_EQ(loop_trips(least, most, most), 3);
}

std::optional<simulator::TileSizes> sizes_of(const Program& program) {
  return constant_tile_sizes(program, {decode(program, 0)});
}

TEST(TileSizes, FollowLoadsMessagesAndOperators) {
  const auto found = sizes_of(output_stationary({.rows = 4, .columns = 6, .inner = 8, .tile = 2}));
  ASSERT_TRUE(found);
  for (const TileSize size : found->slots[0]) EXPECT_EQ(size, (TileSize{2, 2}));
  for (const TileSize size : found->channels) EXPECT_EQ(size, (TileSize{2, 2}));
}

TEST(TileSizes, OfRaggedTensorsAreNotConstant) {
  EXPECT_FALSE(sizes_of(output_stationary({.rows = 5, .columns = 6, .inner = 8, .tile = 2})));
  EXPECT_FALSE(sizes_of(output_stationary({.rows = 4, .columns = 6, .inner = 7, .tile = 2})));
}

TEST(TileSizes, WhatIsReadBeforeItIsWrittenIsLeftToTheInterpreter) {
  Program program = make_program({1});
  program.tensors = {{"y", DType::float64, Role::output, {4, 4}, {2, 2}, true}};
  const auto big = add_slot(program.classes[0], "big", {2, 2});
  program.classes[0].code = Code().store(0, {constant(0), constant(0)}, slot(big)).code;
  EXPECT_FALSE(sizes_of(program));
  EXPECT_FALSE(simulator::time_program(program));
}

}  // namespace
}  // namespace cyclotron::runtime::testing
