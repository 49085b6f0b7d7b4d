#include "../../../src/runtime/engine/kernels/panel_solve.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace cyclotron::runtime {
namespace {

/// A system with its values by steps or by lanes, solved forwards or backwards.
struct Case {
  std::int64_t steps, lanes;
  bool by_steps, backward, transposed, unit_diagonal;
};

template <class T>
struct Data {
  std::vector<T> triangle, values;
};

template <class T>
Data<T> random_data(const Case& c) {
  std::mt19937 engine(static_cast<unsigned>(c.steps * 100 + c.lanes));
  std::uniform_real_distribution<T> uniform(-1, 1);
  Data<T> data{std::vector<T>(static_cast<std::size_t>(c.steps * c.steps)),
               std::vector<T>(static_cast<std::size_t>(c.steps * c.lanes))};
  for (auto& x : data.triangle) x = uniform(engine) / static_cast<T>(c.steps);
  for (std::int64_t i = 0; i < c.steps; ++i)
    data.triangle[static_cast<std::size_t>(i * (c.steps + 1))] = T(1.5);
  for (auto& x : data.values) x = uniform(engine);
  return data;
}

template <class T>
TriangularSystem<T> system_of(const Case& c, Data<T>& data) {
  TriangularSystem<T> system{.triangle = data.triangle.data(),
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
template <class T>
void substitute(const TriangularSystem<T>& system) {
  for (std::int64_t lane = 0; lane < system.lanes; ++lane) {
    T* value = system.values + lane * system.value_lane;
    for (std::int64_t s = 0; s < system.steps; ++s) {
      T sum = value[s * system.value_step];
      for (std::int64_t k = 0; k < s; ++k)
        sum -= system.triangle[s * system.step + k * system.term] * value[k * system.value_step];
      value[s * system.value_step] =
          system.unit_diagonal ? sum : sum / system.triangle[s * (system.step + system.term)];
    }
  }
}

template <class T>
class PanelSolve : public ::testing::Test {};
using Elements = ::testing::Types<float, double>;
TYPED_TEST_SUITE(PanelSolve, Elements);

TYPED_TEST(PanelSolve, EveryInstructionSetSolvesWithTheSameBits) {
  using T = TypeParam;
  const auto solvers = panel_solvers<T>();
  if (solvers.empty()) GTEST_SKIP() << "this processor has no vectors of AVX2";
  Scratch scratch;
  for (const std::int64_t steps : {1, 3, 4, 7, 48, 53}) {
    for (const std::int64_t lanes : {1, 4, 8, 9, 12, 13, 23, 24, 25, 61, 97}) {
      for (unsigned flags = 0; flags < 16; ++flags) {
        const Case c{
            steps, lanes, (flags & 1U) != 0, (flags & 2U) != 0, (flags & 4U) != 0, (flags & 8U) != 0};
        Data<T> expected = random_data<T>(c);
        substitute(system_of(c, expected));
        std::vector<std::vector<T>> found;
        for (const PanelSolver<T>& solver : solvers) {
          Data<T> data = random_data<T>(c);
          solve_in_panels(system_of(c, data), solver, scratch);
          for (std::size_t i = 0; i < data.values.size(); ++i)
            ASSERT_NEAR(data.values[i], expected.values[i], 50 * std::numeric_limits<T>::epsilon())
                << steps << " " << lanes << " " << flags;
          found.push_back(data.values);
        }
        EXPECT_EQ(found.front(), found.back()) << steps << " " << lanes << " " << flags;
      }
    }
  }
}

}  // namespace
}  // namespace cyclotron::runtime
