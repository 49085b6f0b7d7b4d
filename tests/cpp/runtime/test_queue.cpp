// The queue of the threads' host: order, depth, sizes of tiles, and that whoever waits is told.
#include "../../../src/runtime/local/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace cyclotron::runtime::local {
namespace {

/// With a pool of its own.
struct OwnPool {
  BlockDepot depot;
  BlockPool pool{depot};
  Queue queue;
  ~OwnPool() { queue.free_blocks(pool); }
};

void put(Queue& queue, BlockPool& pool, std::int64_t number, TileSize size = {1, 1}) {
  queue.put(pool, size, [&](std::byte* place) { std::memcpy(place, &number, sizeof number); });
}

std::int64_t take(Queue& queue, BlockPool& pool, TileSize expected = {1, 1}) {
  std::int64_t number = 0;
  queue.take(pool, [&](TileSize size, const std::byte* place) {
    EXPECT_EQ(size, expected);
    std::memcpy(&number, place, sizeof number);
  });
  return number;
}

TEST(Queue, IsInOrderAndAsDeepAsItIsSetUp) {
  for (const std::int64_t depth : {1, 2, 5, 1000}) {
    for (const bool scalar : {true, false}) {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{72}, std::size_t{5000}}) {
        OwnPool own;
        BlockPool& pool = own.pool;
        Queue& queue = own.queue;
        queue.set_up(
            {.depth = depth, .sender = 0, .receiver = 1, .message = {.bytes = bytes, .scalar = scalar}});
        std::int64_t sent = 0;
        std::int64_t received = 0;
        EXPECT_FALSE(queue.has_message());
        while (sent < 3 * depth) {
          for (; queue.has_place(); ++sent) put(queue, pool, sent);
          EXPECT_EQ(sent - received, depth);
          for (std::int64_t n = 0; n <= depth / 2; ++n) {
            ASSERT_TRUE(queue.has_message());
            EXPECT_EQ(take(queue, pool), received++);
          }
        }
      }
    }
  }
}

/// One at a time and several where they stand, in turn: no place is beyond the depth, no message is lost.
TEST(Queue, LetsSeveralScalarsBeWrittenAndReadWhereTheyStand) {
  for (const std::int64_t depth : {1, 2, 7, 300, 5000}) {
    OwnPool own;
    BlockPool& pool = own.pool;
    Queue& queue = own.queue;
    queue.set_up({.depth = depth,
                  .sender = 0,
                  .receiver = 1,
                  .message = {.bytes = sizeof(std::int64_t), .scalar = true}});
    EXPECT_EQ(queue.arrived(pool).count, 0);
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::int64_t turn = 0; received < 3 * depth; ++turn) {
      if (turn % 3 == 0 && queue.has_place()) put(queue, pool, sent++);
      for (Scalars room = queue.room(pool); room.count > 0; room = queue.room(pool)) {
        const std::int64_t most = room.count - turn % room.count;
        for (std::int64_t n = 0; n < most; ++n) {
          std::memcpy(room.first + n * sizeof sent, &sent, sizeof sent);
          ++sent;
        }
        queue.put_written(most);
      }
      ASSERT_EQ(sent - received, depth);
      ASSERT_TRUE(queue.has_message());
      if (turn % 2 == 0) {
        ASSERT_EQ(take(queue, pool), received++);
      }
      const Scalars arrived = queue.arrived(pool);
      ASSERT_LE(arrived.count, sent - received);
      for (std::int64_t n = 0; n < arrived.count; ++n) {
        std::int64_t number = -1;
        std::memcpy(&number, arrived.first + n * sizeof number, sizeof number);
        ASSERT_EQ(number, received++);
      }
      if (arrived.count > 0) queue.take_read(arrived.count);
    }
  }
}

TEST(Queue, KeepsTheSizesOfTiles) {
  OwnPool own;
  BlockPool& pool = own.pool;
  Queue& queue = own.queue;
  queue.set_up({.depth = 100, .sender = 0, .receiver = 1, .message = {.bytes = 96, .scalar = false}});
  for (std::int32_t n = 0; n < 50 && queue.has_place(); ++n) put(queue, pool, n, {1 + n % 3, 1 + n % 4});
  for (std::int32_t n = 0; n < 50; ++n) {
    ASSERT_TRUE(queue.has_message());
    EXPECT_EQ(take(queue, pool, {1 + n % 3, 1 + n % 4}), n);
  }
}

TEST(Queue, TellsWhoeverWaitsOnce) {
  OwnPool own;
  BlockPool& pool = own.pool;
  Queue& queue = own.queue;
  queue.set_up({.depth = 1, .sender = 0, .receiver = 1, .message = {.bytes = 8, .scalar = true}});
  for (const bool alone : {true, false}) {
    EXPECT_FALSE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.has_message());  // from here on the receiver waits
    ASSERT_TRUE(queue.has_place());
    put(queue, pool, 0);
    EXPECT_TRUE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.take_sender_waits(alone));
    EXPECT_FALSE(queue.has_place());  // and here the sender
    ASSERT_TRUE(queue.has_message());
    EXPECT_EQ(take(queue, pool), 0);
    EXPECT_TRUE(queue.take_sender_waits(alone));
    EXPECT_FALSE(queue.take_sender_waits(alone));
  }
}

/// A sender that is done has its messages read all the same; who leaves last frees all blocks, read or not (run with
/// AddressSanitizer, this tells any large one that is kept, freed twice or used again).
TEST(Queue, KeepsMessagesUntilBothPesAreDone) {
  for (const bool alone : {true, false}) {
    for (const bool sender_first : {true, false}) {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{5000}}) {
        for (const std::int64_t messages : {0, 1, 4, 5, 1000}) {
          BlockDepot depot;
          BlockPool pool(depot);
          Queue queue;
          queue.set_up(
              {.depth = 1000, .sender = 0, .receiver = 1, .message = {.bytes = bytes, .scalar = true}});
          for (std::int64_t n = 0; n < messages; ++n) put(queue, pool, n);
          if (sender_first) {
            EXPECT_FALSE(queue.sender_leaves(pool, alone));
          }
          for (std::int64_t n = 0; n < messages / 2; ++n) {
            ASSERT_TRUE(queue.has_message());
            EXPECT_EQ(take(queue, pool), n);
          }
          EXPECT_EQ(queue.has_message(), messages > 0);
          EXPECT_FALSE(queue.receiver_leaves(pool, alone));
          if (!sender_first) {
            EXPECT_EQ(queue.sender_leaves(pool, alone), messages == 0);
          }
        }
      }
    }
  }
}

/// Nobody receives: the sender is the last one to leave.
TEST(Queue, IsFreedByASenderAlone) {
  BlockDepot depot;
  BlockPool pool(depot);
  Queue queue;
  queue.set_up({.depth = 3, .sender = 0, .received = false, .message = {.bytes = 5000, .scalar = false}});
  for (std::int64_t n = 0; queue.has_place(); ++n) put(queue, pool, n);
  EXPECT_TRUE(queue.has_message());
  EXPECT_FALSE(queue.sender_leaves(pool, false));
}

TEST(Queue, TellsAPeThatIsDoneWhoWaitsForIt) {
  for (const bool alone : {true, false}) {
    OwnPool own;
    BlockPool& pool = own.pool;
    Queue& queue = own.queue;
    queue.set_up({.depth = 1, .sender = 0, .receiver = 1, .message = {.bytes = 8, .scalar = true}});
    put(queue, pool, 0);
    EXPECT_FALSE(queue.has_place());
    EXPECT_TRUE(queue.receiver_leaves(pool, alone));
  }
}

/// A queue that is not set up is an empty one.
TEST(Queue, IsEmptyBeforeItIsSetUp) {
  const ZeroTable<Queue> queues(1);
  BlockDepot depot;
  BlockPool pool(depot);
  EXPECT_FALSE(queues[0].has_message());
  EXPECT_EQ(queues[0].arrived(pool).count, 0);
  queues[0].set_up({.depth = 1, .sender = 0, .receiver = 1, .message = {.bytes = 8, .scalar = true}});
  EXPECT_TRUE(queues[0].has_place());
  EXPECT_TRUE(queues[0].take_receiver_waits(false));
}

// Each side sleeps until the other tells it, so a wake-up that is lost is a test that never ends.
TEST(Queue, LosesNoWakeUpBetweenThreads) {
  constexpr std::int64_t messages = 20'000;
  for (const std::int64_t depth : {1, 3, 64}) {
    OwnPool own;
    BlockPool& pool = own.pool;
    Queue& queue = own.queue;
    queue.set_up({.depth = depth, .sender = 0, .receiver = 1, .message = {.bytes = 8, .scalar = true}});
    BlockPool own_pool(own.depot);  // of the sender
    std::atomic<bool> place = true;
    std::atomic<bool> message = false;
    const auto sleep = [](std::atomic<bool>& until) {
      until.wait(false);
      until.store(false);
    };
    const auto wake = [](std::atomic<bool>& sleeper) {
      sleeper.store(true);
      sleeper.notify_one();
    };
    std::thread sender([&] {
      for (std::int64_t n = 0; n < messages; ++n) {
        while (!queue.has_place()) sleep(place);
        put(queue, own_pool, n);
        if (queue.take_receiver_waits(false)) wake(message);
      }
    });
    for (std::int64_t n = 0; n < messages; ++n) {
      while (!queue.has_message()) sleep(message);
      ASSERT_EQ(take(queue, pool), n);
      if (queue.take_sender_waits(false)) wake(place);
    }
    sender.join();
  }
}

}  // namespace
}  // namespace cyclotron::runtime::local
