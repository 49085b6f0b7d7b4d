// isl stops with an error where an analysis takes too long.
#include <cyclotron/poly/loops.hpp>
#include <cyclotron/poly/schedule_tree.hpp>
#include <cyclotron/poly/effort.hpp>
#include <cyclotron/poly/set.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/interrupt.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

#include "golden.hpp"

namespace cyclotron::poly {
namespace {

TEST(Context, EndsWithTheWorkThatIsCalledOff) {
  const Context of_nobody;
  Interrupt interrupt;
  const Interrupt::Scope scope(interrupt);
  const Context before;
  const auto work = [](const Context& context) {
    const Set line = Set::where(context, 2, {{variable(2, 0) - variable(2, 1), false}});
    return line.subtract(line.translate({1, 0})).sample();
  };
  (void)work(before);
  interrupt.raise();
  const Context after;
  for (const auto* context : {&before, &after}) {
    EXPECT_THROW((void)work(*context), Interrupted);
    EXPECT_THROW((void)Set::parse(*context, {"i"}, "0 <= i < 4 and i mod 2 = 0"), Interrupted);
  }
  EXPECT_NO_THROW((void)work(of_nobody));
}

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

TEST(Context, OperationsOfAnAnalysisCountTogether) {
  const auto work = [] {
    const Context context;  // as each part of the compiler makes its own
    return Set::parse(context, {"i", "j"}, "0 <= i < 6 and 0 <= 3 * j <= 2 * i + 1").value().sample();
  };
  const auto times = [&](std::size_t most) {
    for (std::size_t n = 0; n < most; ++n) (void)work();
    return most;
  };
  EXPECT_EQ(times(500), 500U);  // each by itself
  const Analysis outer("stencil", 2000);
  try {
    const Analysis inner("other", 40'000'000);  // within the first, whose limit it keeps to
    (void)times(500);
    FAIL();
  } catch (const LegalityError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC299");
    EXPECT_EQ(error.diagnostic().message,
              "the exact integer analysis of `stencil` takes more than 2000 steps");
  }
}

TEST(Context, WhatWasAnalysedCanBeLookedAtForAsLongAsOneLikes) {
  auto points = std::optional<Set>();
  {
    const Analysis analysis("stencil", 3000);
    points = Set::parse(Context(), {"i", "j"}, "0 <= i < 6 and 0 <= 3 * j <= 2 * i + 1");
  }
  EXPECT_TRUE(points.value().sample().has_value());
}

TEST(Set, SatisfiesWhatHoldsAtEveryPoint) {
  const Context context;
  const auto i = variable(2, 0), j = variable(2, 1);
  const auto line = Set::parse(context, {"i", "j"}, "i = 3 and 0 <= j < 5").value();
  EXPECT_TRUE(line.satisfies({i - constant(2, 3), true}));
  EXPECT_TRUE(line.satisfies({j, false}));
  EXPECT_FALSE(line.satisfies({j - constant(2, 1), false}));
  EXPECT_FALSE(line.satisfies({i - j, true}));
  const auto halves = Set::parse(context, {"i", "j"}, "0 <= i < 9 and 2j <= i <= 2j + 1").value();
  EXPECT_TRUE(halves.satisfies({i - j, false}));
  EXPECT_TRUE(halves.satisfies({i + j - 2 * j, false}));
  EXPECT_FALSE(halves.satisfies({i - 2 * j, true}));
  EXPECT_TRUE(Set::empty(context, 2).satisfies({constant(2, 1), true}));
}

TEST(Context, TakesLessEffortWhileItIsLimited) {
  const auto analyse = [] {
    const Context context;
    auto set = Set::universe(context, 3);
    for (std::int64_t n = 1; n < 20; ++n) {
      Affine form = variable(3, 0) + n * variable(3, 1) - variable(3, 2);
      form.constant = n;
      set = set.subtract(Set::where(context, 3, {{form, false}}));
    }
    return set.is_empty();
  };
  {
    const EffortLimit limit(200);
    const EffortLimit wider(1'000'000);  // within the other
    EXPECT_THROW((void)analyse(), LegalityError);
  }
  EXPECT_FALSE(analyse());
}

TEST(Context, OperationsWithinABudgetCountTogether) {
  const auto work = [] {
    const Context context;
    return Set::parse(context, {"i", "j"}, "0 <= i < 6 and 0 <= 3 * j <= 2 * i + 1").value();
  };
  const auto times = [&](std::size_t most) {
    for (std::size_t n = 0; n < most; ++n) (void)work().sample();
    return most;
  };
  const Analysis analysis("stencil", 40'000'000);
  auto points = std::optional<Set>();
  {
    const EffortLimit each(1'000'000);  // of each by itself, which is not what counts here
    const EffortBudget budget(2000);
    points = work();
    EXPECT_THROW((void)times(500), LegalityError);
  }
  EXPECT_EQ(times(500), 500U);
  EXPECT_TRUE(points.value().sample().has_value());  // what was made lives on
}

/// Takes every way in which isl reports to us.
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
  const auto halves = Set::parse(context, {"i", "j"}, "0 <= i < 6 and j = floor(i / 2) + floor(i / 3)");
  ASSERT_TRUE(halves.has_value());
  EXPECT_TRUE(halves->conjunctions().has_value());
  EXPECT_FALSE(halves->sample().value().empty());
}

/// The same for loop nests.
void generate(const Context& context) {
  const auto triangle = Set::parse(context, {"p", "i", "j"},
                                   "0 <= p < 4 and 0 <= i < 2 * p and 0 <= 2 * j <= 3 * i and i <= 7 - j");
  const auto sparse = Set::parse(context, {"p", "i", "j"},
                                 "0 <= p < 4 and 0 <= i < 9 and 0 <= j <= i / 2 and (i + p) mod 3 = 0");
  ASSERT_TRUE(triangle && sparse);
  const auto region = Set::parse(context, {"p"}, "0 <= p < 4");
  ASSERT_TRUE(region.has_value());
  EXPECT_FALSE(generate_loops({{*region, {*triangle, *sparse}}}, 2).front().children.empty());
  const auto tree =
      schedule_tree(context, {"{ S[i] : 0 <= i < 4; T[i] : 0 <= i < 4 }"}, {"{ S[i] -> T[j] : i <= j }"}, {});
  EXPECT_FALSE(tree.tree.empty());
  EXPECT_FALSE(tree.code.empty());
}

/// Runs with ever more operations until they are enough; how often they were not.
int times_stopped(void (*work)(const Context&)) {
#if defined(__SANITIZE_ADDRESS__)
  // Stopped, isl loses tokens of its parser and what isl_map_compute_divs works on; of ours nothing.
  const __lsan::ScopedDisabler of_isl;
#endif
  int stopped = 0;
  for (unsigned long limit = 1;; limit += 1 + limit / 64) {
    try {
      work(Context(limit));
      return stopped;
    } catch (const LegalityError& error) {
      EXPECT_EQ(error.diagnostic().code, "CYC299") << limit;
      ++stopped;
    } catch (const InternalError& error) {
      ADD_FAILURE() << "after " << limit << " operations: " << error.what();
      return stopped;
    }
  }
}

TEST(Context, StopsWithAnErrorOfTheUsersWhereverItsOperationsEnd) {
  EXPECT_GT(times_stopped(analyse), 100);
  EXPECT_GT(times_stopped(generate), 100);
}

TEST(Context, NumbersBeyond64BitsAreRefused) {
  const Context context;
  const auto large = Set::parse(context, {"i", "j"}, "0 <= i < 9 and 10000000000000000000 * j <= 3 * i + 7");
  ASSERT_TRUE(large.has_value());
  for (const auto& take : std::vector<std::function<void()>>{
           [&] { (void)large->conjunctions(); },
           [&] { (void)large->constraints_text({"i", "j"}); },
           [&] { (void)Set::parse(context, {"i"}, "i = 10000000000000000000")->sample(); },
           [&] { (void)Set::parse(context, {"i"}, "i = 10000000000000000000")->points(); },
           [&] { (void)Set::parse(context, {"i"}, "i <= 10000000000000000000")->maximum(0); },
           [&] {
             (void)Map::from_pairs(*Set::parse(context, {"i", "j"}, "j = 10000000000000000000"), 1).pieces();
           },
       }) {
    try {
      take();
      ADD_FAILURE();
    } catch (const LegalityError& error) {
      cyclotron::testing::expect_golden_refusal("analysis-of-large-numbers", error.diagnostic());
    }
  }
}

}  // namespace
}  // namespace cyclotron::poly
