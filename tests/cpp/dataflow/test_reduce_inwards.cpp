// Reductions from both ends to the middle: which halves, values, and what is refused.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/split_bounds.hpp>
#include <cyclotron/recurrence/split_reductions.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::reduce_inwards;

/// y[i] = x[k] reduced over the terms.
System reduction(Reduction kind, const std::string& terms) {
  SystemBuilder b("reduction");
  b.input("x", {6}).output("y", {6}).names({"i", "k"});
  const auto total = b.reduce(kind, "k", terms, b.at("x", {"k"}));
  return b.equation("y", {"i"}, 1, range("i", 6), total).build();
}

TEST(ReduceInwards, HalvesAtTheMiddleOfAllValues) {
  const auto text = to_string(reduce_inwards(matmul(3, 2, 7), {"k"}));
  EXPECT_NE(
      text.find("Σ_{0 <= k <= 3} (A[i, k] · B[k, j]) + Σ_{4 <= k <= 6, descending} (A[i, k] · B[k, j])"),
      std::string::npos)
      << text;
  EXPECT_EQ(reduce_inwards(matmul(3, 2, 1), {"k"}), matmul(3, 2, 1));  // nothing beyond its only value
  EXPECT_EQ(reduce_inwards(matmul(3, 2, 7), {}), matmul(3, 2, 7));
}

TEST(ReduceInwards, KeepsValues) {
  for (const auto& [system, indices, output] :
       {std::tuple{matmul(2, 3, 5), std::vector<std::string>{"k"}, "C"},
        {matmul(2, 3, 0), {"k"}, "C"},
        {trsm(5, 2), {"j"}, "X"},
        {cholesky(5), {"k"}, "L"},
        {reduction(Reduction::sum, "0 <= k <= i"), {"k"}, "y"},
        {reduction(Reduction::sum, "i <= k < 6"), {"k"}, "y"},
        {reduction(Reduction::product, "k = 5 - i"), {"k"}, "y"},
        {reduction(Reduction::maximum, range("k", 6)), {"k"}, "y"}}) {
    const auto inwards = reduce_inwards(system, indices);
    EXPECT_NO_THROW(recurrence::verify(inwards)) << to_string(inwards);
    EXPECT_EQ(outputs(inwards, output), outputs(system, output)) << to_string(inwards);
    const auto split = recurrence::split_bounds(recurrence::split_reductions(inwards));
    EXPECT_NO_THROW(recurrence::verify(split)) << to_string(split);
    EXPECT_EQ(outputs(split, output), outputs(system, output)) << to_string(split);
  }
}

TEST(ReduceInwards, TurnsWhatLiesBeyondTheMiddle) {
  SystemBuilder b("sides");
  b.input("x", {8}).output("y", {3}).names({"i", "k"});
  for (const auto& [element, terms] :
       {std::pair{"0", "0 <= k < 8"}, {"1", "1 <= k < 3"}, {"2", "5 <= k < 8"}})
    b.equation("y", {element}, 1, "i = 0", b.sum("k", terms, b.at("x", {"k"})));
  const auto system = b.build();
  const auto inwards = reduce_inwards(system, {"k"});
  const auto text = to_string(inwards);
  EXPECT_NE(text.find("Σ_{0 <= k <= 3} x[k] + Σ_{4 <= k <= 7, descending} x[k]"), std::string::npos) << text;
  EXPECT_NE(text.find("= Σ_{1 <= k <= 2} x[k]"), std::string::npos) << text;
  EXPECT_NE(text.find("= Σ_{5 <= k <= 7, descending} x[k]"), std::string::npos) << text;
  EXPECT_EQ(outputs(inwards, "y"), outputs(system, "y"));
}

TEST(ReduceInwards, HalvesReductionsInEachOther) {
  SystemBuilder b("nested");
  b.input("A", {5, 4}).output("s", {1}).names({"i", "k", "m"});
  const auto inner = b.sum("m", range("m", 4), b.at("A", {"k", "m"}));
  b.names({"i", "k"});
  const auto system = b.equation("s", {"i"}, 1, "i = 0", b.sum("k", range("k", 5), inner)).build();
  const auto both = reduce_inwards(system, {"k", "m"});
  EXPECT_NO_THROW(recurrence::verify(both));
  EXPECT_EQ(outputs(both, "s"), outputs(system, "s"));
  const auto& sum = std::get<recurrence::Apply>(both.at(both.equations.front().expr).node);
  const auto& lower = std::get<recurrence::Reduce>(both.at(sum.operands[0]).node);
  const auto& upper = std::get<recurrence::Reduce>(both.at(sum.operands[1]).node);
  EXPECT_EQ(lower.body, upper.body);
  EXPECT_FALSE(lower.descending);
  EXPECT_TRUE(upper.descending);
}

void expect_fault(const System& system, const std::string& index, const std::string& message,
                  const std::string& help) {
  const auto diagnostic = error_of<ScheduleError>([&] { (void)reduce_inwards(system, {index}); });
  EXPECT_EQ(diagnostic.code, "CYC318");
  EXPECT_NE(diagnostic.message.find(message), std::string::npos) << diagnostic.message;
  EXPECT_NE(diagnostic.help.find(help), std::string::npos) << diagnostic.help;
}

TEST(ReduceInwards, Refuses) {
  expect_fault(matmul(2, 2, 2), "i", "`i`, over which", "reduces over: k");
  expect_fault(stencil(3, 4), "x", "`x`, over which", "reduces over: nothing");
  expect_fault(reduction(Reduction::maximum, "0 <= k <= i"), "k",
               "on both sides of k = 2 at some points only", "the same everywhere");
}

}  // namespace
}  // namespace cyclotron::testing
