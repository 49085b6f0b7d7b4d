// PEs of workers: each begins once, those that are woken go back to where they ran, and a run ends when no
// PE can go on.
#include "../../../src/runtime/local/scheduler.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>

namespace cyclotron::runtime::local {
namespace {

constexpr auto no_idle = [] {};

TEST(Scheduler, EndsAtOnceWithoutPes) {
  Scheduler scheduler(0, 1);
  EXPECT_FALSE(scheduler.next(0, no_idle));
  EXPECT_TRUE(scheduler.all_finished());
}

TEST(Scheduler, BeginsThePesInOrder) {
  Scheduler scheduler(5, 3);
  for (std::uint32_t pe = 0; pe < 5; ++pe) {
    const auto turn = scheduler.next(0, no_idle);
    ASSERT_TRUE(turn);
    EXPECT_EQ(turn->pe, pe);
    EXPECT_TRUE(turn->begins);
    scheduler.finish(0);
  }
  EXPECT_FALSE(scheduler.next(0, no_idle));
  EXPECT_TRUE(scheduler.all_finished());
}

/// The blocks of one worker's share, as far as no other one helps it.
std::vector<std::uint32_t> share(std::size_t worker, std::uint32_t pes, std::size_t workers,
                                 std::uint32_t block, std::uint32_t before) {
  Scheduler scheduler(pes, workers);
  for (std::uint32_t n = 0; n < before; ++n) (void)scheduler.next(0, no_idle);
  scheduler.deal_out(block);
  std::uint32_t size = 0;
  for (std::uint32_t pe = before; pe < pes; ++pe) size += pe / block % workers == worker ? 1 : 0;
  std::vector<std::uint32_t> result;
  for (std::uint32_t n = 0; n < size; ++n) result.push_back(scheduler.next(worker, no_idle)->pe);
  return result;
}

TEST(Scheduler, DealsOutBlocksOfThePesThatHaveNotBegun) {
  for (const std::uint32_t pes : {1U, 2U, 7U, 12U, 64U, 65U}) {
    for (const std::size_t workers : {std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{8}}) {
      for (const std::uint32_t block : {1U, 2U, 5U, 100U}) {
        for (const std::uint32_t before : {0U, 1U, 4U, 11U}) {
          if (before > pes) continue;
          for (std::size_t worker = 0; worker < workers; ++worker) {
            std::vector<std::uint32_t> expected;
            for (std::uint32_t pe = before; pe < pes; ++pe) {
              if (pe / block % workers == worker) expected.push_back(pe);
            }
            EXPECT_EQ(share(worker, pes, workers, block, before), expected)
                << pes << " PEs, " << workers << " workers, blocks of " << block << ", " << before;
          }
        }
      }
    }
  }
}

TEST(Scheduler, BeginsEachPeOnceWhoeverDoes) {
  Scheduler scheduler(50, 4);
  scheduler.deal_out(3);
  std::vector<std::uint32_t> begun;
  for (int n = 0; n < 50; ++n) {  // worker 2 alone: first its own, then those of the others
    const auto turn = scheduler.next(2, no_idle);
    ASSERT_TRUE(turn && turn->begins);
    begun.push_back(turn->pe);
    scheduler.finish(2);
  }
  std::ranges::sort(begun);
  for (std::uint32_t pe = 0; pe < 50; ++pe) EXPECT_EQ(begun[pe], pe);
  EXPECT_FALSE(scheduler.next(2, no_idle));
  EXPECT_TRUE(scheduler.all_finished());
}

TEST(Scheduler, ReturnsAPeToTheWorkerThatRanIt) {
  Scheduler scheduler(4, 2);
  scheduler.deal_out(2);
  ASSERT_EQ(scheduler.next(1, no_idle)->pe, 2U);
  scheduler.park(1, 2);
  ASSERT_EQ(scheduler.next(0, no_idle)->pe, 0U);
  scheduler.wake(0, 2);
  EXPECT_EQ(scheduler.next(0, no_idle)->pe, 1U);
  const auto turn = scheduler.next(1, no_idle);
  EXPECT_EQ(turn->pe, 2U);
  EXPECT_FALSE(turn->begins);
}

TEST(Scheduler, KeepsAPeFromAWorkerThatHasOthersReady) {
  Scheduler scheduler(6, 2);
  scheduler.deal_out(3);
  for (const std::uint32_t pe : {3U, 4U}) {
    ASSERT_EQ(scheduler.next(1, no_idle)->pe, pe);
    scheduler.park(1, pe);
  }
  ASSERT_EQ(scheduler.next(0, no_idle)->pe, 0U);
  scheduler.wake(0, 3);
  scheduler.wake(0, 4);
  EXPECT_EQ(scheduler.next(0, no_idle)->pe, 4U);
  EXPECT_EQ(scheduler.next(1, no_idle)->pe, 3U);
}

TEST(Scheduler, MakesTheNextParkOfARunningPeReturnAtOnce) {
  Scheduler scheduler(1, 1);
  ASSERT_TRUE(scheduler.next(0, no_idle));
  scheduler.wake(0, 0);
  scheduler.wake(0, 0);
  scheduler.park(0, 0);
  const auto turn = scheduler.next(0, no_idle);
  ASSERT_TRUE(turn);
  EXPECT_FALSE(turn->begins);
  scheduler.park(0, 0);
  EXPECT_FALSE(scheduler.next(0, no_idle));
  EXPECT_FALSE(scheduler.all_finished());
}

/// Worker 0 finishes PE 0, and takes back that a PE is no longer active by waking PE 1: nothing is left for it to tell
/// when worker 1 runs the rest and ends the run.
TEST(Scheduler, CountsWhatAWorkerFinishedThatHadNothingMoreToTell) {
  Scheduler scheduler(3, 2);
  scheduler.deal_out(1);
  ASSERT_EQ(scheduler.next(1, no_idle)->pe, 1U);
  scheduler.park(1, 1);
  ASSERT_EQ(scheduler.next(0, no_idle)->pe, 0U);
  scheduler.finish(0);
  ASSERT_EQ(scheduler.next(0, no_idle)->pe, 2U);
  scheduler.wake(0, 1);
  scheduler.pause(0, 2);
  for (const std::uint32_t pe : {1U, 2U}) {
    ASSERT_EQ(scheduler.next(1, no_idle)->pe, pe);
    scheduler.finish(1);
  }
  EXPECT_FALSE(scheduler.next(1, no_idle));
  EXPECT_TRUE(scheduler.over());
  EXPECT_TRUE(scheduler.all_finished());
}

/// Each PE waits for the one before it; all workers sleep unless they are told.
TEST(Scheduler, LosesNoWakeUpBetweenThreads) {
  constexpr std::uint32_t pes = 20'000;
  for (const std::size_t workers : {std::size_t{2}, std::size_t{4}}) {
    Scheduler scheduler(pes, workers);
    std::vector<std::atomic<bool>> done(pes);
    scheduler.deal_out(7);
    const auto work = [&](std::size_t worker) {
      while (const auto turn = scheduler.next(worker, no_idle)) {
        const std::uint32_t pe = turn->pe;
        if (pe > 0 && !done[pe - 1].load()) {
          scheduler.park(worker, pe);
          // The one before may have ended since: then nobody else wakes this one.
          if (done[pe - 1].load()) scheduler.wake(worker, pe);
          continue;
        }
        done[pe].store(true);
        if (pe + 1 < pes) scheduler.wake(worker, pe + 1);
        scheduler.finish(worker);
      }
    };
    std::vector<std::jthread> threads;
    for (std::size_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
    work(0);
    threads.clear();
    EXPECT_TRUE(scheduler.all_finished());
    EXPECT_TRUE(std::ranges::all_of(done, [](const auto& one) { return one.load(); }));
  }
}

TEST(Scheduler, EndsWithTheFirstFailure) {
  Scheduler scheduler(10, 2);
  ASSERT_TRUE(scheduler.next(0, no_idle));
  scheduler.fail(std::make_exception_ptr(std::runtime_error("first")));
  scheduler.fail(std::make_exception_ptr(std::runtime_error("second")));
  EXPECT_FALSE(scheduler.next(1, no_idle));
  try {
    (void)scheduler.all_finished();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "first");
  }
}

}  // namespace
}  // namespace cyclotron::runtime::local
