// Reductions as trees of partial results: their values, their levels, and what is refused.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/reduce_in_trees.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::reduce_in_trees;
using recurrence::Tree;

/// s[i] = x[i, k] reduced over k.
System rows(Reduction kind, std::int64_t terms) {
  SystemBuilder b("rows");
  b.input("x", {2, terms}).output("s", {2}).names({"i", "k"});
  const auto body = b.at("x", {"i", "k"});
  return b.equation("s", {"i"}, 1, range("i", 2), b.reduce(kind, "k", range("k", terms), body)).build();
}

std::ptrdiff_t tensors(const System& system) { return std::ssize(system.tensors); }

TEST(ReduceInTrees, KeepsValues) {
  for (const auto kind : {Reduction::sum, Reduction::product, Reduction::maximum, Reduction::minimum}) {
    for (const std::int64_t terms : {1, 2, 3, 5, 8, 17}) {
      const auto system = rows(kind, terms);
      for (const std::int64_t radix : {0, 2, 3, 8}) {
        for (const std::int64_t parts : {0, 1, 4}) {
          const auto tree = reduce_in_trees(system, {{.index = "k", .radix = radix, .parts = parts}});
          EXPECT_NO_THROW(recurrence::verify(tree)) << to_string(tree);
          EXPECT_EQ(outputs(tree, "s"), outputs(system, "s")) << to_string(tree);
        }
      }
    }
  }
}

TEST(ReduceInTrees, HasATensorALevel) {
  const auto more = [](std::int64_t terms, std::int64_t radix) {
    const auto system = rows(Reduction::sum, terms);
    return tensors(reduce_in_trees(system, {{.index = "k", .radix = radix}})) - tensors(system);
  };
  EXPECT_EQ(more(16, 2) - more(8, 2), more(8, 2) - more(4, 2));
  EXPECT_LT(more(16, 4), more(16, 2));
  EXPECT_LE(more(64, 0), more(64, 2));
  EXPECT_EQ(more(4096, 2) - more(2048, 2), more(16, 2) - more(8, 2));  // by the logarithm of the terms
}

TEST(ReduceInTrees, LeavesTheRestAlone) {
  const auto system = rows(Reduction::sum, 8);
  EXPECT_EQ(reduce_in_trees(system, {}), system);
  EXPECT_EQ(recurrence::to_string(Tree{.index = "k", .radix = 4}), "a tree of radix 4");
  EXPECT_EQ(recurrence::to_string(Tree{.index = "k", .radix = 0}), "two phases");
}

TEST(ReduceInTrees, Refuses) {
  const auto refused = [](const System& system, const std::string& index) {
    const auto diagnostic =
        error_of<ScheduleError>([&] { (void)reduce_in_trees(system, {{.index = index}}); });
    EXPECT_EQ(diagnostic.code, "CYC318");
    return diagnostic.message;
  };
  EXPECT_NE(refused(rows(Reduction::sum, 8), "i").find('i'), std::string::npos);
  SystemBuilder b("triangle");
  b.input("x", {4, 4}).output("s", {4}).names({"i", "k"});
  const auto body = b.at("x", {"i", "k"});
  const auto triangle =
      b.equation("s", {"i"}, 1, range("i", 4), b.reduce(Reduction::sum, "k", "0 <= k <= i", body)).build();
  EXPECT_FALSE(refused(triangle, "k").empty());
}

}  // namespace
}  // namespace cyclotron::testing
