// Terms: what is equal, what is not, and how a difference reads.
#include <gtest/gtest.h>

#include <array>

#include <cyclotron/proof/terms.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {
namespace {

using program::Role;
using program::Tensor;

class Terms : public ::testing::Test {
 protected:
  const std::vector<Tensor> tensors{
      {"A", program::DType::float64, Role::input, {2, 3}, {1, 1}, false},
      {"T", program::DType::float64, Role::input, {5, 5}, {2, 3}, true},
  };
  TermTable table{tensors};

  TermId apply(Op op, std::vector<TermId> operands, Flags flags = 0) {
    return table.apply(op, flags, operands);
  }
};

TEST_F(Terms, EqualTreesHaveOneNumber) {
  const auto a = table.element(0, 1), b = table.element(0, 2), c = table.element(0, 3);
  EXPECT_EQ(table.element(0, 1), a);
  EXPECT_NE(table.element(1, 1), a);
  EXPECT_EQ(apply(Op::subtract, {a, b}), apply(Op::subtract, {a, b}));
  EXPECT_NE(apply(Op::subtract, {a, b}), apply(Op::subtract, {b, a}));
  EXPECT_EQ(apply(Op::add, {a, b}), apply(Op::add, {b, a}));
  EXPECT_EQ(apply(Op::multiply, {a, b}), apply(Op::multiply, {b, a}));
  EXPECT_NE(apply(Op::maximum, {a, b}), apply(Op::maximum, {b, a}));  // -0 and NaN
  EXPECT_NE(apply(Op::add, {apply(Op::add, {a, b}), c}), apply(Op::add, {a, apply(Op::add, {b, c})}));
  EXPECT_NE(apply(Op::solve_triangular, {a, b}),
            apply(Op::solve_triangular, {a, b}, operators::unit_diagonal));
  EXPECT_NE(table.constant({0, 0}), table.constant({-0.0, 0}));
  EXPECT_EQ(table.constant({2, 1}), table.constant({2, 1}));
  EXPECT_NE(table.constant(Number::of((std::int64_t{1} << 53) + 1)), table.constant({0x1p53, 0}));
}

TEST_F(Terms, FusedOperatorsAreWhatTheyMean) {
  const auto a = table.element(0, 1), b = table.element(0, 2), c = table.element(0, 3);
  EXPECT_EQ(apply(Op::multiply_add, {c, a, b}), apply(Op::add, {c, apply(Op::multiply, {a, b})}));
  EXPECT_EQ(apply(Op::multiply_subtract, {c, a, b}), apply(Op::subtract, {c, apply(Op::multiply, {a, b})}));
  EXPECT_EQ(apply(Op::syrk_add, {c, a}), apply(Op::add, {c, apply(Op::syrk, {a})}));
  EXPECT_EQ(apply(Op::syrk_subtract, {c, a}), apply(Op::subtract, {c, apply(Op::syrk, {a})}));
  const auto flags = operators::transpose_b;
  EXPECT_EQ(apply(Op::matmul_add, {c, a, b}, flags), apply(Op::add, {c, apply(Op::matmul, {a, b}, flags)}));
  EXPECT_EQ(apply(Op::matmul_subtract, {c, a, b}), apply(Op::subtract, {c, apply(Op::matmul, {a, b})}));
  EXPECT_NE(apply(Op::matmul_add, {c, a, b}, flags), apply(Op::matmul_add, {c, a, b}));
}

TEST_F(Terms, OneOfWhatANumberChoosesIsNotZero) {
  const auto a = table.element(0, 1), n = table.element(0, 2), m = table.element(0, 3);
  const auto choice = [&](TermId number, std::int64_t key, double other = -0.0) {
    const auto test = apply(Op::equal, {number, table.index(key, program::DType::int64)});
    return apply(Op::where, {test, table.element(0, key % 6), table.constant({other, 0})});
  };
  const auto sum = [&](TermId b, TermId c) { return apply(Op::add, {b, c}); };
  const auto in_turn = [&](TermId b, TermId c) { return sum(sum(a, b), c); };
  const auto of_both = [&](TermId b, TermId c) { return sum(a, sum(b, c)); };
  EXPECT_EQ(of_both(choice(n, 1), choice(n, 4)), in_turn(choice(n, 1), choice(n, 4)));
  const auto two = sum(choice(n, 4), choice(n, 7));
  EXPECT_EQ(sum(sum(choice(n, 1), choice(n, 3)), two),
            sum(sum(sum(choice(n, 1), choice(n, 3)), choice(n, 4)), choice(n, 7)));
  // Of two numbers, of one key twice, and of other values both terms may be something else.
  EXPECT_NE(of_both(choice(n, 1), choice(m, 4)), in_turn(choice(n, 1), choice(m, 4)));
  EXPECT_NE(of_both(choice(n, 4), choice(n, 4, 0.0)), in_turn(choice(n, 4), choice(n, 4, 0.0)));
  EXPECT_NE(of_both(choice(n, 1), choice(n, 4, 2.0)), in_turn(choice(n, 1), choice(n, 4, 2.0)));
  EXPECT_NE(of_both(choice(n, 1), n), in_turn(choice(n, 1), n));
}

TEST_F(Terms, ANumberThatAFlagLeavesIsThatOfAnElementWithTheFlag) {
  const auto x = table.element(0, 1), v = table.element(0, 2), n = table.element(0, 3);
  const auto flag = table.element(0, 4), other = table.element(0, 5);
  const auto at = table.index(2, program::DType::int64);
  const auto none = table.constant({-0x1p63, 0});
  const auto found = apply(Op::equal, {n, at});
  const auto chosen = apply(Op::where, {flag, apply(Op::where, {found, v, x}), x});
  EXPECT_EQ(chosen, apply(Op::where, {apply(Op::equal, {apply(Op::where, {flag, n, none}), at}), v, x}));
  EXPECT_NE(chosen, apply(Op::where, {found, v, x}));
  EXPECT_NE(chosen, apply(Op::where, {other, apply(Op::where, {found, v, x}), x}));
  EXPECT_NE(chosen, apply(Op::where, {flag, apply(Op::where, {found, v, x}), v}));
  // An element may have any other number.
  const auto zero = apply(Op::where, {flag, n, table.constant({0, 0})});
  EXPECT_NE(chosen, apply(Op::where, {apply(Op::equal, {zero, at}), v, x}));
}

TEST_F(Terms, KnowTheShapesOfRaggedTiles) {
  EXPECT_EQ(table.shape(table.element(1, 0)), (Shape{2, 3}));
  EXPECT_EQ(table.shape(table.element(1, 1)), (Shape{2, 2}));
  EXPECT_EQ(table.shape(table.element(1, 5)), (Shape{1, 2}));
  const auto product = apply(Op::matmul, {table.element(1, 1), table.element(1, 5)}, operators::transpose_b);
  EXPECT_EQ(table.shape(product), (Shape{2, 1}));
  EXPECT_THROW(apply(Op::matmul, {table.element(1, 0), table.element(1, 0)}), ShapeError);
  EXPECT_THROW(apply(Op::syrk_add, {table.element(1, 0), table.element(1, 0)}), ShapeError);
}

TEST_F(Terms, DifferenceIsTheSmallestUnequalPair) {
  const auto a = table.element(0, 1), b = table.element(0, 2), c = table.element(0, 3);
  const auto left = apply(Op::add, {apply(Op::multiply, {a, b}), c});
  EXPECT_EQ(table.difference(left, apply(Op::add, {apply(Op::multiply, {a, c}), c})), (std::pair{b, c}));
  EXPECT_EQ(table.difference(left, apply(Op::subtract, {left, c})).first, left);
  EXPECT_EQ(table.difference(a, b), (std::pair{a, b}));
}

TEST_F(Terms, PrintShort) {
  const auto a = table.element(0, 1), b = table.element(0, 5);
  EXPECT_EQ(table.text(apply(Op::multiply_add, {a, a, b})), "A[0, 1] + (A[0, 1] · A[1, 2])");
  EXPECT_EQ(table.text(apply(Op::maximum, {a, table.constant({0.5, -2})})), "maximum(A[0, 1], (0.5-2j))");
  auto chain = a;
  for (int n = 0; n < 40; ++n) chain = apply(Op::subtract, {chain, b});
  EXPECT_LT(table.text(chain).size(), 200U);
  EXPECT_NE(table.text(chain).find("…"), std::string::npos);
}

TEST_F(Terms, StayDistinctInALargeTable) {
  const std::vector<Tensor> large{{"A", program::DType::float64, Role::input, {100'000}, {1}, false}};
  TermTable many(large);
  for (int n = 0; n < 100'000; ++n) ASSERT_EQ(many.element(0, n), static_cast<TermId>(n + 2));
  for (int n = 0; n < 100'000; n += 7) ASSERT_EQ(many.element(0, n), static_cast<TermId>(n + 2));
  EXPECT_EQ(many.size(), 100'002U);  // 0 and 1
}

}  // namespace
}  // namespace cyclotron::proof
