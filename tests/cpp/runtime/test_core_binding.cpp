// Ranks that share cores: which core each keeps to, and that its thread is free again afterwards.
#include "../../../src/runtime/processes/core_binding.hpp"

#include <gtest/gtest.h>
#include <sched.h>

#include <initializer_list>
#include <optional>
#include <vector>

namespace cyclotron::runtime {
namespace {

cpu_set_t set_of(std::initializer_list<int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  return set;
}

cpu_set_t allowed() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  return set;
}

TEST(CoreBinding, RanksShareCoresEvenlyInTurn) {
  const cpu_set_t cores = set_of({1, 4, 5});
  const std::vector<std::optional<int>> expected{1, 4, 5, 1, 4, 5};
  for (int at = 0; at < 6; ++at) EXPECT_EQ(core_of(at, 6, cores), expected[static_cast<std::size_t>(at)]);
}

TEST(CoreBinding, RanksAreNotBoundWhereTheyHaveACoreEachOrUnevenShares) {
  const cpu_set_t cores = set_of({0, 1, 2});
  for (const int ranks : {1, 2, 3, 4, 5, 7}) EXPECT_EQ(core_of(0, ranks, cores), std::nullopt) << ranks;
  EXPECT_EQ(core_of(0, 4, set_of({})), std::nullopt);
}

TEST(CoreBinding, AThreadIsFreeAgainAfterwards) {
  const cpu_set_t before = allowed();
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  {
    const CoreBinding binding(core);
    const cpu_set_t own = set_of({core});
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&own, &now));
  }
  const cpu_set_t after = allowed();
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(CoreBinding, ACoreThatTheThreadMayNotUseIsLeftAlone) {
  const cpu_set_t before = allowed();
  {
    const CoreBinding none(std::nullopt);
    const CoreBinding beyond(CPU_SETSIZE - 1);
    const cpu_set_t now = allowed();
    EXPECT_TRUE(CPU_EQUAL(&before, &now));
  }
}

}  // namespace
}  // namespace cyclotron::runtime
