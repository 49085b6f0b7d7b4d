#include "sample_programs.hpp"

namespace cyclotron::testing {
namespace {

TEST(Evaluate, FormsReadTheirEnvironment) {
  const std::int64_t environment[] = {3, 5, 7};
  EXPECT_EQ(evaluate(form({1, -2}, 4), environment), -3);
  EXPECT_EQ(evaluate(form({}, 4), nullptr), 4);
}

TEST(Evaluate, ElementsGoRound) {
  const SlotRef reference{SlotId(0), form({1}), {form({0, 1}, -1), 3, 2}};
  const auto element = [&](std::int64_t i, std::int64_t t) {
    const std::vector<std::int64_t> environment{i, t};
    return evaluate(reference, environment.data());
  };
  EXPECT_EQ(element(1, 1), 1);
  EXPECT_EQ(element(1, 3), 5);
  EXPECT_EQ(element(0, 4), 0);
  EXPECT_EQ(element(0, -1), 2);  // -2 mod 3 is 1
}

TEST(Evaluate, ConditionsHold) {
  const std::int64_t environment[] = {-4};
  EXPECT_TRUE(holds(Condition{Condition::Kind::non_negative, form({1}, 4), 0}, environment));
  EXPECT_FALSE(holds(Condition{Condition::Kind::non_negative, form({1}, 3), 0}, environment));
  EXPECT_TRUE(holds(Condition{Condition::Kind::zero, form({1}, 4), 0}, environment));
  EXPECT_TRUE(holds(Condition{Condition::Kind::divisible, form({1}), 2}, environment));
  EXPECT_FALSE(holds(Condition{Condition::Kind::divisible, form({1}), 3}, environment));
  EXPECT_TRUE(holds(Disjunction{{}}, environment));
  EXPECT_FALSE(holds(Disjunction{}, environment));
}

TEST(Evaluate, ExtentsCountRaggedTiles) {
  const Tensor tensor{"A", DType::float64, Role::input, {10, 0, 8}, {4, 4, 4}, true};
  EXPECT_EQ(tensor.extents(), (std::vector<std::int64_t>{3, 0, 2}));
}

TEST(Classes, AreFoundByCoordinates) {
  const Program program = matmul();
  EXPECT_EQ(program.class_of({1, 2}), 0U);
  EXPECT_EQ(program.class_of({1, 3}), 1U);
  EXPECT_EQ(program.class_of({0, 0}), Program::no_class);
  EXPECT_EQ(program.class_of({1, 4}), Program::no_class);
  EXPECT_EQ(program.class_of({-1, 3}), Program::no_class);
  EXPECT_EQ(program.class_of({1}), Program::no_class);
}

TEST(Classes, CountsAgreeWithEnumeration) {
  Program program = matmul();
  program.grid = {13, 9};
  program.classes.resize(5, program.classes[0]);
  program.classes[1].region = {{{Condition::Kind::zero, form({1, -1}), 0}}};
  program.classes[2].region = {{{Condition::Kind::divisible, form({1, 2}, 1), 3}}};
  program.classes[3].region = {{{Condition::Kind::non_negative, form({2, -3}, -1), 0}},
                               {{Condition::Kind::non_negative, form({0, 1}, -7), 0}}};
  program.classes[4].region = {};
  std::vector<std::int64_t> expected(5, 0);
  std::vector<std::uint32_t> map;
  for (std::int64_t i = 0; i < 13; ++i) {
    for (std::int64_t k = 0; k < 9; ++k) {
      const std::size_t found = program.class_of({i, k});
      if (found != Program::no_class) ++expected[found];
      map.push_back(found == Program::no_class ? Program::unmapped : static_cast<std::uint32_t>(found));
    }
  }
  EXPECT_EQ(program.class_map(), map);
  EXPECT_EQ(program.pe_counts(), expected);
  EXPECT_EQ(expected[0], 4);
  EXPECT_EQ(expected[4], 0);
}

TEST(Classes, CountsOfBoxesDoNotEnumerate) {
  Program program = matmul();
  program.grid = {1000000, 1000000};
  program.classes[1].region = {{}};
  EXPECT_EQ(program.pe_counts(), (std::vector<std::int64_t>{4, 1000000000000 - 4}));
}

}  // namespace
}  // namespace cyclotron::testing
