// Which tensors of a loop an iteration that only copies leaves as they were.
#include "../../../src/recurrence/analysis/kept_values.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace cyclotron::recurrence::exits {
namespace {

using Copies = std::map<TensorId, std::vector<ElementCopy>>;

constexpr TensorId a{0}, b{1}, c{2};

Affine number(std::int64_t value) { return {{}, value}; }

/// An equation of the loop over t, of whose iterations the first few are left out.
Equation in_loop(std::int64_t first) {
  Equation result;
  result.indices = {"t"};
  result.domain = {{{.form = {{1}, -first}}, {.form = {{-1}, 9}}}};
  return result;
}

TEST(KeptValues, OfTheIterationBefore) {
  const auto loop = in_loop(1);
  EXPECT_EQ(kept_values({{a, {{&loop, {number(3)}, a, 1, {number(3)}}}}}),
            (std::map<TensorId, std::int64_t>{{a, 0}}));
}

TEST(KeptValues, NotOfAnotherElement) {
  const auto loop = in_loop(1);
  EXPECT_TRUE(kept_values({{a, {{&loop, {number(3)}, a, 1, {number(2)}}}}}).empty());
}

// The elements change places in every iteration.
TEST(KeptValues, NotOfTwoThatAreExchanged) {
  const auto loop = in_loop(1);
  const Copies exchanged{{a, {{&loop, {}, b, 1, {}}}}, {b, {{&loop, {}, a, 1, {}}}}};
  EXPECT_TRUE(kept_values(exchanged).empty());
  const Copies in_turn{
      {a, {{&loop, {}, b, 1, {}}}}, {b, {{&loop, {}, c, 1, {}}}}, {c, {{&loop, {}, a, 1, {}}}}};
  EXPECT_TRUE(kept_values(in_turn).empty());
}

TEST(KeptValues, OfAVariableWithTwoTensorsInAnIteration) {
  const auto loop = in_loop(1);
  const Copies handed_on{{a, {{&loop, {}, b, 1, {}}}}, {b, {{&loop, {}, a, 0, {}}}}};
  EXPECT_EQ(kept_values(handed_on), (std::map<TensorId, std::int64_t>{{a, 1}, {b, 0}}));
}

}  // namespace
}  // namespace cyclotron::recurrence::exits
