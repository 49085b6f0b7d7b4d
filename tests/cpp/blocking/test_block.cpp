// Classes of tiles as exact sets, with the operators that compute them, for aligned and ragged ends.
#include <map>

#include <gtest/gtest.h>

#include <cyclotron/blocking/block.hpp>
#include <cyclotron/recurrence/verify.hpp>
#include <cyclotron/support/error.hpp>

#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using blocking::block;
using blocking::Blocking;
using blocking::TileSizes;
using Operators = std::vector<std::string>;

struct Expected {
  std::string tensor;
  std::vector<std::string> names;  ///< Of its coordinates, in `tiles`.
  std::string tiles;
  Operators operators;
};

Blocking in_tiles(const System& system, std::int64_t tile) { return block(system, TileSizes{tile, {}}); }

/// The classes are these in any order, each for exactly these tiles; what is printed is what isl reads back.
void expect_classes(const Blocking& blocking, const std::vector<Expected>& expected) {
  const poly::Context context;
  EXPECT_TRUE(blocking.complete);
  ASSERT_EQ(blocking.classes.size(), expected.size());
  std::vector<bool> used(expected.size());
  for (const auto& found : blocking.classes) {
    const auto tiles = poly::Set::parse(context, found.names, found.tiles);
    ASSERT_TRUE(tiles.has_value()) << found.tiles;
    bool known = false;
    for (std::size_t e = 0; e < expected.size() && !known; ++e) {
      const auto& wanted = expected[e];
      const auto set = poly::Set::parse(context, wanted.names, wanted.tiles);
      ASSERT_TRUE(set.has_value()) << wanted.tiles;
      if (used[e] || found.tensor != wanted.tensor || found.operators != wanted.operators) continue;
      known = used[e] = *tiles == *set;
    }
    EXPECT_TRUE(known) << found.tensor << " where " << found.tiles;
  }
}

std::string up_to(const std::string& index, std::int64_t n, std::int64_t tile) {
  return "0 <= " + index + " <= " + std::to_string((n + tile - 1) / tile - 1);
}

/// C = L B, of which L's places above the diagonal are not read.
System trmm(std::int64_t n, std::int64_t columns) {
  SystemBuilder b("trmm");
  b.input("L", {n, n}).input("B", {n, columns}).output("C", {n, columns}).names({"i", "j", "k"});
  const auto product = b.apply(Op::multiply, {b.at("L", {"i", "k"}), b.at("B", {"k", "j"})});
  return b
      .equation("C", {"i", "j"}, 2, range("i", n) + " and " + range("j", columns),
                b.sum("k", "0 <= k <= i", product))
      .build();
}

/// F holds both factors of A, that of ones without them.
System lu(std::int64_t n) {
  SystemBuilder b("lu");
  b.input("A", {n, n}).output("F", {n, n}).names({"i", "j", "k"});
  const auto square = range("i", n) + " and " + range("j", n);
  const auto rest = [&](const std::string& until) {
    const auto product = b.apply(Op::multiply, {b.at("F", {"i", "k"}), b.at("F", {"k", "j"})});
    return b.apply(Op::subtract, {b.at("A", {"i", "j"}), b.sum("k", "0 <= k < " + until, product)});
  };
  b.equation("F", {"i", "j"}, 2, square + " and i <= j", rest("i"));
  return b
      .equation("F", {"i", "j"}, 2, square + " and j < i",
                b.apply(Op::divide, {rest("j"), b.at("F", {"j", "j"})}))
      .build();
}

class Ends : public ::testing::TestWithParam<std::int64_t> {};  // of axes in tiles of 4

TEST_P(Ends, OfAProduct) {
  const auto n = GetParam();
  expect_classes(in_tiles(matmul(n, n + 1, n + 2), 4),
                 {{"C", {"i", "j"}, up_to("i", n, 4) + " and " + up_to("j", n + 1, 4), {"gemm"}}});
}

TEST_P(Ends, OfATriangularProduct) {
  const auto n = GetParam();
  expect_classes(in_tiles(trmm(n, 6), 4),
                 {{"C", {"i", "j"}, up_to("i", n, 4) + " and " + up_to("j", 6, 4), {"gemm"}}});
}

TEST_P(Ends, OfSolvesFromBothSides) {
  const auto n = GetParam();
  expect_classes(in_tiles(trsm(n, 6), 4),
                 {{"X", {"i", "r"}, up_to("i", n, 4) + " and " + up_to("r", 6, 4), {"gemm", "trsm"}}});
  expect_classes(in_tiles(trsm_right(n, 6), 4),
                 {{"X", {"r", "i"}, up_to("i", n, 4) + " and " + up_to("r", 6, 4), {"gemm", "trsm"}}});
  expect_classes(in_tiles(trsv(n), 4), {{"X", {"i"}, up_to("i", n, 4), {"gemm", "trsm"}}});
}

TEST_P(Ends, OfCholesky) {
  const auto n = GetParam();
  const auto square = up_to("i", n, 4) + " and " + up_to("j", n, 4);
  expect_classes(in_tiles(cholesky(n), 4), {{"L", {"i", "j"}, square + " and i = j", {"syrk", "potrf"}},
                                            {"L", {"i", "j"}, square + " and i > j", {"gemm", "trsm"}},
                                            {"L", {"i", "j"}, square + " and i < j", {}}});
}

TEST_P(Ends, OfLu) {
  const auto n = GetParam();
  const auto square = up_to("i", n, 4) + " and " + up_to("j", n, 4);
  expect_classes(in_tiles(lu(n), 4), {{"F", {"i", "j"}, square + " and i = j", {"gemm", "getrf"}},
                                      {"F", {"i", "j"}, square + " and i > j", {"gemm", "trsm"}},
                                      {"F", {"i", "j"}, square + " and i < j", {"gemm", "trsm"}}});
}

INSTANTIATE_TEST_SUITE_P(AlignedAndRagged, Ends, ::testing::Values(12, 13, 14, 15, 16, 1000, 1003));

TEST(Block, SystemsOverTilesAreProven) {
  for (const auto& system : {matmul(7, 5, 9), trmm(7, 5), trsm(7, 5), trsm_right(7, 5), cholesky(7), lu(7)}) {
    for (const std::int64_t tile : {1, 2, 3, 5}) EXPECT_NO_THROW(verify(in_tiles(system, tile).system));
  }
}

TEST(Block, LengthsByIndex) {
  const auto blocking = block(matmul(20, 20, 20), TileSizes{8, {{"k", 5}}});
  std::map<std::string, std::int64_t> tiles;
  for (const auto& item : blocking.indices) {
    for (const auto& index : item.indices) tiles[index] = item.tile;
  }
  EXPECT_EQ(tiles, (std::map<std::string, std::int64_t>{{"i", 8}, {"j", 8}, {"k", 5}}));
  EXPECT_THROW((void)block(matmul(4, 4, 4), TileSizes{2, {{"z", 2}}}), ShapeError);
}

TEST(Block, OtherEquationsAreRefusedOrMatchNothing) {
  EXPECT_THROW((void)in_tiles(stencil(6, 9), 3), LegalityError);
  // With the diagonal among the places of the sum it is no solve.
  SystemBuilder b("twice");
  b.input("L", {8, 8}).input("B", {8, 4}).output("X", {8, 4}).names({"i", "r", "j"});
  const auto product = b.apply(Op::multiply, {b.at("L", {"i", "j"}), b.at("X", {"j", "r"})});
  const auto rest = b.apply(Op::add, {b.at("B", {"i", "r"}), b.sum("j", "0 <= j < i", product)});
  const auto plus = b.equation("X", {"i", "r"}, 2, "0 <= i < 8 and 0 <= r < 4",
                               b.apply(Op::divide, {rest, b.at("L", {"i", "i"})}))
                        .build();
  EXPECT_FALSE(in_tiles(plus, 4).complete);
}

}  // namespace
}  // namespace cyclotron::testing
