// Loops over blocks become loops over the elements in them.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/omit_determined.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

recurrence::System omitted(const recurrence::System& system, const std::string& kept = "") {
  recurrence::verify(system);
  auto result = recurrence::omit_determined(system, [&](const std::string& index) { return index == kept; });
  recurrence::verify(result);
  return result;
}

constexpr auto in_block = "0 <= b < 16 and b mod 8 = 0 and b <= i < b + 8 and i < 12";

/// A running sum over the blocks of columns, of each element in a block of rows: the last of them is not full.
SystemBuilder sums(const char* domain = in_block) {
  const std::string rows = domain;
  SystemBuilder b("sums");
  b.input("x", {12, 2}).output("y", {12}).local("c", {16, 2, 12}).names({"b", "k", "i"});
  b.equation("c", {"b", "k", "i"}, 3, rows + " and k = 0", b.at("x", {"i", "k"}));
  b.equation("c", {"b", "k", "i"}, 3, rows + " and k = 1",
             b.apply(Op::add, {b.at("c", {"b", "k-1", "i"}), b.at("x", {"i", "k"})}));
  b.equation("y", {"i"}, 3, std::string(in_block) + " and k = 1", b.at("c", {"b", "k", "i"}));
  return b;
}

TEST(OmitDetermined, TheIndexOfABlock) {
  expect_golden("recurrence/omit_determined/block", to_string(omitted(sums().build())));
}

TEST(OmitDetermined, KeepsWhatIsToBeKept) { EXPECT_EQ(omitted(sums().build(), "b"), sums().build()); }

/// Two statements a block, the first of which takes what the second computed so many elements before.
recurrence::System sequence(const std::string& before) {
  const std::string rows = in_block;
  SystemBuilder b("sequence");
  b.input("x", {12}).output("y", {12}).local("c", {16, 12}).local("d", {16, 12}).names({"b", "s", "i"});
  b.equation("c", {"b", "i"}, 3, rows + " and s = 1 and b = 0", b.at("x", {"i"}));
  b.equation("c", {"b", "i"}, 3, rows + " and s = 1 and b >= 8",
             before.empty() ? b.at("x", {"i"}) : b.at("d", {"b" + before, "i" + before}));
  b.equation("d", {"b", "i"}, 3, rows + " and s = 3", b.at("c", {"b", "i"}));
  b.equation("y", {"i"}, 3, rows + " and s = 5", b.at("d", {"b", "i"}));
  return b.build();
}

TEST(OmitDetermined, TheIndexOfABlockOfSeveralStatements) {
  for (const auto& equation : omitted(sequence("")).equations)
    EXPECT_EQ(equation.indices, (std::vector<std::string>{"s", "i"}));
}

TEST(OmitDetermined, KeepsBlocksThatNeedEachOther) { EXPECT_EQ(omitted(sequence("-8")), sequence("-8")); }

/// Two blocks have some elements in common.
TEST(OmitDetermined, KeepsBlocksThatOverlap) {
  const auto overlapping = sums("0 <= b < 16 and b mod 8 = 0 and b <= i < b + 9 and i < 12").build();
  EXPECT_EQ(omitted(overlapping), overlapping);
}

/// The element of an input is told by the number of the block and the place in it.
TEST(OmitDetermined, KeepsAnIndexThatIsUsed) {
  SystemBuilder b("used");
  b.input("x", {16}).output("y", {12}).local("c", {16, 12}).names({"b", "i"});
  b.equation("c", {"b", "i"}, 2, in_block, b.at("x", {"b"}));
  b.equation("y", {"i"}, 2, in_block, b.at("c", {"b", "i"}));
  EXPECT_EQ(omitted(b.build()), b.build());
}

}  // namespace
}  // namespace cyclotron::testing
