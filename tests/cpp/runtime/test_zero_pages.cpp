#include "../../../src/runtime/engine/zero_pages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace cyclotron::runtime {
namespace {

TEST(ZeroTable, HoldsZerosAtALineOfTheCache) {
  // Below and above what is mapped, and what fills no page.
  for (const std::size_t size : {0UL, 1UL, 8UL, 1000UL, (1UL << 19) - 1, 1UL << 19, (1UL << 20) + 3}) {
    for (int again = 0; again < 2; ++again) {  // memory that was used before, too
      const ZeroTable<std::int64_t> table(size);
      ASSERT_EQ(table.size(), size);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table.data()) % 64, 0U);
      EXPECT_TRUE(std::ranges::all_of(table, [](std::int64_t x) { return x == 0; }));
      std::ranges::fill(table, -1);
    }
  }
}

TEST(ZeroTable, Moves) {
  ZeroTable<int> table;
  EXPECT_EQ(table.size(), 0U);
  table = ZeroTable<int>(3);
  table[2] = 7;
  const ZeroTable<int> other = std::move(table);
  EXPECT_EQ(other[2], 7);
}

TEST(ZeroTable, RefusesMoreThanThereIs) {
  EXPECT_THROW(ZeroTable<std::int64_t>(std::size_t{1} << 61), std::bad_alloc);
  EXPECT_THROW(ZeroTable<std::int64_t>(std::size_t{1} << 59), std::bad_alloc);
}

}  // namespace
}  // namespace cyclotron::runtime
