// Tensors of a loop that an iteration that only copies leaves as they were.
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

// `b` holds the element after `a`'s, `c` both as they were read, and `d` what one equation takes of `c`.
TEST(KeptValues, OfElementsThatTwoTensorsLeave) {
  constexpr TensorId d{3};
  const auto loop = in_loop(1);
  auto both = loop;
  both.indices.emplace_back("i");
  both.domain.front().push_back({.form = {{0, 1}, 0}});
  both.domain.front().push_back({.form = {{0, -1}, 1}});
  const Affine i{{0, 1}, 0};
  const Copies copies{{a, {{&loop, {number(0)}, d, 0, {number(0)}}}},
                      {b, {{&loop, {number(0)}, d, 0, {number(1)}}}},
                      {c, {{&loop, {number(0)}, a, 1, {number(0)}}, {&loop, {number(1)}, b, 1, {number(0)}}}},
                      {d, {{&both, {i}, c, 0, {i}}}}};
  EXPECT_FALSE(kept_values(copies).contains(d));
  const Affine same{{1}, 0}, next{{1}, 1};
  const HeldElements held{{"x", {{a, {same}}, {b, {next}}, {c, {same}}, {d, {same}}}}};
  EXPECT_EQ(kept_values(copies, held), (std::map<TensorId, std::int64_t>{{a, 1}, {b, 1}, {c, 1}, {d, 1}}));
  const HeldElements wrong{{"x", {{a, {same}}, {b, {same}}, {c, {same}}, {d, {same}}}}};
  EXPECT_EQ(kept_values(copies, wrong), kept_values(copies));
}

// That both hold all of a variable is said of them, but not so.
TEST(KeptValues, NotOfTwoThatAreExchangedWhateverTheyHold) {
  const auto loop = in_loop(1);
  const Copies exchanged{{a, {{&loop, {}, b, 1, {}}}}, {b, {{&loop, {}, a, 1, {}}}}};
  EXPECT_TRUE(kept_values(exchanged, {{"x", {{a, {}}, {b, {}}}}}).empty());
  EXPECT_TRUE(kept_values(exchanged, {{"x", {{a, {number(0)}}, {b, {number(0)}}}}}).empty());
}

}  // namespace
}  // namespace cyclotron::recurrence::exits
