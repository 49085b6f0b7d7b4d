// Programs of the PE classes: Fig. 14 in its right form, and sizes that do not grow with the problem.
#include <gtest/gtest.h>

#include <cyclotron/codegen/generate.hpp>
#include <cyclotron/dataflow/lower.hpp>
#include <cyclotron/mapping/map_to_grid.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using schedule::MovementKind;
using schedule::Schedule;

program::Program generate(const System& system, const Schedule& schedule) {
  const machine::Machine machine;
  const auto complete = schedule::complete(system, schedule);
  return codegen::generate(mapping::map_to_grid(dataflow::lower(system, complete), complete, machine),
                           machine);
}

const Schedule weight_stationary{{"i", "k"}, {"j"}, {{"A", MovementKind::prefetch, {}}}};

// E1: Cell (i, 0) sends C east; E2: every cell loads its weight before the loop, and the time coordinate is
// j.
TEST(Golden, WeightStationaryMatmul) {
  expect_golden("codegen/matmul_weight_stationary.txt",
                to_string(generate(matmul(8, 16, 6), weight_stationary)));
}
TEST(Golden, OutputStationaryMatmul) {
  expect_golden("codegen/matmul_output_stationary.txt",
                to_string(generate(matmul(8, 6, 16), {{"i", "j"}, {}, {}})));
}
TEST(Golden, TriangularSolve) {
  expect_golden("codegen/trsm.txt", to_string(generate(trsm(8, 4), {{"i"}, {}, {}})));
}
TEST(Golden, CholeskyOfTiles) {
  expect_golden("codegen/cholesky_tiles.txt", to_string(generate(cholesky(16, 2), {{"i", "j"}, {}, {}})));
}

struct Counts {
  std::map<std::string, int> actions;
  bool operator==(const Counts&) const = default;
};

Counts counts(const program::Program& program) {
  static constexpr const char* names[] = {"loop", "if",      "end",       "load", "store",
                                          "send", "receive", "broadcast", "move", "compute"};
  Counts result;
  for (const auto& cell : program.classes) {
    for (const auto& instruction : cell.code) ++result.actions[names[instruction.action.index()]];
  }
  result.actions["classes"] = static_cast<int>(program.classes.size());
  result.actions["channels"] = static_cast<int>(program.channels.size());
  return result;
}

// Time and size of a compilation do not depend on the number of PEs.
TEST(Structure, DoesNotGrowWithTheGrid) {
  EXPECT_EQ(counts(generate(matmul(16, 8, 16), weight_stationary)),
            counts(generate(matmul(1024, 100'000, 1024), weight_stationary)));
  EXPECT_EQ(counts(generate(matmul(16, 16, 8), {{"i", "j"}, {}, {}})),
            counts(generate(matmul(1024, 1024, 100'000), {{"i", "j"}, {}, {}})));
  EXPECT_EQ(counts(generate(cholesky(16), {{"i", "j"}, {}, {}})),
            counts(generate(cholesky(1024), {{"i", "j"}, {}, {}})));
  EXPECT_EQ(counts(generate(trsm(16, 4), {{"i"}, {}, {}})),
            counts(generate(trsm(4096, 1000), {{"i"}, {}, {}})));
}

TEST(Structure, InteriorPesTouchNoMemoryForStreams) {
  const auto program = generate(matmul(8, 16, 6), weight_stationary);
  const auto interior = program.class_of({3, 3});
  ASSERT_NE(interior, program::Program::no_class);
  int depth = 0, loads_outside = 0;
  for (const auto& instruction : program.classes[interior].code) {
    const bool load = std::holds_alternative<program::Load>(instruction.action),
               store = std::holds_alternative<program::Store>(instruction.action);
    if (std::holds_alternative<program::Loop>(instruction.action)) ++depth;
    if (std::holds_alternative<program::End>(instruction.action)) --depth;
    EXPECT_FALSE(store);
    EXPECT_FALSE(load && depth > 0);
    loads_outside += load ? 1 : 0;
  }
  EXPECT_EQ(loads_outside, 1) << "the weight";
}

// Loops of one step are no loops, and the loops of a class are balanced.
TEST(Structure, NestsAreBalanced) {
  for (const auto& program : {generate(matmul(1, 1, 1), {{"i", "j"}, {}, {}}), generate(matmul(4, 5, 6), {}),
                              generate(cholesky(5), {{"j"}, {}, {}}), generate(trsv(4), {{"i"}, {}, {}}),
                              generate(prefix_sum(4), {})}) {
    for (const auto& cell : program.classes) {
      int depth = 0;
      for (const auto& instruction : cell.code) {
        const auto& action = instruction.action;
        if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action))
          ++depth;
        if (std::holds_alternative<program::End>(action)) --depth;
        EXPECT_GE(depth, 0);
      }
      EXPECT_EQ(depth, 0);
    }
  }
  EXPECT_FALSE(counts(generate(matmul(1, 1, 1), {{"i", "j"}, {}, {}})).actions.contains("loop"));
}

TEST(Structure, SpansPointIntoTheKernel) {
  for (const auto& cell : generate(trsm(5, 3), {{"i"}, {}, {}}).classes) {
    for (const auto& instruction : cell.code) {
      const bool control = instruction.action.index() <= 2;
      EXPECT_EQ(instruction.span.file, control ? "" : "sample.py");
    }
  }
}

TEST(Structure, LocalTensorsAreNotInTheProgram) {
  SystemBuilder b("chain");
  b.input("A", {5}).local("T", {5}).output("R", {5}).names({"i"});
  b.equation("T", {"i"}, 1, range("i", 5), b.apply(Op::multiply, {b.at("A", {"i"}), b.number(3)}));
  b.equation("R", {"i"}, 1, range("i", 5), b.apply(Op::add, {b.at("T", {"i"}), b.number(1)}));
  const auto program = generate(b.build(), {{"i"}, {}, {}});
  ASSERT_EQ(program.tensors.size(), 2U);
  EXPECT_EQ(program.tensors[0].name, "A");
  EXPECT_EQ(program.tensors[1].name, "R");
}

}  // namespace
}  // namespace cyclotron::testing
