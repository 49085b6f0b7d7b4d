// Reductions in blocks: which blocks, values, and what is refused.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/reassociate.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::Blocks;
using recurrence::blocks_of;
using recurrence::reassociate;
using recurrence::Reduce;

/// The indices of the reductions around each other, outermost first.
std::vector<std::string> nest(const System& system, recurrence::ExprId id) {
  const auto& node = system.at(id).node;
  std::vector<std::string> result;
  if (const auto* reduce = std::get_if<Reduce>(&node)) {
    result = nest(system, reduce->body);
    result.insert(result.begin(), reduce->index);
  } else if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
    for (const auto operand : apply->operands) {
      const auto inner = nest(system, operand);
      result.insert(result.end(), inner.begin(), inner.end());
    }
  }
  return result;
}

/// y[i] = max of x[k] over the terms.
System running_maximum(std::int64_t n, const std::string& terms) {
  SystemBuilder b("running_maximum");
  b.input("x", {n}).output("y", {n}).names({"i", "k"});
  const auto largest = b.reduce(Reduction::maximum, "k", terms, b.at("x", {"k"}));
  return b.equation("y", {"i"}, 1, range("i", n), largest).build();
}

TEST(Reassociate, BlocksAreOfEqualLengthButTheLast) {
  EXPECT_EQ(blocks_of(0, 7, 4), (Blocks{0, 2, 4}));
  EXPECT_EQ(blocks_of(0, 6, 3), (Blocks{0, 3, 3}));
  EXPECT_EQ(blocks_of(2, 6, 4), (Blocks{2, 2, 3}));  // a fourth one would be empty
  EXPECT_EQ(blocks_of(0, 2, 1000), (Blocks{0, 1, 3}));
  EXPECT_EQ(blocks_of(5, 5, 1), (Blocks{5, 1, 1}));
  EXPECT_EQ(blocks_of(0, -1, 3), (Blocks{0, 1, 1}));
}

TEST(Reassociate, ReducesOverBlocks) {
  const auto system = matmul(3, 2, 8);
  const auto blocked = reassociate(system, {{"k", 3, "l"}});
  EXPECT_NO_THROW(recurrence::verify(blocked));
  const auto& equation = blocked.equations.front();
  EXPECT_EQ(nest(blocked, equation.expr), (std::vector<std::string>{"l", "k"}));
  EXPECT_EQ(equation.indices, system.equations.front().indices);
  const auto text = to_string(blocked);
  EXPECT_NE(text.find("Σ_{0 <= l <= 2} Σ_{0 <= k <= 7 and 3l <= k and k <= 3l+2} (A[i, k] · B[k, j])"),
            std::string::npos)
      << text;
  EXPECT_EQ(outputs(blocked, "C"), outputs(system, "C"));
}

TEST(Reassociate, KeepsValues) {
  for (std::int64_t parts = 1; parts <= 7; ++parts) {
    for (const auto& [system, index, output] : {std::tuple{matmul(2, 3, 5), "k", "C"},
                                                {trsm(5, 2), "j", "X"},
                                                {trsv(4), "j", "X"},
                                                {cholesky(5), "k", "L"},
                                                {matmul(2, 3, 0), "k", "C"},
                                                {running_maximum(6, "i <= k < 6"), "k", "y"},
                                                {running_maximum(6, range("k", 6)), "k", "y"}}) {
      const auto blocked = reassociate(system, {{index, parts, "l"}});
      EXPECT_NO_THROW(recurrence::verify(blocked)) << system.kernel << parts;
      EXPECT_EQ(outputs(blocked, output), outputs(system, output)) << system.kernel << parts;
    }
  }
}

TEST(Reassociate, MakesTrees) {
  const auto system = matmul(2, 2, 9);
  // In whichever order they are given.
  const auto tree = reassociate(system, {{"b", 2, "a"}, {"k", 5, "b"}});
  EXPECT_EQ(nest(tree, tree.equations.front().expr), (std::vector<std::string>{"a", "b", "k"}));
  EXPECT_EQ(tree, reassociate(system, {{"k", 5, "b"}, {"b", 2, "a"}}));
  EXPECT_EQ(outputs(tree, "C"), outputs(system, "C"));
}

TEST(Reassociate, MovesTheVariablesOfInnerReductions) {
  SystemBuilder b("nested");
  b.input("A", {5, 5}).output("d", {3}).names({"i", "k", "m"});
  const auto inner =
      b.sum("m", "i <= m <= k", b.apply(Op::multiply, {b.at("A", {"k", "m"}), b.at("A", {"m", "i"})}));
  b.names({"i", "k"});
  const auto system = b.equation("d", {"i"}, 1, range("i", 3), b.sum("k", range("k", 5), inner)).build();
  for (const char* index : {"k", "m"}) {
    const auto blocked = reassociate(system, {{index, 2, "l"}});
    EXPECT_NO_THROW(recurrence::verify(blocked));
    EXPECT_EQ(outputs(blocked, "d"), outputs(system, "d"));
  }
  const auto both = reassociate(system, {{"k", 2, "a"}, {"m", 3, "b"}});
  EXPECT_EQ(nest(both, both.equations.front().expr), (std::vector<std::string>{"a", "k", "b", "m"}));
  EXPECT_EQ(outputs(both, "d"), outputs(system, "d"));
}

TEST(Reassociate, KeepsAValueThatIsUsedTwiceOneValue) {
  SystemBuilder b("squared");
  b.input("x", {4}).output("y", {1}).names({"i", "k"});
  const auto sum = b.sum("k", range("k", 4), b.at("x", {"k"}));
  const auto system = b.equation("y", {"i"}, 1, "i = 0", b.apply(Op::multiply, {sum, sum})).build();
  const auto blocked = reassociate(system, {{"k", 2, "l"}});
  const auto& product = std::get<recurrence::Apply>(blocked.at(blocked.equations.front().expr).node);
  EXPECT_EQ(product.operands[0], product.operands[1]);
}

void expect_fault(const System& system, const recurrence::Reassociation& wanted, const std::string& message,
                  const std::string& help) {
  const auto diagnostic = error_of<ScheduleError>([&] { (void)reassociate(system, {wanted}); });
  EXPECT_EQ(diagnostic.code, "CYC318");
  EXPECT_NE(diagnostic.message.find(message), std::string::npos) << diagnostic.message;
  EXPECT_NE(diagnostic.help.find(help), std::string::npos) << diagnostic.help;
}

TEST(Reassociate, Refuses) {
  const auto system = matmul(2, 2, 2);
  expect_fault(system, {"x", 2, "l"}, "`x`, over which", "reduces over: k");
  expect_fault(system, {"i", 2, "l"}, "`i`, over which", "reduces over: k");
  expect_fault(stencil(3, 4), {"x", 2, "l"}, "`x`, over which", "reduces over: nothing");
  expect_fault(system, {"k", 2, "j"}, "`k` into `j`, a name", "A, B, C, i, j, k");
  expect_fault(system, {"k", 2, "A"}, "`k` into `A`, a name", "A, B, C, i, j, k");
  expect_fault(system, {"k", 2, "k"}, "`k` into `k`, a name", "A, B, C, i, j, k");
  expect_fault(system, {"k", 0, "l"}, "`k` into 0 parts", "at least 1");
  expect_fault(running_maximum(6, "0 <= k <= i"), {"k", 2, "l"}, "end at no affine form", "ends at the same");
}

}  // namespace
}  // namespace cyclotron::testing
