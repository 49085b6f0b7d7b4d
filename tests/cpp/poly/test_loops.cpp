// Loop nests visit what brute force visits, in its order.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/poly/loops.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::poly {
namespace {

using Point = std::vector<std::int64_t>;
/// `S1(0, 4)`: a statement and its time.
using Visit = std::string;
Visit visit_of(std::size_t statement, const Point& time) {
  return fmt::format("S{}({})", statement, fmt::join(time, ", "));
}

std::int64_t divide_down(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && a < 0 ? 1 : 0); }

bool holds(const std::vector<Conjunction>& condition, const Point& at) {
  return std::ranges::any_of(condition, [&](const Conjunction& all) {
    return std::ranges::all_of(all.constraints,
                               [&](const Constraint& c) {
                                 return c.equality ? evaluate(c.form, at) == 0 : evaluate(c.form, at) >= 0;
                               }) &&
           std::ranges::all_of(all.divisible,
                               [&](const auto& c) { return evaluate(c.first, at) % c.second == 0; });
  });
}

/// `environment`: parameters, then loop variables, then zeros.
void run(const Node& node, Point& environment, std::size_t depth, std::vector<Visit>& visits) {
  switch (node.kind) {
    case Node::Kind::block:
      for (const auto& child : node.children) run(child, environment, depth, visits);
      return;
    case Node::Kind::guard:
      if (!holds(node.condition, environment)) return;
      for (const auto& child : node.children) run(child, environment, depth, visits);
      return;
    case Node::Kind::loop: {
      std::int64_t low = INT64_MIN, high = INT64_MAX;
      for (const auto& [form, divisor] : node.lower)
        low = std::max(low, -divide_down(-evaluate(form, environment), divisor));
      for (const auto& [form, divisor] : node.upper)
        high = std::min(high, divide_down(evaluate(form, environment), divisor));
      for (auto v = low; v <= high; v += node.step) {
        environment[depth] = v;
        for (const auto& child : node.children) run(child, environment, depth + 1, visits);
      }
      environment[depth] = 0;
      return;
    }
    case Node::Kind::visit: {
      Point time;
      for (const auto& form : node.time) time.push_back(evaluate(form, environment));
      visits.push_back(visit_of(node.statement, time));
      return;
    }
  }
}

using Domains = std::vector<std::string>;

/// Regions with their statements; the texts name the parameters p, q and the times s, t, u.
void expect_each_exact(const std::vector<std::pair<std::string, Domains>>& texts, std::size_t parameters,
                       std::size_t times) {
  const Context context;
  const std::vector<std::string> all_names{"p", "q", "s", "t", "u"};
  std::vector<std::string> names(all_names.begin(),
                                 all_names.begin() + static_cast<std::ptrdiff_t>(parameters));
  const std::vector<std::string> parameter_names = names;
  names.insert(names.end(), all_names.begin() + 2,
               all_names.begin() + 2 + static_cast<std::ptrdiff_t>(times));
  std::vector<Region> regions;
  for (const auto& [region, domains] : texts) {
    const auto known = Set::parse(context, parameter_names, region);
    ASSERT_TRUE(known.has_value()) << region;
    regions.push_back({*known, {}});
    for (const auto& domain : domains) {
      const auto set = Set::parse(context, names, domain + " and (" + region + ")");
      ASSERT_TRUE(set.has_value()) << domain;
      regions.back().statements.push_back(*set);
    }
  }
  const auto nests = generate_loops(regions, times);
  ASSERT_EQ(nests.size(), regions.size());

  const auto member = [](const Set& set, const Point& point) {
    auto rest = set;
    for (std::size_t v = 0; v < point.size(); ++v)
      rest = rest.intersect({variable(point.size(), v) - constant(point.size(), point[v]), true});
    return !rest.is_empty();
  };
  const auto combinations = [](std::size_t count, std::int64_t low, std::int64_t high) {
    std::vector<Point> result{{}};
    for (std::size_t n = 0; n < count; ++n) {
      std::vector<Point> longer;
      for (const auto& point : result) {
        for (auto v = low; v <= high; ++v) {
          longer.push_back(point);
          longer.back().push_back(v);
        }
      }
      result = std::move(longer);
    }
    return result;
  };
  for (std::size_t r = 0; r < regions.size(); ++r) {
    for (const auto& p : combinations(parameters, 0, 4)) {
      if (!member(regions[r].parameters, p)) continue;
      std::vector<Visit> expected, visits;
      for (const auto& t : combinations(times, -6, 9)) {
        Point point = p;
        point.insert(point.end(), t.begin(), t.end());
        for (std::size_t s = 0; s < regions[r].statements.size(); ++s) {
          if (member(regions[r].statements[s], point)) expected.push_back(visit_of(s, t));
        }
      }
      Point environment(parameters + loop_variables(times), 0);
      std::copy(p.begin(), p.end(), environment.begin());
      run(nests[r], environment, parameters, visits);
      EXPECT_EQ(visits, expected) << texts[r].first << " at parameters " << (p.empty() ? 0 : p[0]);
    }
  }
}

void expect_exact(const Domains& domains, std::size_t parameters, std::size_t times,
                  const std::string& region = "true") {
  expect_each_exact({{region, domains}}, parameters, times);
}

std::size_t nodes_in(const Node& nest, Node::Kind kind) {
  std::size_t count = nest.kind == kind ? 1 : 0;
  for (const auto& child : nest.children) count += nodes_in(child, kind);
  return count;
}

TEST(Loops, Boxes) {
  expect_exact({"0 <= s < 5"}, 0, 1);
  expect_exact({"0 <= s < 3 and 1 <= t < 6"}, 0, 2);
  expect_exact({"s = 4"}, 0, 1);
  expect_exact({"s = 4 and t = 2"}, 0, 2);
  expect_exact({"false"}, 0, 2);
  expect_exact({"true"}, 0, 0);
  expect_exact({"true", "true", "true"}, 0, 0);
}

TEST(Loops, RandomBoxes) {
  std::mt19937 random(1);
  const auto draw = [&](int most) { return std::uniform_int_distribution<int>(0, most)(random); };
  for (int round = 0; round < 60; ++round) {
    const auto times = static_cast<std::size_t>(1 + draw(1));
    Domains domains;
    for (int s = draw(4); s >= 0; --s) {
      std::vector<std::string> ranges;
      for (const auto* name : {"s", "t"}) {
        if (ranges.size() == times) break;
        const int low = draw(3);
        ranges.push_back(fmt::format("{} <= {} <= {}", low, name, low + draw(1) * draw(3)));
      }
      domains.push_back(fmt::format("{}", fmt::join(ranges, " and ")));
    }
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_exact(domains, 0, times);
  }
}

// Where another set of statements runs a loop ends: no guard is left, and no loop of one step.
TEST(Loops, BoxesAreCut) {
  const Context context;
  const std::vector<std::string> names{"p", "s", "t"};
  Region region{Set::universe(context, 1), {}};
  for (const auto* text : {"0 <= s < 9 and t = 0", "0 <= s < 9 and 0 <= t < 5", "s = 8 and t = 3"})
    region.statements.push_back(*Set::parse(context, names, text));
  const auto nest = generate_loops({region}, 2).front();
  EXPECT_EQ(nodes_in(nest, Node::Kind::guard), 0U);
  // A loop over s < 8 of S0 and a loop of S1; at s = 8 S0, a loop of S1 over t < 3, S1 and S2, S1 at t = 4.
  EXPECT_EQ(nodes_in(nest, Node::Kind::loop), 3U);
  EXPECT_EQ(nodes_in(nest, Node::Kind::visit), 7U);
}

// isl writes a square without a corner as one conjunction; a few slices of it are boxes, too.
TEST(Loops, CornersAreCut) {
  const Context context;
  const std::vector<std::string> names{"p", "s", "t"};
  Region region{Set::universe(context, 1), {}};
  for (const auto* text : {"0 <= s < 9 and 0 <= t < 5", "2 <= s <= 3 and 2 <= t <= 3 and s + t <= 5"})
    region.statements.push_back(*Set::parse(context, names, text));
  EXPECT_EQ(nodes_in(generate_loops({region}, 2).front(), Node::Kind::guard), 0U);
  expect_exact({"0 <= s < 9 and 0 <= t < 5", "2 <= s <= 3 and 2 <= t <= 3 and s + t <= 5"}, 0, 2);
  expect_exact({"0 <= s <= 3 and 0 <= t <= 3 and 3s + t <= 6", "0 <= s < 6 and 1 <= t <= 2"}, 0, 2);
  expect_exact({"0 <= s <= 2 and 0 <= t <= 2 and 0 <= u <= 2 and s + t + u <= 4 and s + u >= 1",
                "s = 1 and t = 1 and u = 1"},
               0, 3);
}

TEST(Loops, Triangles) {
  expect_exact({"0 <= s < 5 and 0 <= t < s"}, 0, 2);
  expect_exact({"0 <= s < 5 and s <= t < 5"}, 0, 2);
  expect_exact({"0 <= s <= 8 and 2t <= s and 3t >= s - 1"}, 0, 2);
  expect_exact({"0 <= s and 0 <= t and s + t <= 4"}, 0, 2);
}

TEST(Loops, SeveralStatements) {
  expect_exact({"0 <= s < 4", "2 <= s < 7", "s = 3"}, 0, 1);
  expect_exact({"0 <= s < 4 and 0 <= t < s", "0 <= s < 4 and t = s", "0 <= s < 4 and 0 <= t <= s"}, 0, 2);
  expect_exact({"0 <= s < 3 and 0 <= t < 3", "1 <= s < 5 and t = 1", "s = 2 and 0 <= t < 6",
                "0 <= s < 6 and s - 1 <= t <= s + 1"},
               0, 2);
  expect_exact({"(s = 0 or s = 5) and 0 <= t < 2", "0 <= s < 6 and t = 1"}, 0, 2);
}

TEST(Loops, Strides) {
  expect_exact({"0 <= s < 9 and s mod 2 = 0"}, 0, 1);
  expect_exact({"0 <= s < 9 and s mod 2 = 0", "0 <= s < 9 and s mod 3 = 1", "0 <= s < 9"}, 0, 1);
  expect_exact({"0 <= s < 6 and 0 <= t < 6 and (s + t) mod 2 = 0", "0 <= s < 6 and t = 3"}, 0, 2);
}

// Rounds of steps in which statements take turns, and what is left of the last: no guard, and no loop for each statement.
TEST(Loops, StridesTakeTurns) {
  const Context context;
  Region region{Set::universe(context, 0), {}};
  for (const auto* text : {"0 <= s <= 98 and s mod 2 = 0", "3 <= s <= 99 and s mod 4 = 3", "5 <= s <= 80"})
    region.statements.push_back(*Set::parse(context, {"s"}, text));
  const auto nest = generate_loops({region}, 1).front();
  EXPECT_EQ(nodes_in(nest, Node::Kind::guard), 0U);
  EXPECT_EQ(nodes_in(nest, Node::Kind::loop), 3U);  // S0 at 0 and 2; all at 4 < s <= 80; S0 and S1 after.
  expect_exact({"-4 <= s <= 8 and s mod 2 = 0", "-3 <= s <= 9 and s mod 4 = 3", "-2 <= s <= 5"}, 0, 1);
  expect_exact({"-5 <= s <= 9 and s mod 4 = 3", "-5 <= s <= 9 and (1 - s) mod 3 = 0", "s = 2"}, 0, 1);
  expect_exact({"0 <= s <= 9 and s mod 8 = 3", "1 <= s <= 9", "s mod 64 = 3 and 0 <= s <= 9"}, 0, 1);
}

TEST(Loops, RandomStridedBoxes) {
  std::mt19937 random(6);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 25; ++round) {
    const auto times = static_cast<std::size_t>(draw(1, 3));
    Domains domains;
    for (int statements = draw(1, 5); statements > 0; --statements) {
      std::vector<std::string> constraints;
      for (const auto* name : {"s", "t", "u"}) {
        if (constraints.size() >= times) break;
        const int low = draw(-4, 4), high = draw(low, 9), modulus = 1 << draw(0, 2);
        constraints.push_back(fmt::format("{0} <= {1} <= {2} and ({3}{1} + {4}) mod {5} = 0", low, name, high,
                                          draw(0, 1) == 0 ? "" : "-", draw(0, 3),
                                          draw(0, 9) == 0 ? 3 : modulus));
      }
      domains.push_back(fmt::format("{}", fmt::join(constraints, " and ")));
    }
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_exact(domains, 0, times);
  }
}

// Of domains with remainders, some of which share no outer coordinates: isl would run them out of order.
TEST(Loops, StridesOfRowsThatAreApart) {
  expect_exact({"2 <= s <= 7 and 2 <= t <= 5 and (s + t) mod 2 = 1 and t mod 2 = 0",
                "1 <= s <= 4 and 1 <= t <= 4 and t mod 2 = 1", "0 <= s <= 4 and 1 <= t <= 6 and t mod 2 = 0",
                "2 <= s <= 7 and 2 <= t <= 4 and s mod 2 = 0 and t mod 2 = 1",
                "s = 1 and 1 <= t <= 3 and s mod 2 = 0"},
               0, 2);
}

TEST(Loops, RandomStrides) {
  std::mt19937 random(4);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 100; ++round) {
    const auto parameters = static_cast<std::size_t>(draw(0, 4) == 0);
    const int modulus = draw(0, 4) == 0 ? 3 : 2;
    std::vector<std::string> outer{"s", "s", "s", "s + t"};
    if (parameters == 1) outer.push_back("p + s");
    Domains domains;
    const auto piece = [&] {
      std::vector<std::string> constraints;
      for (const auto* name : {"s", "t"}) {
        const int low = draw(0, 2), high = low + (draw(0, 3) == 0 ? 0 : draw(2, 5));
        constraints.push_back(fmt::format("{} <= {} <= {}", low, name, high));
      }
      if (draw(0, 1) == 1) {
        const auto& form = outer[static_cast<std::size_t>(draw(0, static_cast<int>(outer.size()) - 1))];
        constraints.push_back(fmt::format("({}) mod {} = {}", form, modulus, draw(0, modulus - 1)));
      }
      if (draw(0, 2) > 0) constraints.push_back(fmt::format("t mod {} = {}", modulus, draw(0, modulus - 1)));
      return fmt::format("({})", fmt::join(constraints, " and "));
    };
    for (int statements = draw(2, 7); statements > 0; --statements) {
      domains.push_back(piece());
      if (draw(0, 3) == 0) domains.back() = fmt::format("({} or {})", domains.back(), piece());
    }
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_exact(domains, parameters, 2, parameters == 1 ? "0 <= p <= 3" : "true");
  }
}

// isl fails when it is to give each of these pieces loops of its own.
TEST(Loops, StridesThatAreNotSeparated) {
  const std::string rows = "0 <= t <= 2 and (s mod 2 = 0 or (1 + s) mod 2 = 0 and t > 0)";
  expect_exact({"0 <= s <= 3 and 0 <= u <= 3 and " + rows + " or 0 < s <= 3 and u = 4 and " + rows}, 0, 3);
}

TEST(Loops, Parameters) {
  expect_exact({"p <= s < 6"}, 1, 1);
  expect_exact({"0 <= s < p and 0 <= t <= q"}, 2, 2);
  expect_exact({"0 <= s < 5 and 0 <= t < p", "0 <= s < 5 and t = q", "s = p and 0 <= t < 3"}, 2, 2);
  expect_exact({"0 <= s < 6 and t = p - s", "0 <= s < 6 and t = s"}, 1, 2);
  expect_exact({"0 <= s < 6 and t >= p and 2t <= q + s"}, 2, 2);
}

TEST(Loops, RegionsOfParameters) {
  expect_exact({"p <= s < 6", "s = p"}, 1, 1, "2 <= p <= 3");
  expect_exact({"0 <= s < p", "q <= s < p"}, 2, 1, "q < p");
  expect_exact({"0 <= s < p and p mod 2 = 0", "s = 0"}, 1, 1);
  expect_exact({"p <= s <= q", "s = p", "s = q"}, 2, 1, "p = 0 or q = 4");
}

// Statements that are special cases of others' in a smaller region share their nest.
TEST(Loops, Families) {
  const Domains upto_q{"0 <= s < q", "s = 0", "1 <= s < q", "s = q"};
  expect_each_exact({{"2 <= q < p", upto_q},
                     {"2 <= q and q = p", {"0 <= s < p", "s = 0", "1 <= s < p", "s = p"}},
                     {"q = 3", {"0 <= s <= 2", "s = 0", "s = 1 or s = 2", "s = 3"}},
                     {"q = 1", {"s = 0", "s = 0", "false", "s = 1"}},
                     {"q = 0", {"s = 0"}},
                     {"q > p", {}}},
                    2, 1);
  // The second piece of the family does not reach the first.
  const Domains halves{"(p < 2 and 0 <= s < 3) or (p >= 2 and 4 <= s < 4 + p)"};
  expect_each_exact({{"p <= 4", halves}, {"p = 1", {"0 <= s <= 2"}}, {"p = 3", {"4 <= s <= 6"}}}, 1, 1);
  // As many statements, but one more or one less of each one's points.
  expect_each_exact({{"1 <= p <= 4", {"0 <= s < p"}}, {"p = 5", {"0 <= s <= 5"}}, {"p = 6", {"0 <= s < 5"}}},
                    1, 1);
}

TEST(Loops, NoDeadVisitsInAFamily) {
  const Context context;
  const auto set = [&](const std::vector<std::string>& names, const char* text) {
    return *Set::parse(context, names, text);
  };
  const auto nests =
      generate_loops({{set({"p"}, "0 <= p <= 4"),
                       {set({"p", "s"}, "0 <= p <= 4 and ((p < 2 and s = 0) or (p >= 2 and s = p))")}},
                      {set({"p"}, "p = 1"), {set({"p", "s"}, "p = 1 and s = 0")}}},
                     1);
  EXPECT_EQ(nodes_in(nests[0], Node::Kind::visit), 2U);
  EXPECT_EQ(nodes_in(nests[1], Node::Kind::visit), 1U);
}

// Expressions with divisions of parameters and of outer loops.
TEST(Loops, Quotients) {
  expect_exact({"0 <= s < 9 and (s - p) mod 2 = 0"}, 1, 1);
  expect_exact({"0 <= s < 9 and 2s = p", "0 <= s < 9 and 3s = p + q"}, 2, 1);
  expect_exact({"0 <= s < 6 and 2t = s + p", "0 <= s < 6 and 3t = s - p", "0 <= s < 6 and 0 <= t < 4"}, 1, 2);
  expect_exact({"0 <= s < 6 and 2t <= s + p and 3t >= s - q and t >= 0 and (s + t + p) mod 2 = 0"}, 2, 2);
}

// Each is a variable of the nest, which has so many.
TEST(Loops, RefusesTooManyQuotients) {
  const Context context;
  std::string sum = "p";
  for (std::size_t divisor = 2; divisor <= 2 + loop_variables(1); ++divisor)
    sum += fmt::format(" + floor(p/{})", divisor);
  const auto domain = Set::parse(context, {"p", "s"}, "0 <= p < 100 and s = " + sum);
  ASSERT_TRUE(domain);
  try {
    (void)generate_loops({{*Set::parse(context, {"p"}, "0 <= p < 100"), {*domain}}}, 1);
    ADD_FAILURE() << "no refusal";
  } catch (const LegalityError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC226");
  }
}

// Guards on steps that are no multiples of a number, which are as many conditions as it is large.
TEST(Loops, RefusesNegationsOfLargeModuli) {
  const Context context;
  for (const auto& [modulus, is_refused] : {std::pair(32, false), {128, true}}) {
    const auto some =
        Set::parse(context, {"p", "s"},
                   fmt::format("8 <= s <= 255 and ((s - p) mod {0} = {1} or (s - p) mod {0} = {2})", modulus,
                               3 * modulus / 4 - 1, modulus / 4 - 1));
    try {
      (void)generate_loops({{*Set::parse(context, {"p"}, "0 <= p <= 3"), {*some}}}, 1);
      EXPECT_FALSE(is_refused) << modulus;
    } catch (const LegalityError& error) {
      EXPECT_TRUE(is_refused) << error.diagnostic().notes.front().text;
      EXPECT_EQ(error.diagnostic().code, "CYC226");
    }
  }
}

// s mod 2 in the last bound of u: its quotient is the variable of a loop around that of u.
TEST(Loops, QuotientsInLastBounds) {
  expect_exact({"t = 0 and u = 3 and -2 <= s <= 3", "t = 0 and u >= 0 and 1 - s <= u <= 6 - s and u <= 2",
                "t < 0 and u >= -t and 1 - s - 2t <= u <= 6 - s - 2t and u <= 3",
                "u = 3 and -3 <= t <= 0 and -2 - s <= 2t <= 3 - s",
                "t <= 0 and u >= -t and 1 - s - 2t <= u <= 6 - s - 2t and u <= 3"},
               0, 3);
}

TEST(Loops, RandomSkewedNests) {
  std::mt19937 random(2);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int round = 0; round < 40; ++round) {
    const auto times = static_cast<std::size_t>(round % 8 == 0 ? 3 : 2);
    Domains domains;
    for (int statements = draw(1, 3); statements > 0; --statements) {
      std::vector<std::string> constraints;
      for (const auto* name : {"s", "t", "u"}) {
        if (constraints.size() < times) constraints.push_back(fmt::format("0 <= {} < {}", name, draw(2, 6)));
      }
      const auto* third = times == 3 ? "u" : "0";
      for (int band = draw(1, 2); band > 0; --band) {
        const auto form = fmt::format("{}s + {}t + {}{}", draw(-2, 2), draw(-3, 3), draw(-2, 2), third);
        constraints.push_back(fmt::format("{} <= {} <= {}", draw(-4, 0), form, draw(0, 4)));
      }
      domains.push_back(fmt::format("{}", fmt::join(constraints, " and ")));
    }
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_exact(domains, 0, times);
  }
}

// In boxes or not, one after another or at once, along coordinates that take any value with others, or with parameters.
TEST(Loops, RandomMixtures) {
  std::mt19937 random(3);
  const auto draw = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  const std::vector<std::string> odd{"t + u <= 3",  "u <= t",           "(t + u) mod 2 = 0",
                                     "t mod 2 = 1", "(u = 0 or t = 3)", "s <= t",
                                     "t <= p",      "s + u <= p + 1"};
  for (int round = 0; round < 8; ++round) {
    Domains domains;
    for (int statements = draw(1, 5); statements > 0; --statements) {
      std::vector<std::string> constraints;
      for (const auto* name : {"s", "t", "u"}) {
        const int low = draw(0, 4);
        constraints.push_back(fmt::format("{} <= {} <= {}", low, name, low + draw(0, 1) * draw(0, 3)));
      }
      if (draw(0, 1) == 1) constraints.push_back(odd[static_cast<std::size_t>(draw(0, 7))]);
      domains.push_back(fmt::format("{}", fmt::join(constraints, " and ")));
    }
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_each_exact({{"1 <= p <= 2", domains}, {"p = 4", domains}}, 1, 3);
  }
}

// Of many statements that share some ranges of the first coordinate, whose bounds name a parameter.
TEST(Loops, RandomManyStatements) {
  std::mt19937 random(5);
  const auto draw = [&](std::size_t below) {
    return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
  };
  const std::vector<Domains> ranges{{"0 <= s < p", "s = p", "p < s <= 5"},
                                    {"0 <= s <= p", "s = p", "p < s <= 5", "0 <= s <= 5"},
                                    {"0 <= s < p", "s = p + 1", "0 <= s <= 5"},
                                    {"s = 0", "0 <= s <= 5", "p <= s <= 5", "s = 5"},
                                    {"0 <= s <= p and s <= 2", "p < s <= 5"},
                                    {"s = p", "s = 2", "0 <= s <= 5", "p >= 2 and s = 3"},
                                    {"0 <= s <= 5 and s mod 2 = 0", "s = p", "0 <= s <= 3"}};
  const Domains others{
      "0 <= t <= u and u <= s",      "t = 2 and 0 <= u <= s", "t <= p and 0 <= t and t <= u <= 2",
      "0 <= t <= 1 and t <= u <= 2", "s <= t <= 6 and u = 0", "t = s and 0 <= u <= 1"};
  for (const auto& own : ranges) {
    Domains domains;
    for (auto statements = 14 + draw(4); statements > 0; --statements)
      domains.push_back(fmt::format("{} and {}", own[draw(own.size())], others[draw(others.size())]));
    SCOPED_TRACE(fmt::format("{}", fmt::join(domains, "; ")));
    expect_exact(domains, 1, 3, "1 <= p <= 3");
  }
}

// What is in no boxes leaves the statements before and after it, and the loop around them all, as they are.
TEST(Loops, EffortIsForStatementsInNoBoxes) {
  constexpr std::size_t statements = 100;
  const Context context(500'000);
  const std::vector<std::string> names{"p", "r", "s", "t", "u"};
  Region region{Set::universe(context, 1), {}};
  for (std::size_t n = 0; n < statements; ++n) {
    const auto* in = n == statements / 2 ? "0 <= t <= u < 5" : "0 <= t < 5 and 0 <= u < 5";
    region.statements.push_back(
        *Set::parse(context, names, fmt::format("0 <= r < 9 and s = {} and {}", n, in)));
  }
  const auto nest = generate_loops({region}, 4).front();
  EXPECT_EQ(nodes_in(nest, Node::Kind::visit), statements);
  EXPECT_EQ(nodes_in(nest, Node::Kind::loop), 2 * statements + 1);
}

// isl would order each two of them in each of the pieces: many times this effort.
TEST(Loops, ManyStatementsWithFewRanges) {
  const Context context(1'600'000);
  const std::vector<std::string> names{"p", "s", "t", "u"};
  Region region{*Set::parse(context, {"p"}, "3 <= p <= 9"), {}};
  for (int n = 0; n < 150; ++n) {
    const auto* range = n % 3 == 0 ? "0 <= s < 2p" : n % 3 == 1 ? "s = 2p" : "2p < s <= 20";
    const auto* rest = n % 2 == 0 ? "0 <= u <= 1" : "0 <= u and 2p + u <= s + 2 and u <= 2";
    region.statements.push_back(
        *Set::parse(context, names, fmt::format("{} and t = {} and {}", range, n / 25, rest)));
  }
  EXPECT_GE(nodes_in(generate_loops({region}, 3).front(), Node::Kind::visit), 150);
}

}  // namespace
}  // namespace cyclotron::poly
