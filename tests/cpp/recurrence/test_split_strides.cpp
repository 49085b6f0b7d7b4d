// Equations that read several strides become one for each.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/split_strides.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

std::string split(const SystemBuilder& equations) {
  const auto system = equations.build();
  recurrence::verify(system);
  const auto result = recurrence::split_strides(system);
  recurrence::verify(result);
  return to_string(result);
}

TEST(SplitStrides, OneEquationForEachRemainder) {
  SystemBuilder b("halves");
  b.input("x", {4}).output("y", {8}).local("c", {8}).names({"i"});
  b.equation("c", {"2i"}, 1, "0 <= i < 4", b.apply(Op::sqrt, {b.at("x", {"i"})}));
  b.equation("c", {"2i+1"}, 1, "0 <= i < 4", b.apply(Op::exp, {b.at("x", {"i"})}));
  b.equation("y", {"i"}, 1, "0 <= i < 8", b.at("c", {"i"}));
  expect_golden("recurrence/split_strides/halves", split(b));
}

/// Parts are of another stride to their readers, which are split, too: a running sum over both halves.
TEST(SplitStrides, WhatReadsTheParts) {
  SystemBuilder b("running_sum");
  b.input("x", {4}).output("y", {8}).local("c", {8}).names({"i"});
  b.equation("c", {"2i"}, 1, "0 <= i < 4", b.at("x", {"i"}));
  b.equation("c", {"2i+1"}, 1, "0 <= i < 4", b.number(1));
  b.equation("y", {"i"}, 1, "i = 0", b.at("c", {"i"}));
  b.equation("y", {"i"}, 1, "1 <= i < 8", b.apply(Op::add, {b.at("y", {"i-1"}), b.at("c", {"i"})}));
  expect_golden("recurrence/split_strides/running_sum", split(b));
}

SystemBuilder largest_of_both(recurrence::DType dtype) {
  SystemBuilder b("largest");
  b.tensor("x", recurrence::Role::input, {4}, 0, dtype).tensor("y", recurrence::Role::output, {1}, 0, dtype);
  b.tensor("c", recurrence::Role::local, {8}, 0, dtype).names({"i"});
  b.equation("c", {"2i"}, 1, "0 <= i < 4", b.at("x", {"i"}));
  b.equation("c", {"2i+1"}, 1, "0 <= i < 4", b.at("x", {"i"}));
  b.names({"k"});
  const auto largest = b.reduce(Reduction::maximum, "k", "0 <= k < 7", b.at("c", {"k"}));
  b.names({}).equation("y", {"0"}, 0, "", largest);
  return b;
}

/// One for each remainder, of which the last has fewer terms.
TEST(SplitStrides, ReductionsInAnyOrder) {
  expect_golden("recurrence/split_strides/largest", split(largest_of_both(recurrence::DType::int64)));
}

TEST(SplitStrides, LeavesReductionsInOrder) {
  const auto system = largest_of_both(recurrence::DType::float64).build();
  EXPECT_EQ(recurrence::split_strides(system), system);
}

TEST(SplitStrides, LeavesWhatIsAffine) {
  SystemBuilder b("even");
  b.input("x", {4}).output("y", {4}).local("c", {8}).names({"i"});
  b.equation("c", {"2i"}, 1, "0 <= i < 4", b.at("x", {"i"}));
  b.equation("y", {"i"}, 1, "0 <= i < 4", b.at("c", {"2i"}));
  EXPECT_EQ(recurrence::split_strides(b.build()), b.build());
}

/// `y[2i]` read at `i`: each split is one of another stride to itself, so the system stays as it is.
TEST(SplitStrides, EndsWhereEachSplitNeedsAnother) {
  SystemBuilder b("doubling");
  b.input("x", {1}).output("y", {4096}).names({"i"});
  b.equation("y", {"i"}, 1, "i = 0", b.at("x", {"0"}));
  b.equation("y", {"2i+1"}, 1, "0 <= i < 2048", b.at("y", {"i"}));
  b.equation("y", {"2i"}, 1, "1 <= i < 2048", b.at("y", {"i"}));
  EXPECT_EQ(recurrence::split_strides(b.build()), b.build());
}

}  // namespace
}  // namespace cyclotron::testing
