#include "../../../src/runtime/local/block_pool.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <thread>
#include <vector>

namespace cyclotron::runtime::local {
namespace {

TEST(BlockSizes, AreTheLeastThatHoldTheBytes) {
  for (std::size_t bytes = 1; bytes <= BlockSizes::most; ++bytes) {
    const std::size_t number = BlockSizes::number(bytes);
    ASSERT_LT(number, BlockSizes::count);
    EXPECT_GE(BlockSizes::bytes(number), bytes);
    EXPECT_TRUE(number == 0 || BlockSizes::bytes(number - 1) < bytes);
  }
}

TEST(BlockPool, GivesBlocksOfTheirOwn) {
  BlockDepot depot;
  BlockPool pool(depot);
  std::vector<std::pair<std::byte*, std::size_t>> taken;
  for (std::size_t n = 0; n < 3000; ++n) {
    const std::size_t bytes = 1 + n * 37 % 1500;
    auto* const block = static_cast<std::byte*>(pool.take(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 64, 0U);
    std::memset(block, static_cast<int>(n % 251), bytes);
    taken.emplace_back(block, bytes);
    if (n % 3 == 0) {
      pool.give(taken.front().first, taken.front().second);
      taken.erase(taken.begin());
    }
  }
  std::size_t first = 1000;  // those before were given back
  for (const auto& [block, bytes] : taken) {
    for (std::size_t b = 0; b < bytes; ++b) ASSERT_EQ(block[b], static_cast<std::byte>(first % 251));
    ++first;
    pool.give(block, bytes);
  }
}

TEST(BlockPool, TakesFirstWhatWasGivenLast) {
  BlockDepot depot;
  BlockPool pool(depot);
  void* const one = pool.take(100);
  void* const other = pool.take(128);
  pool.give(one, 100);
  pool.give(other, 128);
  EXPECT_EQ(pool.take(65), other);
  EXPECT_EQ(pool.take(65), one);
}

/// A thread that only takes gets what another one only gives: memory does not grow with the messages.
TEST(BlockPool, PassesBlocksOnToOthers) {
  BlockDepot depot;
  std::deque<BlockPool> pools;
  pools.emplace_back(depot);
  pools.emplace_back(depot);
  std::set<void*> seen;
  for (int round = 0; round < 50; ++round) {
    std::vector<void*> blocks;
    for (int n = 0; n < 100; ++n) blocks.push_back(pools[0].take(1024));
    seen.insert(blocks.begin(), blocks.end());
    for (void* block : blocks) pools[1].give(block, 1024);
  }
  EXPECT_LT(seen.size(), 500U);  // of 5,000
}

TEST(BlockPool, IsOneThreadsAndTheDepotIsAll) {
  BlockDepot depot;
  std::deque<BlockPool> pools;
  for (int n = 0; n < 4; ++n) pools.emplace_back(depot);
  std::vector<std::jthread> threads;
  for (BlockPool& pool : pools) {
    threads.emplace_back([&pool] {
      for (int round = 0; round < 30; ++round) {
        std::vector<std::uint32_t*> blocks;
        for (std::uint32_t n = 0; n < 300; ++n) {
          blocks.push_back(static_cast<std::uint32_t*>(pool.take(1000)));
          *blocks.back() = n;
        }
        for (std::uint32_t n = 0; n < 300; ++n) {
          EXPECT_EQ(*blocks[n], n);
          pool.give(blocks[n], 1000);
        }
      }
    });
  }
}

}  // namespace
}  // namespace cyclotron::runtime::local
