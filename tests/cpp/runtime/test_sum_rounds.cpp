// Rounds of sums: ranks of any number, which join and hear of each other in any order.
#include "../../../src/runtime/processes/sum_rounds.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace cyclotron::runtime {
namespace {

struct Terms {
  std::int64_t ones = 0;
  std::int64_t weighted = 0;
  Terms& operator+=(const Terms& other) {
    ones += other.ones;
    weighted += other.weighted;
    return *this;
  }
};

/// Ranks and what is on its way between each two, in order.
class World {
 private:
  auto sender(int from) {
    return [this, from](int to, const Terms& terms) { mail_[{from, to}].push_back(terms); };
  }
  void join(std::size_t at, int round) {
    const int rank = static_cast<int>(at);
    ranks_[at].join({1, (rank + 1) * std::int64_t{100} + round}, sender(rank));
  }
  void deliver(std::size_t which) {
    const auto found = std::next(mail_.begin(), static_cast<std::ptrdiff_t>(which));
    const auto [from, to] = found->first;
    const Terms terms = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) mail_.erase(found);
    ranks_[static_cast<std::size_t>(to)].take(from, terms, sender(to));
  }

 public:
  World(int size, unsigned seed) : random_(seed) {
    for (int rank = 0; rank < size; ++rank) ranks_.emplace_back(rank, size);
  }

  /// Every rank takes part in so many rounds, at random; each round's sums must be those of what its ranks gave.
  void run(int rounds) {
    const int size = static_cast<int>(ranks_.size());
    std::vector<int> fetched(ranks_.size()), given(ranks_.size());
    for (std::int64_t left = std::int64_t{size} * rounds; left > 0;) {
      std::vector<std::size_t> joins, fetches;
      for (std::size_t at = 0; at < ranks_.size(); ++at) {
        if (given[at] < rounds && !ranks_[at].joined()) joins.push_back(at);
        if (given[at] > fetched[at]) fetches.push_back(at);
      }
      const auto choices = joins.size() + fetches.size() + mail_.size();
      auto choice = std::uniform_int_distribution<std::size_t>(0, choices - 1)(random_);
      if (choice < joins.size()) {
        join(joins[choice], given[joins[choice]]++);
        continue;
      }
      choice -= joins.size();
      if (choice >= fetches.size()) {
        deliver(choice - fetches.size());
        continue;
      }
      const std::size_t at = fetches[choice];
      const auto sums = ranks_[at].result();
      ASSERT_TRUE(sums || !mail_.empty() || !joins.empty() || fetches.size() > 1) << "a round never ends";
      if (!sums) continue;
      const std::int64_t round = fetched[at]++;
      EXPECT_EQ(sums->ones, size);
      EXPECT_EQ(sums->weighted, std::int64_t{size} * (size + 1) / 2 * 100 + size * round);
      EXPECT_FALSE(ranks_[at].joined());
      --left;
    }
    EXPECT_TRUE(mail_.empty());
  }

 private:
  std::mt19937 random_;
  std::vector<SumRounds<Terms>> ranks_;
  std::map<std::pair<int, int>, std::deque<Terms>> mail_;
};

TEST(SumRounds, EndOnceAllHaveJoinedInAnyOrder) {
  for (const int size : {1, 2, 3, 8, 9, 10, 73, 74, 100}) {
    for (unsigned seed = 0; seed < 5; ++seed) {
      SCOPED_TRACE(size);
      World(size, seed).run(4);
    }
  }
}

TEST(SumRounds, WaitForTheLast) {
  constexpr int size = 4;
  std::vector<SumRounds<Terms>> ranks;
  for (int rank = 0; rank < size; ++rank) ranks.emplace_back(rank, size);
  // Of so few, all others are children of the first.
  const auto never = [](int, const Terms&) { FAIL() << "sent before all joined"; };
  ranks[0].join({1, 0}, never);
  for (int rank = 1; rank < size; ++rank) {
    ASSERT_FALSE(ranks[0].result());
    std::vector<int> told;
    ranks[static_cast<std::size_t>(rank)].join({1, 0}, [&](int to, const Terms& terms) {
      EXPECT_EQ(to, 0);
      ranks[0].take(rank, terms, [&](int child, const Terms&) { told.push_back(child); });
    });
    EXPECT_EQ(told.size(), rank == size - 1 ? 3U : 0U);
    EXPECT_FALSE(ranks[static_cast<std::size_t>(rank)].result());
  }
  EXPECT_EQ(ranks[0].result()->ones, size);
}

}  // namespace
}  // namespace cyclotron::runtime
