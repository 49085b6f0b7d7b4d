// Parts of a graph for tables and pictures: points of boxes and arrows between them.
#include <gtest/gtest.h>

#include <cyclotron/dataflow/describe.hpp>
#include <cyclotron/dataflow/lower.hpp>

#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using dataflow::Point;

dataflow::Graph lowered(const System& system) {
  return dataflow::lower(system, schedule::complete(system, {{"i"}, {}, {}}));
}

TEST(Describe, CountsTheNodesOfTheTriangularSolve) {
  const auto graph = lowered(trsv(5));
  const auto box = dataflow::bounds(graph);
  EXPECT_EQ(box.least, (Point{0, 0}));
  EXPECT_EQ(box.greatest, (Point{4, 4}));
  ASSERT_EQ(graph.spaces.size(), 2U);
  EXPECT_EQ(dataflow::points_in(graph.spaces[0].domain, box).size(), 10U);
  EXPECT_EQ(dataflow::points_in(graph.spaces[1].domain, box).size(), 5U);
}

TEST(Describe, ABoxCutsInOrder) {
  const auto graph = lowered(trsv(5));
  EXPECT_EQ(dataflow::points_in(graph.spaces[0].domain, {{0, 0}, {2, 2}}),
            (std::vector<Point>{{1, 0}, {2, 0}, {2, 1}}));
}

TEST(Describe, ArrowsEndInTheBox) {
  const auto graph = lowered(trsv(5));
  std::size_t transfers = 0;
  for (const auto& rule : graph.rules) {
    const auto arrows = dataflow::arrows_in(rule, dataflow::bounds(graph));
    EXPECT_EQ(arrows.empty(), !std::holds_alternative<dataflow::Transfer>(rule.action));
    for (const auto& [from, to] : arrows) {
      ++transfers;
      EXPECT_EQ(std::abs(from[0] - to[0]) + std::abs(from[1] - to[1]), 1);
    }
  }
  // x comes down to the 10 inner points, and 4 sums go to the diagonal.
  EXPECT_EQ(transfers, 14U);
}

TEST(Describe, TextIsThatOfThePrintedLine) {
  const auto graph = lowered(trsv(5));
  const auto printed = dataflow::to_string(graph);
  for (const auto& rule : graph.rules) {
    const auto [statement, domain, action] = dataflow::text_of(graph, rule);
    EXPECT_NE(printed.find("  " + statement + " "), std::string::npos) << statement;
    EXPECT_NE(printed.find(action), std::string::npos) << action;
  }
}

}  // namespace
}  // namespace cyclotron::testing
