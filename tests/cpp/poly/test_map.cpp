#include <gtest/gtest.h>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::poly {
namespace {

class Maps : public ::testing::Test {
 protected:
  Set set_of(const std::string& constraints) const { return *Set::parse(context, {"i", "j"}, constraints); }

  Context context;
  Affine i = variable(2, 0), j = variable(2, 1);
  Set box = set_of("0 <= i < 4 and 0 <= j < 4");
};

TEST_F(Maps, FunctionsAndInverses) {
  const auto swap = Map::function(box, {j, i});
  EXPECT_TRUE(swap.is_injective());
  EXPECT_TRUE(swap.is_single_valued());
  EXPECT_EQ(swap.reverse(), swap);
  EXPECT_EQ(swap.then(swap), Map::function(box, {i, j}));
  EXPECT_EQ(swap.apply(set_of("i = 1 and 0 <= j < 2")), set_of("j = 1 and 0 <= i < 2"));
  const auto row = Map::function(box, {i});
  EXPECT_FALSE(row.is_injective());
  EXPECT_FALSE(row.reverse().is_single_valued());
  EXPECT_EQ(row.range().maximum(0), 3);
  EXPECT_TRUE(Map::function(set_of("false"), {i}).is_empty());
}

TEST_F(Maps, Restrictions) {
  const auto map = Map::function(box, {i + j, j});
  EXPECT_EQ(map.restrict_domain(set_of("i = 0")).range(), set_of("i = j and 0 <= j < 4"));
  EXPECT_EQ(map.restrict_range(set_of("i = 0")).domain(), set_of("i = 0 and j = 0"));
  EXPECT_EQ(map.subtract(map.restrict_domain(set_of("i = 0"))).domain(), set_of("1 <= i < 4 and 0 <= j < 4"));
  EXPECT_EQ(map.restrict_domain(set_of("i = 0")).unite(map.restrict_domain(set_of("i > 0"))), map);
  const auto [from, to] = *map.restrict_domain(set_of("i = 2 and j = 3")).sample();
  EXPECT_EQ(from, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(to, (std::vector<std::int64_t>{5, 3}));
}

TEST_F(Maps, FirstAndLast) {
  const auto row = Map::function(box, {i});
  const auto line = row.then(row.reverse());  // to all points of the row
  EXPECT_EQ(line.lexmin(), Map::function(box, {i, constant(2, 0)}));
  EXPECT_EQ(line.lexmax(), Map::function(box, {i, constant(2, 3)}));
  const auto before = line.intersect(Map::before(context, 2));
  EXPECT_EQ(before.domain(), set_of("0 <= i < 4 and 0 <= j < 3"));
}

TEST_F(Maps, WrapAndUnwrap) {
  const auto map = Map::function(box, {i + j});
  EXPECT_EQ(map.wrap().dimensions(), 3U);
  EXPECT_EQ(Map::from_pairs(map.wrap(), 2), map);
}

TEST_F(Maps, Pieces) {
  const auto clamp = Map::function(set_of("0 <= i < 4 and j = i"), {j + constant(2, 1)})
                         .unite(Map::function(set_of("0 <= i < 4 and 0 <= j < i"), {2 * i - j}));
  const auto pieces = clamp.pieces();
  ASSERT_TRUE(pieces.has_value());
  auto rebuilt = Map::function(Set::empty(context, 2), {i});
  for (const auto& piece : *pieces) rebuilt = rebuilt.unite(Map::function(piece.domain, piece.forms));
  EXPECT_EQ(rebuilt, clamp);
  // i -> i / 2 has no integer coefficients.
  EXPECT_EQ(Map::function(box, {2 * i}).reverse().then(Map::function(box, {i})).pieces(), std::nullopt);
}

// isl takes half of one variable where it could take another.
TEST_F(Maps, PiecesByEqualitiesOfTheirPoints) {
  const auto form_where = [&](const std::string& points, const std::string& value) {
    const auto graph = Set::parse(context, {"i", "j", "y"}, points + " and " + value);
    const auto pieces = Map::from_pairs(*graph, 2).pieces();
    return pieces && pieces->size() == 1 ? std::optional(pieces->front().forms.front()) : std::nullopt;
  };
  const std::string points = "0 <= i <= 9 and 2j = i";
  EXPECT_EQ(form_where(points, "2y = i + 2"), (Affine{{0, 1}, 1}));
  EXPECT_EQ(form_where(points, "4y = i + 2j"), (Affine{{0, 1}, 0}));
  EXPECT_EQ(form_where("0 <= i <= 9 and 4j = i - 2", "4y = 2 - i"), (Affine{{0, -1}, 0}));
  EXPECT_EQ(form_where("0 <= i <= 9 and 2i + 3j = 12", "y = i + j"), (Affine{{1, 1}, 0}));
  EXPECT_EQ(form_where("0 <= i <= 9 and 0 <= j <= 9", "2y = i"), std::nullopt);
  EXPECT_EQ(form_where("0 <= i <= 9 and 2j = i + 1", "2y = i"), std::nullopt);
  EXPECT_EQ(form_where("0 <= i <= 9 and 4j = i", "2y = i and y >= 0"), (Affine{{0, 2}, 0}));
}

}  // namespace
}  // namespace cyclotron::poly
