#include <gtest/gtest.h>

#include <cyclotron/poly/inverse.hpp>

namespace cyclotron::poly {
namespace {

/// result[v](forms(x)) = x[v], checked on the coefficients.
void expect_inverse(const std::vector<Affine>& forms, std::size_t variables) {
  const auto inverse = left_inverse(forms, variables);
  ASSERT_TRUE(inverse.has_value());
  for (std::size_t v = 0; v < variables; ++v)
    EXPECT_EQ(substitute((*inverse)[v], forms, variables), variable(variables, v));
}

TEST(LeftInverse, Unimodular) {
  expect_inverse({{{1, 0, -1}, 0}, {{0, 1, -1}, 0}, {{0, 0, 1}, 0}}, 3);
  expect_inverse({{{-1, 0}, 4}, {{3, 1}, -2}}, 2);
  expect_inverse({{{2, 3}, 1}, {{1, 2}, 0}}, 2);
}

TEST(LeftInverse, MoreFormsThanVariables) {
  // i+j and i-j alone reach every other point; j fills the gaps.
  expect_inverse({{{1, 1}, 0}, {{1, -1}, 0}, {{0, 1}, 0}}, 2);
  expect_inverse({{{2, 0}, 0}, {{3, 0}, 5}, {{0, 1}, 0}}, 2);
}

TEST(LeftInverse, None) {
  EXPECT_FALSE(left_inverse({{{1, 1}, 0}, {{1, -1}, 0}}, 2).has_value());
  EXPECT_FALSE(left_inverse({{{1, 1}, 0}, {{2, 2}, 3}}, 2).has_value());
  EXPECT_FALSE(left_inverse({}, 1).has_value());
  EXPECT_TRUE(left_inverse({}, 0).has_value());
}

TEST(Rank, CountsIndependentForms) {
  EXPECT_EQ(rank({}), 0U);
  EXPECT_EQ(rank({{{1, 1}, 0}, {{2, 2}, 7}}), 1U);
  EXPECT_EQ(rank({{{0, 0, 1}, 0}, {{0, 2, 0}, 0}, {{1, 2, 3}, 0}}), 3U);
}

}  // namespace
}  // namespace cyclotron::poly
