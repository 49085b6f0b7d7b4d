// The values of a graph are what the recurrences say, however they move.
#include <gtest/gtest.h>

#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "evaluate.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using schedule::MovementKind;
using schedule::Schedule;

void expect_same_values(const System& system, const std::vector<Schedule>& schedules) {
  recurrence::verify(system);
  const auto inputs = sample_inputs(system);
  auto expected = SystemEvaluator(system, inputs).run();
  std::erase_if(expected, [&](const auto& entry) {
    return std::ranges::none_of(system.tensors, [&](const auto& t) {
      return t.name == entry.first && t.role == recurrence::Role::output;
    });
  });
  ASSERT_FALSE(expected.empty());
  for (const auto& schedule : schedules) {
    const auto complete = schedule::complete(system, schedule);
    const auto graph = dataflow::lower(system, complete);
    dataflow::verify(graph);
    EXPECT_EQ(GraphEvaluator(graph, inputs).run(), expected) << to_string(complete) << "\n"
                                                             << to_string(graph);
    EXPECT_TRUE(equal(dataflow::parse(to_string(graph)), graph)) << to_string(graph);
    EXPECT_EQ(to_string(dataflow::parse(to_string(graph))), to_string(graph));
  }
}

// The comparison notices a wrong rule.
TEST(Evaluate, TellsGraphsApart) {
  const auto system = matmul(3, 4, 5);
  const auto inputs = sample_inputs(system);
  auto graph = dataflow::lower(system, {{"i", "j"}, {"k"}, {}});
  const auto right = GraphEvaluator(graph, inputs).run();
  EXPECT_EQ(right.at("C").size(), 12U);
  for (auto& rule : graph.rules) {
    auto* compute = std::get_if<dataflow::Compute>(&rule.action);
    if (compute != nullptr && compute->terms.size() == 3)
      std::get<dataflow::Apply>(compute->terms.back()).op = Op::add;
  }
  EXPECT_NE(GraphEvaluator(graph, inputs).run(), right);
}

TEST(Evaluate, Matmul) {
  const std::vector<Schedule> schedules{
      {{"i", "j"}, {}, {}},
      {{"i", "k"}, {}, {}},
      {{"j", "k"}, {}, {}},
      {{"k"}, {}, {}},
      {},
      {{"i", "j"}, {}, {{"A", MovementKind::broadcast, {"j"}}, {"B", MovementKind::broadcast, {"i"}}}},
      {{"i", "j"}, {}, {{"A", MovementKind::stream, {"j"}}, {"B", MovementKind::broadcast, {}}}},
      {{"i", "k"}, {}, {{"A", MovementKind::prefetch, {}}}},
      {{"i"}, {"k", "j"}, {{"B", MovementKind::stream, {"i"}}}},
      {{"i"}, {"k", "j"}, {{"A", MovementKind::stream, {"j"}}}}};
  expect_same_values(matmul(3, 4, 5), schedules);
  expect_same_values(matmul(2, 2, 1), schedules);
  expect_same_values(matmul(1, 1, 1), schedules);
}

TEST(Evaluate, TriangularSolves) {
  const std::vector<Schedule> schedules{
      {{"i"}, {}, {}},
      {{"i", "r"}, {}, {}},
      {{"j"}, {}, {}},
      {{"i", "j"}, {}, {}},
      {},
      {{"i"}, {}, {{"B", MovementKind::stream, {"i"}}}},
      {{"i"}, {}, {{"L", MovementKind::prefetch, {}}, {"B", MovementKind::prefetch, {}}}},
      {{"i"}, {}, {{"B", MovementKind::broadcast, {"i"}}, {"X", MovementKind::broadcast, {"i"}}}}};
  expect_same_values(trsm(4, 3), schedules);
  expect_same_values(trsm_right(4, 2), schedules);
  expect_same_values(trsm(1, 2), {{{"i"}, {}, {}}, {}});
  expect_same_values(trsm(2, 1), {{{"i"}, {}, {}}, {}});
  const std::vector<Schedule> single{
      {{"i"}, {}, {}},
      {{"j"}, {}, {}},
      {{"i", "j"}, {}, {}},
      {},
      {{"i"}, {}, {{"B", MovementKind::stream, {"i"}}}},
      {{"i"}, {}, {{"B", MovementKind::broadcast, {"i"}}, {"X", MovementKind::broadcast, {"i"}}}}};
  expect_same_values(trsv(5), single);
}

TEST(Evaluate, Cholesky) {
  const std::vector<Schedule> schedules{{{"i", "j"}, {}, {}},
                                        {{"j"}, {}, {}},
                                        {{"i"}, {}, {}},
                                        {},
                                        {{"i", "j"}, {}, {{"A", MovementKind::prefetch, {}}}}};
  for (const std::int64_t n : {1, 2, 3, 5}) expect_same_values(cholesky(n), schedules);
}

TEST(Evaluate, NeighbourRecurrences) {
  for (const std::int64_t n : {1, 2, 6}) expect_same_values(prefix_sum(n), {{{"i"}, {}, {}}, {}});
  expect_same_values(suffix_sum(4), {{{"i"}, {}, {}}, {}});
  expect_same_values(stencil(4, 6), {{{"x"}, {}, {}}, {{"t"}, {}, {}}, {{"t", "x"}, {}, {}}, {}});
}

TEST(Evaluate, OtherReductions) {
  for (const auto kind : {Reduction::sum, Reduction::product, Reduction::maximum, Reduction::minimum}) {
    SystemBuilder b("fold");
    b.input("A", {3, 4}).output("R", {3}).names({"i", "k"});
    const auto term = b.apply(Op::add, {b.at("A", {"i", "k"}), b.number(2)});
    expect_same_values(
        b.equation("R", {"i"}, 1, range("i", 3), b.reduce(kind, "k", "i <= k < 4", term)).build(),
        {{{"i"}, {}, {}}, {{"k"}, {}, {}}, {{"i", "k"}, {}, {}}});
  }
}

// An empty sum is 0: as a whole equation, and inside an expression.
TEST(Evaluate, EmptySums) {
  for (const bool whole : {true, false}) {
    SystemBuilder b("empty");
    b.input("A", {4}).output("R", {4}).names({"i", "k"});
    const auto sum = b.sum("k", "0 <= k < i", b.at("A", {"k"}));
    const auto value = whole ? sum : b.apply(Op::add, {b.at("A", {"i"}), sum});
    expect_same_values(b.equation("R", {"i"}, 1, range("i", 4), value).build(),
                       {{{"i"}, {}, {}}, {{"k"}, {}, {}}, {}});
  }
}

// A computed tensor between two equations, read with shifts and reversal.
TEST(Evaluate, LocalTensors) {
  SystemBuilder b("chain");
  b.input("A", {5}).local("T", {5}).output("R", {5}).names({"i"});
  b.equation("T", {"i"}, 1, range("i", 5), b.apply(Op::multiply, {b.at("A", {"i"}), b.number(3)}));
  b.equation("R", {"i"}, 1, "1 <= i < 5", b.apply(Op::add, {b.at("T", {"i-1"}), b.at("T", {"i"})}));
  b.equation("R", {"i"}, 1, "i = 0", b.at("T", {"-i+4"}));
  expect_same_values(b.build(), {{{"i"}, {}, {}}, {}});
}

}  // namespace
}  // namespace cyclotron::testing
