// The paper's figures, with the corrections of the errata.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include <cyclotron/dataflow/lower.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using schedule::MovementKind;

void expect_graph(const std::string& name, const System& system, const schedule::Schedule& schedule) {
  const auto complete = schedule::complete(system, schedule);
  const auto graph = dataflow::lower(system, complete);
  dataflow::verify(graph);
  const auto text = to_string(graph);
  expect_golden("dataflow/" + name + ".txt",
                "# " + schedule::to_string(complete) + "\n" + to_string(system) + "---\n" + text);
  const auto parsed = dataflow::parse(text);
  EXPECT_TRUE(equal(parsed, graph));
  EXPECT_EQ(to_string(parsed), text);
}

// Fig. 4 with E5, E6 and E16.
TEST(Golden, MatmulOutputStationary) {
  expect_graph("matmul_output_stationary", matmul(4, 5, 3), {{"i", "j"}, {}, {}});
}
TEST(Golden, MatmulWeightStationary) {
  expect_graph("matmul_weight_stationary", matmul(4, 5, 3),
               {{"i", "k"}, {}, {{"A", MovementKind::prefetch, {}}}});
}
TEST(Golden, MatmulBroadcast) {
  expect_graph(
      "matmul_broadcast", matmul(8, 10, 6, 2),
      {{"i", "j"}, {}, {{"A", MovementKind::broadcast, {"j"}}, {"B", MovementKind::broadcast, {"i"}}}});
}
// Fig. 6 with E7 and E8.
TEST(Golden, TriangularSolveOfOneColumn) { expect_graph("trsv", trsv(5), {{"i"}, {}, {}}); }
TEST(Golden, TriangularSolveOfManyColumns) { expect_graph("trsm", trsm(5, 4), {{"i"}, {}, {}}); }
TEST(Golden, TriangularSolveOfTiles) { expect_graph("trsm_tiles", trsm(10, 8, 2), {{"i"}, {}, {}}); }
TEST(Golden, TriangularSolveFromTheRight) {
  expect_graph("trsm_right_tiles", trsm_right(10, 8, 2), {{"i"}, {}, {}});
}
// Fig. 10 and 11, E13.
TEST(Golden, TriangularSolveWithRelay) {
  expect_graph("trsm_relay", trsm(5, 4), {{"i"}, {}, {{"B", MovementKind::stream, {"i"}}}});
}
TEST(Golden, TriangularSolveWithBroadcast) {
  expect_graph("trsm_broadcast", trsm(5, 4),
               {{"i"}, {}, {{"B", MovementKind::broadcast, {"i"}}, {"X", MovementKind::broadcast, {"i"}}}});
}
// E9 and E12: the turn at the diagonal.
TEST(Golden, Cholesky) { expect_graph("cholesky", cholesky(5), {{"i", "j"}, {}, {}}); }
TEST(Golden, CholeskyOfTiles) { expect_graph("cholesky_tiles", cholesky(10, 2), {{"i", "j"}, {}, {}}); }
TEST(Golden, PrefixSum) { expect_graph("prefix_sum", prefix_sum(6), {{"i"}, {}, {}}); }

// Each golden file is named in this one.
TEST(Golden, NoFileIsUnused) {
  const std::filesystem::path golden(CYCLOTRON_GOLDEN_DIR);
  std::ifstream file(golden.parent_path() / "cpp/dataflow/test_golden.cpp");
  std::ostringstream source;
  source << file.rdbuf();
  for (const auto& entry : std::filesystem::directory_iterator(golden / "dataflow")) {
    if (entry.is_directory()) continue;
    EXPECT_NE(source.str().find('"' + entry.path().stem().string() + '"'), std::string::npos) << entry.path();
  }
}

}  // namespace
}  // namespace cyclotron::testing
