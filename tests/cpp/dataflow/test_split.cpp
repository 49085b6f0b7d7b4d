// The passes that leave one reduction with one bound in each equation: values, structure, and what the
// lowering says without them.
#include <gtest/gtest.h>

#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/recurrence/split_bounds.hpp>
#include <cyclotron/recurrence/split_reductions.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::Reduce;

/// D[i] = sum_k sum_{l <= k} A[i, k] B[k, l] over max_m A[i, m], for i from 2.
System nested() {
  SystemBuilder b("nested");
  b.input("A", {6, 4}).input("B", {4, 4}).output("D", {4}).names({"i", "k", "l"});
  const auto inner =
      b.sum("l", "0 <= l <= k", b.apply(Op::multiply, {b.at("A", {"i", "k"}), b.at("B", {"k", "l"})}));
  b.names({"i", "k"});
  const auto outer = b.sum("k", range("k", 4), inner);
  b.names({"i", "m"});
  const auto largest = b.reduce(Reduction::maximum, "m", range("m", 4), b.at("A", {"i", "m"}));
  return b.equation("D", {"i-2"}, 1, "2 <= i < 6", b.apply(Op::subtract, {outer, largest})).build();
}

/// y[i] = 1 + sum of x[k] for k < i + 2 and k < n.
System banded(std::int64_t n) {
  SystemBuilder b("banded");
  b.input("x", {n}).output("y", {n}).names({"i", "k"});
  const auto sum = b.sum("k", range("k", n) + " and k < i + 2", b.at("x", {"k"}));
  return b.equation("y", {"i"}, 1, range("i", n), b.apply(Op::add, {b.number(1), sum})).build();
}

std::size_t reductions(const System& system, recurrence::ExprId id) {
  const auto& node = system.at(id).node;
  if (const auto* reduce = std::get_if<Reduce>(&node)) return 1 + reductions(system, reduce->body);
  std::size_t count = 0;
  if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
    for (const auto operand : apply->operands) count += reductions(system, operand);
  }
  return count;
}

TEST(SplitReductions, KeepsSystemsWithOneReduction) {
  for (const auto& system : {matmul(3, 4, 5), trsm(4, 3), cholesky(5), prefix_sum(5), stencil(3, 5)}) {
    EXPECT_EQ(recurrence::split_reductions(system), system);
    EXPECT_EQ(recurrence::split_bounds(system), system);
  }
}

TEST(SplitReductions, GivesEachReductionATensor) {
  const auto system = nested();
  const auto split = recurrence::split_reductions(system);
  EXPECT_NO_THROW(recurrence::verify(split));
  for (const auto& equation : split.equations) EXPECT_LE(reductions(split, equation.expr), 1U);
  ASSERT_EQ(split.tensors.size(), system.tensors.size() + 2);
  // A box of exactly the points, shifted to its least indices.
  EXPECT_EQ(split.tensors[3].name, "D_l");
  EXPECT_EQ(split.tensors[3].shape, (std::vector<std::int64_t>{4, 4}));
  EXPECT_EQ(split.tensors[4].name, "D_m");
  EXPECT_EQ(split.tensors[4].shape, (std::vector<std::int64_t>{4}));
  EXPECT_EQ(outputs(split, "D"), outputs(system, "D"));
}

TEST(SplitReductions, ComputesAnIndependentReductionOnce) {
  SystemBuilder b("centred");
  b.input("A", {3, 4}).output("X", {3}).names({"i", "k", "l"});
  const auto largest = b.reduce(Reduction::maximum, "l", range("l", 4), b.at("A", {"i", "l"}));
  const auto rest = b.apply(Op::subtract, {b.at("A", {"i", "k"}), largest});
  b.names({"i", "k"});
  const auto system = b.equation("X", {"i"}, 1, range("i", 3), b.sum("k", range("k", 4), rest)).build();
  const auto split = recurrence::split_reductions(system);
  EXPECT_EQ(split.tensors.back().shape, (std::vector<std::int64_t>{3}));
  EXPECT_EQ(outputs(split, "X"), outputs(system, "X"));
}

TEST(SplitReductions, KeepsANestedSumThatIsUsedTwiceOneValue) {
  SystemBuilder b("squared");
  b.input("A", {4, 3}).output("x", {1}).names({"i", "k", "l"});
  const auto inner = b.sum("l", range("l", 3), b.at("A", {"k", "l"}));
  b.names({"i", "k"});
  const auto outer = b.sum("k", range("k", 4), inner);
  const auto system = b.equation("x", {"i"}, 1, "i = 0", b.apply(Op::multiply, {outer, outer})).build();
  const auto split = recurrence::split_reductions(system);
  const auto& product = std::get<recurrence::Apply>(split.at(split.equations.back().expr).node);
  EXPECT_EQ(product.operands[0], product.operands[1]);
  EXPECT_NO_THROW((void)dataflow::lower(split, schedule::complete(split, {})));
  EXPECT_EQ(outputs(split, "x"), outputs(system, "x"));
}

TEST(SplitBounds, CutsWhereTheLeastBoundChanges) {
  const auto system = banded(6);
  const auto split = recurrence::split_bounds(system);
  EXPECT_NO_THROW(recurrence::verify(split));
  EXPECT_EQ(split.equations.size(), 2U);
  EXPECT_EQ(outputs(split, "y"), outputs(system, "y"));
  EXPECT_NO_THROW((void)dataflow::lower(split, schedule::complete(split, {})));
}

TEST(SplitBounds, BoundsByTheLargestIndex) {
  SystemBuilder b("halves");
  b.input("x", {6}).output("y", {6}).names({"i", "k"});
  const auto system =
      b.equation("y", {"i"}, 1, range("i", 6), b.sum("k", "0 <= k and 2k <= i", b.at("x", {"k"}))).build();
  const auto split = recurrence::split_bounds(system);
  const auto& reduce = std::get<Reduce>(split.at(split.equations.front().expr).node);
  const recurrence::Constraint bound{{{0, -1}, 2}, false};
  EXPECT_EQ(reduce.domain.front().back(), bound);
  EXPECT_EQ(outputs(split, "y"), outputs(system, "y"));
}

TEST(SplitReductions, LoweringNeedsThePasses) {
  const auto lower = [](const System& system) {
    return error_of<LegalityError>([&] { (void)dataflow::lower(system, schedule::complete(system, {})); });
  };
  const auto second = lower(nested());
  EXPECT_EQ(second.code, "CYC210");
  expect_golden_refusal("second-reduction", second);
  EXPECT_TRUE(second.span.known());
  const auto bounds = lower(banded(6));
  EXPECT_EQ(bounds.code, "CYC212");
  expect_golden_refusal("reduction-of-two-bounds", bounds);
  EXPECT_NE(bounds.message.find("has 2 upper bounds"), std::string::npos) << bounds.message;
}

TEST(SplitReductions, DivisibilityIsAPartOfADomain) {
  SystemBuilder b("even");
  b.input("x", {7}).output("y", {7}).names({"i"});
  b.equation("y", {"i"}, 1, range("i", 7) + " and i mod 2 = 0", b.at("x", {"i"}));
  const auto system =
      b.equation("y", {"i"}, 1, range("i", 7) + " and i mod 2 = 1", b.at("y", {"i-1"})).build();
  EXPECT_NO_THROW(recurrence::verify(system));
  EXPECT_NE(to_string(system).find("i mod 2 = 1"), std::string::npos) << to_string(system);
  const auto graph = dataflow::lower(system, schedule::complete(system, {}));
  EXPECT_EQ(GraphEvaluator(graph, sample_inputs(system)).run().at("y"), outputs(system, "y"));
}

}  // namespace
}  // namespace cyclotron::testing
