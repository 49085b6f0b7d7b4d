// Dependences of the samples: relations that isl reads back, distances, and directions of reuse.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/dependences.hpp>

#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::Dependence;
using recurrence::DependenceKind;
using recurrence::dependences;

std::vector<std::int64_t> distance(const Dependence& dependence) {
  std::vector<std::int64_t> result;
  for (const auto& step : dependence.distances) {
    EXPECT_TRUE(step.uniform());
    result.push_back(step.least);
  }
  return result;
}

std::vector<Dependence> of(const System& system, DependenceKind kind) {
  std::vector<Dependence> result;
  for (auto& dependence : dependences(system).dependences) {
    if (dependence.kind == kind) result.push_back(dependence);
  }
  return result;
}

TEST(Dependences, MatmulHasTheThreeOfAutoSA) {
  const auto found = dependences(matmul(3, 3, 3));
  ASSERT_EQ(found.statements.size(), 2U);
  EXPECT_EQ(found.statements[1].domain, "{ S1[i, j, k] : 0 <= i <= 2 and 0 <= j <= 2 and 0 <= k <= 2 }");
  const auto flows = of(matmul(3, 3, 3), DependenceKind::flow);
  const auto reads = of(matmul(3, 3, 3), DependenceKind::read);
  ASSERT_EQ(flows.size(), 2U);
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(distance(flows[0]), (std::vector<std::int64_t>{0, 0, 1}));
  EXPECT_EQ(distance(reads[0]), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_EQ(distance(reads[1]), (std::vector<std::int64_t>{1, 0, 0}));
}

TEST(Dependences, DoNotGrowWithTheProblem) {
  const auto small = dependences(trsm(4, 3)), large = dependences(trsm(4000, 3000));
  ASSERT_EQ(small.dependences.size(), large.dependences.size());
  for (std::size_t d = 0; d < small.dependences.size(); ++d)
    EXPECT_EQ(distance(small.dependences[d]), distance(large.dependences[d]));
}

TEST(Dependences, SmallDomainsStillShowSteps) {
  // With two terms the next one is always k = 1, and yet it is k+1.
  const auto flows = of(matmul(2, 2, 2), DependenceKind::flow);
  EXPECT_NE(flows[0].relation.find("S1[i, j, k+1]"), std::string::npos) << flows[0].relation;
}

TEST(Dependences, AnElementOfItsOwnForEveryPointIsNoReuse) {
  EXPECT_TRUE(of(prefix_sum(5), DependenceKind::read).empty());
  EXPECT_TRUE(of(prefix_sum(5), DependenceKind::anti).empty());
  EXPECT_TRUE(of(prefix_sum(5), DependenceKind::output).empty());
}

TEST(Dependences, ReuseMayBeDiagonal) {
  SystemBuilder b("convolution");
  b.input("x", {8}).input("w", {3}).output("y", {6}).names({"i", "r"});
  const auto term = b.apply(Op::multiply, {b.at("x", {"i+r"}), b.at("w", {"r"})});
  b.names({"i", "r"}).equation("y", {"i"}, 1, "0 <= i < 6", b.sum("r", "0 <= r < 3", term));
  const auto reads = of(b.build(), DependenceKind::read);
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(distance(reads[0]), (std::vector<std::int64_t>{1, -1}));
  EXPECT_EQ(distance(reads[1]), (std::vector<std::int64_t>{1, 0}));
}

}  // namespace
}  // namespace cyclotron::testing
