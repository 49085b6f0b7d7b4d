// Bells between threads and between processes: no ring is lost, and who need not sleep does not.
#include "../../../src/runtime/processes/doorbell.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

namespace cyclotron::runtime {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

/// Longer than a test may last: a lost ring makes it fail by its time.
constexpr auto forever = std::chrono::microseconds(20s);

/// Two that pass a number back and forth, each asleep while it is the other's turn.
struct Table {
  std::atomic<int> turn{0};
  Doorbell bells[2];

  /// Takes its turns; false where waiting for one took too long.
  bool play(int player, int turns) {
    for (int n = player; n < turns; n += 2) {
      const auto begun = Clock::now();
      while (true) {
        const auto heard = bells[player].rings();
        if (turn.load(std::memory_order_relaxed) == n) break;
        std::this_thread::yield();  // there is time for a ring
        bells[player].wait(heard, forever);
      }
      if (Clock::now() - begun > forever / 2) return false;
      turn.store(n + 1, std::memory_order_relaxed);
      bells[1 - player].ring();
    }
    return true;
  }
};

TEST(Doorbell, NoRingIsLostBetweenThreads) {
  constexpr int turns = 20000;
  Table table;
  bool other = false;
  std::thread thread([&] { other = table.play(1, turns); });
  EXPECT_TRUE(table.play(0, turns));
  thread.join();
  EXPECT_TRUE(other);
  EXPECT_EQ(table.turn.load(), turns);
}

TEST(Doorbell, NoRingIsLostBetweenProcesses) {
  constexpr int turns = 20000;
  void* memory = mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Table* table = new (memory) Table;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) _exit(table->play(1, turns) ? 0 : 1);
  EXPECT_TRUE(table->play(0, turns));
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(table->turn.load(), turns);
  munmap(memory, sizeof(Table));
}

/// Messages from several, of which each is counted before its ring: the owner sleeps only while it has seen all.
TEST(Doorbell, ManyRingOne) {
  constexpr int ringers = 3, each = 20000;
  Doorbell bell;
  std::atomic<int> sent{0};
  std::vector<std::thread> threads;
  for (int n = 0; n < ringers; ++n) {
    threads.emplace_back([&] {
      for (int m = 0; m < each; ++m) {
        sent.fetch_add(1, std::memory_order_relaxed);
        bell.ring();
      }
    });
  }
  const auto begun = Clock::now();
  for (int seen = 0; seen < ringers * each;) {
    const auto heard = bell.rings();
    const int now = sent.load(std::memory_order_relaxed);
    std::this_thread::yield();
    if (now == seen) bell.wait(heard, forever);
    seen = now;
  }
  EXPECT_LT(Clock::now() - begun, forever / 2);
  for (auto& thread : threads) thread.join();
}

TEST(Doorbell, DoesNotSleepWhereItWasRungSince) {
  Doorbell bell;
  const auto heard = bell.rings();
  bell.ring();
  EXPECT_EQ(bell.rings(), heard + 1);
  const auto begun = Clock::now();
  bell.wait(heard, forever);
  EXPECT_LT(Clock::now() - begun, forever / 2);
}

TEST(Doorbell, CountsRound) {
  constexpr Doorbell::Rings last = (Doorbell::Rings{1} << 31) - 1;
  EXPECT_EQ(Doorbell::ahead(5, 3), 2);
  EXPECT_EQ(Doorbell::ahead(3, 5), -2);
  EXPECT_EQ(Doorbell::ahead(7, 7), 0);
  EXPECT_EQ(Doorbell::ahead(1, last), 2);
  EXPECT_EQ(Doorbell::ahead(last, 1), -2);
  EXPECT_EQ(Doorbell::ahead(0, Doorbell::Rings{1} << 31), 0);  // where the other counts on
}

TEST(Doorbell, SleepsNoLongerThanItMay) {
  Doorbell bell;
  const auto heard = bell.rings();
  for (const auto most : {0us, 1us, 1500us}) bell.wait(heard, most);
  EXPECT_EQ(bell.rings(), heard);
}

}  // namespace
}  // namespace cyclotron::runtime
