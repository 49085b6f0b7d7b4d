// PE classes of random statements: each PE, by itself, must be in the class of the statements that it runs.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <map>
#include <random>

#include <cyclotron/mapping/make_classes.hpp>

namespace cyclotron::mapping {
namespace {

constexpr int extent = 13;

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  int number(int least, int most) { return std::uniform_int_distribution(least, most)(generator_); }

  /// Some elements of one coordinate: all, a few, or in steps.
  std::string some(const std::string& name) {
    const int first = number(0, extent - 1), last = number(first, extent - 1), step = number(1, 4);
    if (number(0, 3) == 0) return fmt::format("0 <= {} < {}", name, extent);
    return fmt::format("{} <= {} <= {} and {} mod {} = {}", first, name, last, name, step,
                       number(0, step - 1));
  }

  /// Boxes, mostly; some on one side of a diagonal.
  std::string place(const std::vector<std::string>& names) {
    std::string result;
    for (int part = number(1, 2); part > 0; --part) {
      result += result.empty() ? "(" : " or (";
      for (const auto& name : names) result += some(name) + " and ";
      const bool slanted = names.size() > 1 && number(0, 7) == 0;
      result += slanted ? fmt::format("{} <= {})", names[0], names[1]) : "true)";
    }
    return result;
  }

 private:
  std::mt19937 generator_;
};

/// A mapping of one statement for each domain.
Mapping mapping_of(const std::vector<std::string>& names, const std::vector<poly::Set>& domains) {
  Mapping result;
  result.graph.context = domains.front().context();
  result.graph.dims = names;
  for (std::size_t d = 0; d < names.size(); ++d) {
    result.grid.space.push_back(d);
    result.grid.origin.push_back(0);
    result.grid.extents.push_back(extent);
    result.grid.names.push_back(names[d]);
  }
  for (const auto& domain : domains)
    result.statements.push_back({Kind::compute, 0, domain, {FlowId(0), {}}, {}, 0, 0, {}, 0, false});
  return result;
}

TEST(Classes, HoldThePesThatRunTheSameStatements) {
  Random random(1);
  for (int trial = 0; trial < 60; ++trial) {
    const auto dimensions = static_cast<std::size_t>(trial % 5 == 4 ? 1 : trial % 7 == 6 ? 3 : 2);
    const std::vector<std::string> all_names{"i", "j", "k"};
    const std::vector names(all_names.begin(), all_names.begin() + static_cast<std::ptrdiff_t>(dimensions));
    const poly::Context context;
    std::vector<poly::Set> domains;
    for (int count = random.number(1, trial % 2 == 0 ? 12 : 40); count > 0; --count) {
      auto domain = *poly::Set::parse(context, names, random.place(names));
      if (!domain.is_empty()) domains.push_back(std::move(domain));
    }
    if (domains.empty()) continue;
    std::map<std::vector<std::int64_t>, std::vector<std::size_t>> expected, actual;
    for (std::size_t s = 0; s < domains.size(); ++s) {
      for (const auto& pe : domains[s].points()) expected[pe].push_back(s);
    }
    const auto classes = make_classes(mapping_of(names, domains)).classes;
    for (const auto& pe_class : classes) {
      for (const auto& pe : pe_class.region.points())
        EXPECT_TRUE(actual.emplace(pe, pe_class.statements).second) << "in two classes";
    }
    EXPECT_EQ(actual, expected) << "trial " << trial;
  }
}

TEST(Classes, MayHaveMoreCellsThanAreCounted) {
  const poly::Context context;
  std::vector<poly::Set> domains;
  for (int n = 0; n < 70; ++n)
    domains.push_back(
        *poly::Set::parse(context, {"i", "j", "k"}, fmt::format("i = {0} and j = {0} and 0 <= k < 2", n)));
  EXPECT_EQ(make_classes(mapping_of({"i", "j", "k"}, domains)).classes.size(), 70U);
}

TEST(Classes, ThatAreBoxesAreWrittenAsSuch) {
  const poly::Context context;
  std::vector<poly::Set> domains;
  const auto add = [&](const std::string& text) {
    domains.push_back(*poly::Set::parse(context, {"i", "j"}, text));
  };
  for (int i = 1; i < 15; ++i) add(fmt::format("i = {} and 16 <= j <= 48 and j mod 16 = 0", i));
  for (const int j : {16, 32, 48}) add(fmt::format("i = 0 and j = {}", j));  // which cut the others' columns
  const auto classes = make_classes(mapping_of({"i", "j"}, domains)).classes;
  EXPECT_EQ(classes.size(), 17U);
  for (const auto& pe_class : classes) {
    const auto text = pe_class.region.constraints_text({"i", "j"});
    EXPECT_EQ(text.find(" or "), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace cyclotron::mapping
