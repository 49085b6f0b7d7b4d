#include "../../../src/runtime/kernels/panel_solve.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace cyclotron::runtime {
namespace {

/// A system with its values by steps or by lanes, solved forwards or backwards.
struct Case {
  std::int64_t steps, lanes;
  bool by_steps, backward, transposed, unit_diagonal;
};

struct Data {
  std::vector<double> triangle, values;
};

Data random_data(const Case& c) {
  std::mt19937 engine(static_cast<unsigned>(c.steps * 100 + c.lanes));
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Data data{std::vector<double>(static_cast<std::size_t>(c.steps * c.steps)),
            std::vector<double>(static_cast<std::size_t>(c.steps * c.lanes))};
  for (auto& x : data.triangle) x = uniform(engine) / static_cast<double>(c.steps);
  for (std::int64_t i = 0; i < c.steps; ++i) data.triangle[static_cast<std::size_t>(i * (c.steps + 1))] = 1.5;
  for (auto& x : data.values) x = uniform(engine);
  return data;
}

TriangularSystem system_of(const Case& c, Data& data) {
  TriangularSystem system{.triangle = data.triangle.data(),
                          .step = c.transposed ? 1 : c.steps,
                          .term = c.transposed ? c.steps : 1,
                          .values = data.values.data(),
                          .value_step = c.by_steps ? c.lanes : 1,
                          .value_lane = c.by_steps ? 1 : c.steps,
                          .steps = c.steps,
                          .lanes = c.lanes,
                          .unit_diagonal = c.unit_diagonal};
  if (c.backward) {
    system.triangle += (c.steps - 1) * (system.step + system.term);
    system.values += (c.steps - 1) * system.value_step;
    for (auto* stride : {&system.step, &system.term, &system.value_step}) *stride = -*stride;
  }
  return system;
}

/// Substitution as written in `TriangularSystem`.
void substitute(const TriangularSystem& system) {
  for (std::int64_t lane = 0; lane < system.lanes; ++lane) {
    double* value = system.values + lane * system.value_lane;
    for (std::int64_t s = 0; s < system.steps; ++s) {
      double sum = value[s * system.value_step];
      for (std::int64_t k = 0; k < s; ++k)
        sum -= system.triangle[s * system.step + k * system.term] * value[k * system.value_step];
      value[s * system.value_step] =
          system.unit_diagonal ? sum : sum / system.triangle[s * (system.step + system.term)];
    }
  }
}

TEST(PanelSolve, EveryInstructionSetSolvesWithTheSameBits) {
  if (panel_solvers().empty()) GTEST_SKIP() << "this processor has no vectors of AVX2";
  Scratch scratch;
  for (const std::int64_t steps : {1, 3, 4, 7, 48, 53}) {
    for (const std::int64_t lanes : {1, 4, 8, 9, 12, 13, 23, 24, 25, 61}) {
      for (unsigned flags = 0; flags < 16; ++flags) {
        const Case c{
            steps, lanes, (flags & 1U) != 0, (flags & 2U) != 0, (flags & 4U) != 0, (flags & 8U) != 0};
        Data expected = random_data(c);
        substitute(system_of(c, expected));
        std::vector<std::vector<double>> found;
        for (const PanelSolver& solver : panel_solvers()) {
          Data data = random_data(c);
          solve_in_panels(system_of(c, data), solver, scratch);
          for (std::size_t i = 0; i < data.values.size(); ++i)
            ASSERT_NEAR(data.values[i], expected.values[i], 1e-14) << steps << " " << lanes << " " << flags;
          found.push_back(data.values);
        }
        EXPECT_EQ(found.front(), found.back()) << steps << " " << lanes << " " << flags;
      }
    }
  }
}

}  // namespace
}  // namespace cyclotron::runtime
