#include <gtest/gtest.h>

#include <cyclotron/poly/affine.hpp>

namespace cyclotron::poly {
namespace {

TEST(Affine, Arithmetic) {
  const auto i = variable(2, 0), j = variable(2, 1);
  const auto form = 2 * i - j + constant(2, 5);
  EXPECT_EQ(form, (Affine{{2, -1}, 5}));
  EXPECT_EQ(evaluate(form, {3, 4}), 7);
  EXPECT_FALSE(is_constant(form));
  EXPECT_TRUE(is_constant(form - 2 * i + j));
  EXPECT_EQ(substitute(form, {j, i + constant(2, 1)}, 2), (Affine{{-1, 2}, 4}));
  EXPECT_EQ(substitute(form, {constant(1, 1), variable(1, 0)}, 1), (Affine{{-1}, 7}));
}

TEST(Affine, Text) {
  const auto i = variable(2, 0), j = variable(2, 1);
  EXPECT_EQ(to_string(constant(2, 0), {"i", "j"}), "0");
  EXPECT_EQ(to_string(constant(2, -3), {"i", "j"}), "-3");
  EXPECT_EQ(to_string(i - j, {"i", "j"}), "i-j");
  EXPECT_EQ(to_string(-1 * i + 2 * j - constant(2, 1), {"i", "j"}), "-i+2j-1");
}

}  // namespace
}  // namespace cyclotron::poly
