// Numbers that operators read as tiles.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/fill_tiles.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>

#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::fill_tiles;

/// X is 0 above the diagonal and A below it, and C a product with the tiles of X in `places`.
System product_with_zeros(const std::string& places) {
  SystemBuilder b("zeros");
  b.input("A", {6, 6}, 2).output("C", {6, 6}, 2).local("X", {6, 6}, 2).names({"i", "j", "k"});
  b.equation("X", {"i", "j"}, 2, "0 <= i < j < 3", b.number(0));
  b.equation("X", {"i", "j"}, 2, "0 <= j <= i < 3", b.at("A", {"i", "j"}));
  const auto terms = b.apply(Op::matmul, {b.at("X", {"i", "k"}), b.at("A", {"k", "j"})});
  return b.equation("C", {"i", "j"}, 2, "0 <= i < 3 and 0 <= j < 3", b.sum("k", places, terms)).build();
}

TEST(FillTiles, WhereAProductReadsNumbers) {
  const auto filled = fill_tiles(product_with_zeros("0 <= k < 3"));
  recurrence::verify(filled.system);
  EXPECT_EQ(filled.masks,
            (std::map<std::string, std::vector<std::int64_t>>{{"mask_all_6x6_by_2x2", {6, 6}}}));
  const auto text = to_string(filled.system);
  EXPECT_NE(text.find("X[i, j] = where(mask_all_6x6_by_2x2[i, j], 0, 0)"), std::string::npos) << text;
  EXPECT_NE(text.find("X[i, j] = A[i, j]"), std::string::npos) << text;
  EXPECT_EQ(fill_tiles(filled.system).system, filled.system);
}

TEST(FillTiles, NotWhereNoneReadsThem) {
  for (const auto& system : {product_with_zeros("0 <= k <= i"), matmul(6, 6, 6, 2), cholesky(6)})
    EXPECT_EQ(fill_tiles(system).system, system);
}

/// y[i] is 1, 2, 4, ... through a chain of numbers, and the last one is read by a sum of rows.
TEST(FillTiles, AtTheEndOfAChainOfNumbers) {
  SystemBuilder b("chain");
  b.output("c", {2, 2}, 2).local("y", {40, 2}, 2).names({"i"});
  b.equation("y", {"i", "0"}, 1, "i = 0", b.number(1));
  b.equation("y", {"i", "0"}, 1, "1 <= i < 20",
             b.apply(Op::multiply, {b.at("y", {"i-1", "0"}), b.number(2)}));
  b.names({}).equation("c", {"0", "0"}, 0, "", b.apply(Op::row_sum, {b.at("y", {"19", "0"})}));
  const auto system = b.build();
  const auto filled = fill_tiles(system);
  EXPECT_EQ(filled.masks.size(), 1U);
  EXPECT_EQ(filled.system.equations[0], system.equations[0]);
  EXPECT_FALSE(filled.system.equations[1] == system.equations[1]);
}

TEST(FillTiles, SumsOverNothingAreRefusedInsideOfAnOperator) {
  SystemBuilder b("squares");
  b.input("A", {6, 6}, 2).output("C", {6, 6}, 2).names({"i", "j", "k"});
  const auto terms = b.apply(Op::matmul, {b.at("A", {"i", "k"}), b.at("A", {"k", "j"})});
  const auto squares = b.apply(Op::matmul, {b.sum("k", "0 <= k < i", terms), b.at("A", {"i", "j"})});
  const auto system = b.equation("C", {"i", "j"}, 2, "0 <= i < 3 and 0 <= j < 3", squares).build();
  recurrence::verify(system);
  try {
    (void)fill_tiles(system);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC206");
    EXPECT_NE(error.diagnostic().message.find("over nothing at i = 0, j = 0"), std::string::npos);
  }
}

}  // namespace
}  // namespace cyclotron::testing
