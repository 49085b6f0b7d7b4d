#include <gtest/gtest.h>

#include <random>
#include <set>

#include <fmt/format.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::poly {
namespace {

using Point = std::vector<std::int64_t>;

Set set_of(const Context& context, const std::string& constraints) {
  auto set = Set::parse(context, {"i", "j"}, constraints);
  EXPECT_TRUE(set.has_value()) << constraints;
  return set.value_or(Set::empty(context, 2));
}

/// Membership, by intersecting with the one point.
bool has(const Set& set, const Point& point) {
  std::vector<Constraint> all;
  for (std::size_t v = 0; v < point.size(); ++v)
    all.push_back({variable(point.size(), v) - constant(point.size(), point[v]), true});
  return !set.intersect(Set::where(set.context(), point.size(), all)).is_empty();
}

std::set<Point> members(const Set& set, std::int64_t bound = 7) {
  std::set<Point> result;
  for (std::int64_t i = -bound; i <= bound; ++i) {
    for (std::int64_t j = -bound; j <= bound; ++j) {
      if (has(set, {i, j})) result.insert({i, j});
    }
  }
  return result;
}

TEST(Set, PointsAreAllAndInOrder) {
  const Context context;
  const auto set = set_of(context, "0 <= j < i and i < 4 or i = -2 and j = 5");
  const auto all = members(set);
  EXPECT_EQ(set.points(), std::vector<Point>(all.begin(), all.end()));
  EXPECT_TRUE(Set::empty(context, 2).points().empty());
}

TEST(Set, Algebra) {
  const Context context;
  const auto box = set_of(context, "0 <= i < 4 and 0 <= j < 4"),
             triangle = set_of(context, "0 <= j < i and i < 6");
  EXPECT_EQ(members(box).size(), 16U);
  std::set<Point> both, either, only;
  for (const auto& p : members(box)) (members(triangle).contains(p) ? both : only).insert(p);
  either = members(box);
  either.merge(members(triangle));
  EXPECT_EQ(members(box.intersect(triangle)), both);
  EXPECT_EQ(members(box.subtract(triangle)), only);
  EXPECT_EQ(members(box.unite(triangle)), either);
  EXPECT_TRUE(box.intersect(triangle).is_subset(triangle));
  EXPECT_FALSE(box.is_subset(triangle));
  EXPECT_EQ(box.unite(triangle).coalesce(), triangle.unite(box));
  EXPECT_EQ(box.unite(triangle).detect_equalities(), triangle.unite(box));
  EXPECT_EQ(triangle.gist(box).intersect(box), triangle.intersect(box));
  EXPECT_TRUE(box.subtract(box).is_empty());
  EXPECT_EQ(Set::universe(context, 2).intersect(box), box);
  EXPECT_TRUE(Set::empty(context, 2).is_empty());
}

TEST(Set, ImagesAndPreimages) {
  const Context context;
  const auto triangle = set_of(context, "0 <= j < i and i < 6");
  const auto i = variable(2, 0), j = variable(2, 1);
  EXPECT_EQ(triangle.translate({1, -1}), set_of(context, "0 <= j + 1 and j + 1 < i - 1 and i < 7"));
  EXPECT_EQ(triangle.image({j, i}), set_of(context, "0 <= i < j and j < 6"));
  EXPECT_EQ(triangle.preimage({i + j, j}, 2), set_of(context, "0 <= j and i > 0 and i + j < 6"));
  EXPECT_EQ(triangle.project({1}).maximum(0), 4);
  EXPECT_EQ(triangle.project({1, 0}), triangle.image({j, i}));
  EXPECT_EQ(triangle.image({2 * i, j}).image({j, i}).project({1}).minimum(0), 2);
}

TEST(Set, Extremes) {
  const Context context;
  const auto triangle = set_of(context, "0 <= j < i and i < 6");
  EXPECT_EQ(triangle.lexmin_point(), (Point{1, 0}));
  EXPECT_EQ(triangle.minimum(0), 1);
  EXPECT_EQ(triangle.maximum(1), 4);
  EXPECT_EQ(set_of(context, "i >= 3").maximum(0), std::nullopt);
  EXPECT_EQ(set_of(context, "i > 3 and i < 3").minimum(0), std::nullopt);
  EXPECT_EQ(set_of(context, "false").sample(), std::nullopt);
  EXPECT_TRUE(has(triangle, *triangle.sample()));
}

TEST(Set, Equalities) {
  const Context context;
  const auto line = set_of(context, "i = 2j + 1 and 0 <= j < 4");
  EXPECT_EQ(line.equality_for(0), (Affine{{0, 2}, 1}));
  EXPECT_EQ(line.equality_for(1), std::nullopt);  // not with coefficient 1
  EXPECT_EQ(set_of(context, "j = 3 - i").equality_for(1), (Affine{{-1, 0}, 3}));
}

TEST(Set, MalformedTextIsNoSet) {
  const Context context;
  for (const char* text : {"i <", "q = 0", "((", "i = 0 and", "\xFF"})
    EXPECT_EQ(Set::parse(context, {"i", "j"}, text), std::nullopt) << text;
  EXPECT_TRUE(Set::parse(context, {"i", "j"}, "i = 0").has_value()) << "an error leaves the context usable";
}

TEST(Set, TextOfConstraints) {
  const Context context;
  const auto text = [&](const std::string& constraints) {
    return set_of(context, constraints).constraints_text({"i", "j"});
  };
  EXPECT_EQ(text("0 <= i < 4 and j = 2"), "0 <= i <= 3 and j = 2");
  EXPECT_EQ(text("j < i and i > 2"), "i >= 3 and j < i");
  EXPECT_EQ(text("j = i + 1"), "j = i+1");
  EXPECT_EQ(text("true"), "true");
  EXPECT_EQ(text("i < 0 and i > 0"), "false");
  EXPECT_EQ(text("(i + j) mod 3 = 1"), "(i+j) mod 3 = 1");
}

TEST(Set, TextReadsBack) {
  const Context context;
  std::mt19937 random(3);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  const auto comparison = [&] {
    static constexpr const char* relations[] = {"<=", "<", "=", ">=", ">"};
    const auto form = fmt::format("{}i + {}j + {}", number(-2, 2), number(-2, 2), number(-4, 4));
    const int kind = number(0, 9);
    if (kind == 0) return fmt::format("({}) mod {} = {}", form, number(2, 4), number(0, 1));
    if (kind == 1) return fmt::format("({}) mod {} <= {}", form, number(3, 5), 1);
    return fmt::format("{} {} 0", form, relations[number(0, 4)]);
  };
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int piece = number(1, 3); piece > 0; --piece) {
      if (!text.empty()) text += " or ";
      text += "(-5 <= i <= 5 and -5 <= j <= 5";
      for (int c = number(1, 3); c > 0; --c) text += " and " + comparison();
      text += ")";
    }
    const auto set = set_of(context, text);
    const auto again = Set::parse(context, {"i", "j"}, set.constraints_text({"i", "j"}));
    ASSERT_TRUE(again.has_value()) << text << " became " << set.constraints_text({"i", "j"});
    EXPECT_EQ(*again, set) << text << " became " << set.constraints_text({"i", "j"});
  }
}

TEST(Set, ProductsNameOneGroupInEachConstraint) {
  const Context context;
  const auto is_product_of = [&](const std::string& text, const std::vector<std::size_t>& groups) {
    const auto parts = Set::parse(context, {"i", "j", "k"}, text)->conjunctions();
    return parts && parts->size() == 1 && is_product(parts->front(), groups);
  };
  const std::string box = "0 <= i < 4 and i mod 2 = 0 and 0 <= j < 3 and k = 1";
  EXPECT_TRUE(is_product_of(box, {0, 1, 2}));
  EXPECT_FALSE(is_product_of(box + " and i <= j", {0, 1, 2}));
  EXPECT_TRUE(is_product_of(box + " and i <= j", {0, 0, 1}));
  EXPECT_FALSE(is_product_of("0 <= i < 4 and 0 <= j < 4 and (i + j) mod 3 = 0 and k = 1", {0, 1, 2}));
}

TEST(Set, BoxesHaveTheBoundsAndStepsOfTheirPoints) {
  const Context context;
  const auto box = [&](const std::string& text) {
    return Set::parse(context, {"i", "j"}, text)->box().constraints_text({"i", "j"});
  };
  EXPECT_EQ(box("0 <= i <= 3 and i <= j <= 3"), "0 <= i <= 3 and 0 <= j <= 3");
  EXPECT_EQ(box("(i = 4 or i = 16 or i = 28) and j = 1"), "4 <= i <= 28 and j = 1 and i mod 12 = 4");
  EXPECT_EQ(box("((3 <= i <= 30 and i mod 8 = 3) or i = 9) and j = 0"),
            "3 <= i <= 27 and j = 0 and i mod 2 = 1");
  EXPECT_EQ(box("i = -3 and 2 <= j"), "i = -3");
}

TEST(Set, MultiplesOfAForm) {
  const Context context;
  const auto form = variable(2, 0) + 2 * variable(2, 1) + constant(2, -1);
  const auto points = Set::where(context, 2, Conjunction{{}, {{form, 3}}});
  EXPECT_EQ(points, *Set::parse(context, {"i", "j"}, "(i + 2j - 1) mod 3 = 0"));
}

TEST(Set, ConjunctionsCoverTheSet) {
  const Context context;
  for (const char* text :
       {"0 <= i < 4 and 0 <= j <= i", "(i = 1 and j > 1 and j < 4) or (0 <= i < 3 and j = 0)",
        "0 <= i < 7 and i mod 2 = 1 and j = 3 - i", "i = 0 and 2j >= 1 and 3j <= 7",
        "-5 <= i < 7 and i mod 3 <= 1 and 0 <= j < 3",
        "0 <= i < 7 and -4 <= j < 6 and (i - 2j) mod 4 >= i mod 3"}) {
    const auto set = set_of(context, text);
    const auto pieces = set.conjunctions();
    ASSERT_TRUE(pieces.has_value()) << text;
    std::set<Point> points;
    for (std::int64_t i = -7; i <= 7; ++i) {
      for (std::int64_t j = -7; j <= 7; ++j) {
        for (const auto& piece : *pieces) {
          bool inside = true;
          for (const auto& [form, equality] : piece.constraints)
            inside &= equality ? evaluate(form, {i, j}) == 0 : evaluate(form, {i, j}) >= 0;
          for (const auto& [form, modulus] : piece.divisible) inside &= evaluate(form, {i, j}) % modulus == 0;
          if (inside) points.insert({i, j});
        }
      }
    }
    EXPECT_EQ(points, members(set)) << text;
  }
  // A conjunction for each of 100 remainders would be too much.
  EXPECT_EQ(set_of(context, "i mod 100 <= 50").conjunctions(), std::nullopt);
}

}  // namespace
}  // namespace cyclotron::poly
