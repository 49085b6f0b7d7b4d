// isl stops with an error where an analysis takes too long.
#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "golden.hpp"

namespace cyclotron::poly {
namespace {

TEST(Context, StopsBeyondItsOperations) {
  const Context context(200);
  try {
    auto set = Set::universe(context, 3);
    for (std::int64_t n = 1; n < 20; ++n) {
      Affine form = variable(3, 0) + n * variable(3, 1) - variable(3, 2);
      form.constant = n;
      set = set.subtract(Set::where(context, 3, {{form, false}, {-1 * form, true}}));
    }
    (void)set.lexmin_point();
    FAIL();
  } catch (const LegalityError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC299");
    cyclotron::testing::expect_golden_refusal("analysis-that-takes-too-long", error.diagnostic());
  }
}

/// What takes every way in which isl reports to us.
void analyse(const Context& context) {
  const auto i = variable(2, 0), j = variable(2, 1);
  const auto lines = Set::parse(context, {"i", "j"}, "0 <= i < 6 and 0 <= 3 * j <= 2 * i + 1");
  ASSERT_TRUE(lines.has_value());
  auto points = lines->intersect(Set::where(context, 2, Conjunction{{}, {{i + j, 2}}}));
  points = points.unite(lines->translate({1, 2})).subtract(lines->image({j, i})).coalesce();
  EXPECT_FALSE(points.constraints_text({"i", "j"}).empty());
  EXPECT_FALSE(points.points().empty());
  EXPECT_TRUE(points.conjunctions().has_value() || !points.is_empty());
  const auto pairs = Map::function(points, {i}).reverse().lexmin();
  EXPECT_TRUE(pairs.is_injective());
  EXPECT_FALSE(pairs.conjunctions().empty());
  EXPECT_TRUE(pairs.pieces().has_value() || pairs.sample().has_value());
  EXPECT_LE(points.minimum(0).value(), points.maximum(0).value());
}

TEST(Context, StopsWithAnErrorOfTheUsersWhereverItsOperationsEnd) {
#if defined(__SANITIZE_ADDRESS__)
  const __lsan::ScopedDisabler of_isl;  // which leaks some of what it works on where it is stopped
#endif
  int stopped = 0;
  for (unsigned long limit = 1;; limit += 1 + limit / 64) {
    try {
      analyse(Context(limit));
      break;
    } catch (const LegalityError& error) {
      EXPECT_EQ(error.diagnostic().code, "CYC299") << limit;
      ++stopped;
    } catch (const InternalError& error) {
      FAIL() << "after " << limit << " operations: " << error.what();
    }
  }
  EXPECT_GT(stopped, 100);
}

}  // namespace
}  // namespace cyclotron::poly
