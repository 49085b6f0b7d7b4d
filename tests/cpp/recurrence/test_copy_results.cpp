// Loops inside others that may end hand what they leave to their next run in copies.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/early_exit.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

/// `v` is halved until it is less than 1, and again from there in each iteration of k.
SystemBuilder halved() {
  SystemBuilder b("halved");
  b.input("x", {1}).output("y", {3}).local("v", {3, 4}).names({"k", "s", "t"});
  b.tensor("goes_on", recurrence::Role::local, {3, 4}, 0, recurrence::DType::boolean);
  const auto half = [&](ExprId value) { return b.apply(Op::divide, {value, b.number(2)}); };
  const auto large = [&] { return b.apply(Op::less, {b.number(1), b.at("v", {"k", "t"})}); };
  const std::string first = "s = 1 and t = 0", later = "s = 1 and 1 <= t < 4";
  b.equation("v", {"k", "t"}, 3, "k = 0 and " + first, half(b.at("x", {"0"})));
  b.equation("v", {"k", "t"}, 3, "1 <= k < 3 and " + first, half(b.at("v", {"k-1", "3"})));
  b.equation("v", {"k", "t"}, 3, "0 <= k < 3 and " + later,
             b.apply(Op::where, {b.at("goes_on", {"k", "t-1"}), half(b.at("v", {"k", "t-1"})),
                                 b.at("v", {"k", "t-1"})}));
  b.equation("goes_on", {"k", "t"}, 3, "0 <= k < 3 and " + first, large());
  b.equation("goes_on", {"k", "t"}, 3, "0 <= k < 3 and " + later,
             b.apply(Op::logical_and, {b.at("goes_on", {"k", "t-1"}), large()}));
  b.equation("y", {"k"}, 1, "0 <= k < 3", b.at("v", {"k", "3"}));
  return b;
}

TEST(CopyResults, OfALoopInsideAnother) {
  const auto system = halved().build();
  recurrence::verify(system);
  const auto exits = recurrence::early_exits(system);
  ASSERT_EQ(exits.size(), 1U);
  EXPECT_EQ(exits[0].index, "t");
  EXPECT_EQ(exits[0].steps, 4);
  EXPECT_EQ(exits[0].around, (std::vector<std::pair<std::string, std::int64_t>>{{"k", 0}}));
  const auto result = recurrence::copy_results(system);
  recurrence::verify(result);
  expect_golden("recurrence/copy_results/halved", to_string(result));
}

/// The loop starts where k says: its iterations are those of no one range, and it is told why it does not end.
TEST(LostExits, OfARangeThatVaries) {
  SystemBuilder b("later");
  b.input("x", {1}).output("y", {2}).names({"k", "t"});
  b.tensor("goes_on", recurrence::Role::local, {2, 4}, 0, recurrence::DType::boolean);
  const auto small = b.apply(Op::less, {b.at("x", {"0"}), b.number(1)});
  b.equation("goes_on", {"k", "t"}, 2, "0 <= k < 2 and t = k", small);
  b.equation("goes_on", {"k", "t"}, 2, "0 <= k < 2 and k < t and t < 4",
             b.apply(Op::logical_and, {b.at("goes_on", {"k", "t-1"}), small}));
  b.equation("y", {"k"}, 1, "0 <= k < 2",
             b.apply(Op::where, {b.at("goes_on", {"k", "3"}), b.number(1), b.number(2)}));
  const auto system = b.build();
  recurrence::verify(system);
  EXPECT_TRUE(recurrence::early_exits(system).empty());
  const auto lost = recurrence::lost_exits(system);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_FALSE(lost[0].because);
  EXPECT_EQ(lost[0].bounded_by, "k");
}

}  // namespace
}  // namespace cyclotron::testing
