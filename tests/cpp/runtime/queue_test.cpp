// The queue of the threads' host: order, depth, sizes of tiles, and that whoever waits is told.
#include "../../../src/runtime/local/queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace cyclotron::runtime::local {
namespace {

void put(Queue& queue, std::int64_t number, TileSize size = {1, 1}) {
  queue.put(size, [&](std::byte* place) { std::memcpy(place, &number, sizeof number); });
}

std::int64_t take(Queue& queue, TileSize expected = {1, 1}) {
  std::int64_t number = 0;
  queue.take([&](TileSize size, const std::byte* place) {
    EXPECT_EQ(size, expected);
    std::memcpy(&number, place, sizeof number);
  });
  return number;
}

TEST(Queue, IsInOrderAndAsDeepAsItIsSetUp) {
  for (const std::int64_t depth : {1, 2, 5, 1000}) {
    for (const bool scalar : {true, false}) {
      for (const std::size_t bytes : {std::size_t{8}, std::size_t{72}, std::size_t{5000}}) {
        Queue queue;
        queue.set_up(depth, 0, 1, {.bytes = bytes, .scalar = scalar});
        std::int64_t sent = 0;
        std::int64_t received = 0;
        EXPECT_FALSE(queue.has_message());
        while (sent < 3 * depth) {
          for (; queue.has_place(); ++sent) put(queue, sent);
          EXPECT_EQ(sent - received, depth);
          for (std::int64_t n = 0; n <= depth / 2; ++n) {
            ASSERT_TRUE(queue.has_message());
            EXPECT_EQ(take(queue), received++);
          }
        }
      }
    }
  }
}

/// One at a time and several where they stand, in turn: no place is beyond the depth, no message is lost.
TEST(Queue, LetsSeveralScalarsBeWrittenAndReadWhereTheyStand) {
  for (const std::int64_t depth : {1, 2, 7, 300, 5000}) {
    Queue queue;
    queue.set_up(depth, 0, 1, {.bytes = sizeof(std::int64_t), .scalar = true});
    EXPECT_EQ(queue.arrived().count, 0);
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (std::int64_t turn = 0; received < 3 * depth; ++turn) {
      if (turn % 3 == 0 && queue.has_place()) put(queue, sent++);
      for (Scalars room = queue.room(); room.count > 0; room = queue.room()) {
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
        ASSERT_EQ(take(queue), received++);
      }
      const Scalars arrived = queue.arrived();
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
  Queue queue;
  queue.set_up(100, 0, 1, {.bytes = 96, .scalar = false});
  for (std::int32_t n = 0; n < 50 && queue.has_place(); ++n) put(queue, n, {1 + n % 3, 1 + n % 4});
  for (std::int32_t n = 0; n < 50; ++n) {
    ASSERT_TRUE(queue.has_message());
    EXPECT_EQ(take(queue, {1 + n % 3, 1 + n % 4}), n);
  }
}

TEST(Queue, TellsWhoeverWaitsOnce) {
  Queue queue;
  queue.set_up(1, 0, 1, {.bytes = 8, .scalar = true});
  for (const bool alone : {true, false}) {
    EXPECT_FALSE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.has_message());  // from here on the receiver waits
    ASSERT_TRUE(queue.has_place());
    put(queue, 0);
    EXPECT_TRUE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.take_receiver_waits(alone));
    EXPECT_FALSE(queue.take_sender_waits(alone));
    EXPECT_FALSE(queue.has_place());  // and here the sender
    ASSERT_TRUE(queue.has_message());
    EXPECT_EQ(take(queue), 0);
    EXPECT_TRUE(queue.take_sender_waits(alone));
    EXPECT_FALSE(queue.take_sender_waits(alone));
  }
}

/// A sender that is done has its messages read all the same; who leaves last frees all blocks, read or not (run with
/// AddressSanitizer, this tells any that is kept, freed twice or used again).
TEST(Queue, KeepsMessagesUntilBothPesAreDone) {
  for (const bool sender_first : {true, false}) {
    for (const std::int64_t messages : {0, 1, 4, 5, 1000}) {
      Queue queue;
      queue.set_up(1000, 0, 1, {.bytes = 8, .scalar = true});
      for (std::int64_t n = 0; n < messages; ++n) put(queue, n);
      if (sender_first) queue.leave();
      for (std::int64_t n = 0; n < messages / 2; ++n) {
        ASSERT_TRUE(queue.has_message());
        EXPECT_EQ(take(queue), n);
      }
      EXPECT_EQ(queue.has_message(), messages > 0);
      queue.leave();
      if (!sender_first) queue.leave();
    }
  }
}

// Each side sleeps until the other tells it, so a wake-up that is lost is a test that never ends.
TEST(Queue, LosesNoWakeUpBetweenThreads) {
  constexpr std::int64_t messages = 20'000;
  for (const std::int64_t depth : {1, 3, 64}) {
    Queue queue;
    queue.set_up(depth, 0, 1, {.bytes = 8, .scalar = true});
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
        put(queue, n);
        if (queue.take_receiver_waits(false)) wake(message);
      }
    });
    for (std::int64_t n = 0; n < messages; ++n) {
      while (!queue.has_message()) sleep(message);
      ASSERT_EQ(take(queue), n);
      if (queue.take_sender_waits(false)) wake(place);
    }
    sender.join();
  }
}

}  // namespace
}  // namespace cyclotron::runtime::local
