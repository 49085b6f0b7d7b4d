// Reductions whose first term needs the newest of the values that their equation makes.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/reduce_descending.hpp>

#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using Names = std::vector<std::string>;

/// `x[made] = sum over k of u[k] * x[read]`, i from 0 on; `x[t, made]` with more subscripts.
System sums(const Names& made, const Names& read) {
  SystemBuilder b("sums");
  b.input("u", {8}).output("x",
                           made.size() == 2 ? std::vector<std::int64_t>{8, 8} : std::vector<std::int64_t>{8});
  b.names({"t", "i", "k"});
  const auto product = b.apply(Op::multiply, {b.at("u", {"k"}), b.at("x", read)});
  return b.equation("x", made, 2, "0 <= t < 8 and 0 <= i < 8", b.sum("k", "0 <= k < i", product)).build();
}

Names newest_first(const System& system) { return recurrence::indices_with_newest_first(system); }

TEST(ReduceDescending, FindsSumsThatBeginWithTheNewestValue) {
  EXPECT_EQ(newest_first(sums({"7-i"}, {"k"})), Names{"k"});      // back substitution
  EXPECT_EQ(newest_first(sums({"7-i"}, {"8-i+k"})), Names{"k"});  // the same from a slice
  EXPECT_EQ(newest_first(sums({"i"}, {"i-k-1"})), Names{"k"});    // a series
  EXPECT_EQ(newest_first(sums({"t", "i"}, {"t", "i-k-1"})), Names{"k"});
}

TEST(ReduceDescending, LeavesThoseThatBeginWithTheOldest) {
  EXPECT_EQ(newest_first(sums({"i"}, {"k"})), Names{});
  EXPECT_EQ(newest_first(sums({"7-i"}, {"7-k"})), Names{});
  EXPECT_EQ(newest_first(trsv(5)), Names{});
}

TEST(ReduceDescending, ValuesOfAnEarlierIterationHaveNoNewest) {
  EXPECT_EQ(newest_first(sums({"t", "i"}, {"t-1", "7-k"})), Names{});
  EXPECT_EQ(newest_first(sums({"t", "7-i"}, {"t-1", "k"})), Names{});
}

TEST(ReduceDescending, LeavesThoseThatRunSoAlready) {
  const auto system = recurrence::reduce_descending(sums({"7-i"}, {"k"}), {"k"});
  EXPECT_EQ(newest_first(system), Names{});
}

TEST(ReduceDescending, SeesThroughCopies) {
  SystemBuilder b("copied");
  b.input("u", {8}).output("x", {8}).local("y", {8}).names({"i", "k"});
  const auto product = b.apply(Op::multiply, {b.at("u", {"k"}), b.at("x", {"k"})});
  b.equation("y", {"7-i"}, 1, "0 <= i < 8", b.sum("k", "0 <= k < i", product));
  const auto system = b.names({"i"}).equation("x", {"7-i"}, 1, "0 <= i < 8", b.at("y", {"7-i"})).build();
  EXPECT_EQ(newest_first(system), Names{"k"});
}

}  // namespace
}  // namespace cyclotron::testing
