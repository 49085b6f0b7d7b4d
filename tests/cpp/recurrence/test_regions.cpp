// Gaps of sets, and what equations leave unassigned.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/regions.hpp>

namespace cyclotron::testing {
namespace {

using poly::Set;

Set parsed(const poly::Context& context, const std::string& text) {
  return Set::parse(context, {"i", "k"}, text).value();
}

TEST(Regions, GapsLieBetween) {
  const poly::Context context;
  EXPECT_FALSE(recurrence::has_gap(parsed(context, "0 <= i < 4 and i <= k < 9"), 1));
  EXPECT_FALSE(recurrence::has_gap(parsed(context, "0 <= i < 4 and (0 <= k < i or i <= k < 9)"), 1));
  EXPECT_TRUE(recurrence::has_gap(parsed(context, "0 <= i < 4 and (0 <= k < i or i < k < 9)"), 1));
  EXPECT_TRUE(recurrence::has_gap(parsed(context, "i = 0 and 0 <= k < 9 and k mod 2 = 0"), 1));
  // Along the other variable each row is whole.
  EXPECT_FALSE(recurrence::has_gap(parsed(context, "0 <= i < 4 and 0 <= k < 9 and k mod 2 = 0"), 0));
}

TEST(Regions, ElementsBetweenStridesStayUnassigned) {
  const poly::Context context;
  recurrence::Tensor tensor;
  tensor.shape = {8};
  tensor.tile = {1};
  recurrence::Equation even;
  even.index = {{{2}, 0}};
  even.indices = {"i"};
  even.domain = {{{{{1}, 0}}, {{{-1}, 2}}}};  // 0 <= i <= 2
  const auto rest = recurrence::unassigned(context, tensor, {even});
  const auto expected = Set::parse(context, {"n"}, "0 <= n < 8 and (n mod 2 = 1 or n = 6)").value();
  EXPECT_EQ(rest, expected);
}

}  // namespace
}  // namespace cyclotron::testing
