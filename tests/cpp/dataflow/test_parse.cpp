// The text of a graph is the graph: every form reads back, and no text does harm.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include <cyclotron/dataflow/lower.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using dataflow::Apply;
using dataflow::Compute;
using dataflow::Constant;
using dataflow::FlowId;
using dataflow::FlowRef;
using dataflow::Graph;
using dataflow::Origin;
using dataflow::parse;
using dataflow::Role;
using dataflow::SpaceId;
using dataflow::TensorId;
using dataflow::Term;

/// One space of points (i, j, i) with three flows and no rule.
Graph small() {
  Graph graph;
  graph.kernel = "small";
  graph.dims = {"i", "j", "k"};
  graph.tensors = {{"A", operators::DType::complex128, Role::input, {8, 6}, {4, 2}, true},
                   {"Aa", operators::DType::boolean, Role::local, {}, {}, false},
                   {"out", operators::DType::int32, Role::output, {7}, {1}, false}};
  const auto i = poly::variable(3, 0), j = poly::variable(3, 1);
  const auto domain = poly::Set::parse(graph.context, graph.dims, "0 <= i < 6 and i <= j <= 2i+3 and k = i");
  graph.spaces = {{"mul", *domain, {0, 1}, {i, j, i}}};
  graph.flows = {
      {"A", SpaceId(0), TensorId(0), {4, 2}, {i - j, 2 * i + poly::constant(3, 3)}, true, false, {}},
      {"t", SpaceId(0), TensorId(1), {1, 1}, {}, false, false, {}},
      {"out", SpaceId(0), TensorId(2), {1, 1}, {poly::constant(3, -2)}, false, true, {}}};
  return graph;
}

Graph with_terms(std::vector<Term> terms) {
  Graph graph = small();
  graph.rules.push_back({Compute{std::move(terms)}, FlowId(2), graph.spaces[0].domain, Origin::outer, {}});
  return graph;
}

void expect_round_trip(const Graph& graph) {
  const auto text = to_string(graph);
  const auto parsed = parse(text);
  EXPECT_TRUE(equal(parsed, graph)) << text;
  EXPECT_TRUE(equal(graph, parsed)) << text;
  EXPECT_EQ(to_string(parsed), text);
}

const FlowRef flow_a{FlowId(0), {0, 0, 0}}, flow_b{FlowId(1), {-1, 2, 0}}, flow_c{FlowId(2), {0, -1, 0}};

TEST(Parse, DeclarationsReadBack) {
  expect_round_trip(small());
  Graph converted = small();
  converted.flows[0].dtype = operators::DType::int32;
  converted.flows[1].dtype = operators::DType::boolean;
  converted.flows[1].prefetched = true;
  expect_round_trip(converted);
  Graph none;
  none.kernel = "none over (x)";
  expect_round_trip(none);
}

TEST(Parse, ConstantsReadBack) {
  const double infinity = std::numeric_limits<double>::infinity(),
               nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {0.0, -0.0, 1.0, -3.0, 0.1, 1e300, -5e-324, infinity, -infinity, nan, -nan}) {
    expect_round_trip(with_terms({Constant{value, 0}}));
    expect_round_trip(with_terms({Constant{value, 1.5}}));
    expect_round_trip(with_terms({Constant{2, value}}));
    expect_round_trip(with_terms({Constant{value, 0}, Constant{-1, 0}, Apply{Op::subtract, 0, {0, 1}}}));
  }
}

TEST(Parse, IntegersReadBackToTheLastBit) {
  for (const std::int64_t value :
       {std::int64_t{1} << 53, (std::int64_t{1} << 53) + 1, -(std::int64_t{1} << 53) - 1,
        std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()}) {
    EXPECT_EQ(Constant::of(value).integer(), value);
    expect_round_trip(with_terms({Constant::of(value)}));
  }
}

TEST(Parse, EveryOperatorReadsBackWithEveryFlag) {
  for (std::size_t o = 0; o <= static_cast<std::size_t>(Op::syrk_subtract); ++o) {
    const auto op = static_cast<Op>(o);
    const auto arity = static_cast<std::size_t>(operators::info(op).arity);
    for (const operators::Flags flags : {0U, 1U, 2U, 3U, 4U, 8U, 16U, 31U}) {
      std::vector<Term> terms{flow_a, flow_b, flow_c};
      terms.resize(arity, flow_a);
      std::vector<std::size_t> operands(arity);
      for (std::size_t n = 0; n < arity; ++n) operands[n] = n;
      terms.emplace_back(Apply{op, flags, operands});
      expect_round_trip(with_terms(terms));
      // Nested on both sides, in an infix operator and in a call.
      for (const auto outer : {Op::subtract, Op::maximum, Op::matmul}) {
        if (flags > 3) continue;
        auto nested = terms;
        const auto left = nested.size() - 1;
        for (const auto& term : terms) {
          nested.push_back(term);
          if (auto* apply = std::get_if<Apply>(&nested.back())) {
            for (auto& operand : apply->operands) operand += terms.size();
          }
        }
        nested.emplace_back(
            Apply{outer, outer == Op::matmul ? operators::transpose_b : 0U, {left, nested.size() - 1}});
        expect_round_trip(with_terms(nested));
      }
    }
  }
}

// `x + a · b` is one operator; with parentheses it is two.
TEST(Parse, AccumulatingFormsAreNotSumsOfProducts) {
  const auto fused = with_terms({flow_a, flow_b, flow_c, Apply{Op::multiply_add, 0, {0, 1, 2}}});
  const auto two =
      with_terms({flow_a, flow_b, flow_c, Apply{Op::multiply, 0, {1, 2}}, Apply{Op::add, 0, {0, 3}}});
  EXPECT_NE(to_string(fused).find("(i, j, i)_A^mul + (i-1, j+2, i)_t^mul · (i, j-1, i)_out^mul "),
            std::string::npos)
      << to_string(fused);
  EXPECT_NE(to_string(two).find("(i, j, i)_A^mul + ((i-1, j+2, i)_t^mul · (i, j-1, i)_out^mul)"),
            std::string::npos)
      << to_string(two);
  EXPECT_FALSE(equal(fused, two));
  expect_round_trip(fused);
  expect_round_trip(two);
}

TEST(Parse, TransfersAreNotCopies) {
  Graph copy = with_terms({flow_a});
  Graph link = small(), network = small();
  link.rules.push_back({dataflow::Transfer{FlowId(0), link.spaces[0].tuple, false},
                        FlowId(2),
                        link.spaces[0].domain,
                        Origin::outer,
                        {}});
  network.rules.push_back({dataflow::Transfer{FlowId(0), link.spaces[0].tuple, true},
                           FlowId(2),
                           network.spaces[0].domain,
                           Origin::outer,
                           {}});
  for (const auto* one : {&copy, &link, &network}) {
    expect_round_trip(*one);
    for (const auto* other : {&copy, &link, &network}) EXPECT_EQ(equal(*one, *other), one == other);
  }
}

TEST(Parse, DomainsReadBack) {
  for (const char* domain :
       {"i = 2", "i >= 1 and j < i + 3", "i = 1 or i = 3", "(i = 1 and j > 1) or j = 4 or (i > 3 and j < 5)",
        "i mod 2 = 0", "(i + j) mod 3 = 1", "i mod 3 <= 1", "i mod 2 = 1 and (j mod 4 <= 2 or i >= 2)",
        "exists (a, b : i = 2a + 3b and 0 <= a <= 1 and 0 <= b <= 1)", "i > 100", "1 = 1"}) {
    Graph graph = with_terms({flow_a});
    const auto set = poly::Set::parse(graph.context, graph.dims, domain);
    ASSERT_TRUE(set.has_value()) << domain;
    graph.rules[0].domain = graph.rules[0].domain.intersect(*set);
    EXPECT_TRUE(equal(parse(to_string(graph)), graph)) << to_string(graph);
    EXPECT_TRUE(equal(graph, parse(to_string(parse(to_string(graph)))))) << to_string(graph);
  }
}

// Names that isl or the notation itself has a use for.
TEST(Parse, NamesAreFree) {
  for (const char* name :
       {"e1", "mod", "floor", "exists", "everywhere", "inf", "max", "_", "_1", "αβ", "x·y"}) {
    Graph graph = with_terms({flow_a, flow_b, Apply{Op::multiply, 0, {0, 1}}});
    graph.dims[0] = name;
    graph.tensors[1].name = name;
    graph.flows[1].name = name;
    graph.spaces[0].name = name;
    graph.kernel = name;
    expect_round_trip(graph);
  }
}

TEST(Parse, FaultsHaveAPlace) {
  const auto text = to_string(dataflow::lower(matmul(2, 2, 2), {{"i", "j"}, {"k"}, {}}));
  struct Case {
    const char *from, *to, *fault;
  };
  for (const auto& [from, to, fault] : std::vector<Case>{
           {"dataflow matmul over (i, j, k)", "matmul",
            "`dataflow <kernel> over (<indices>)` is expected here"},
           {"over (i, j, k)", "over (i, j, j)", "`j` is declared twice"},
           {"A : input", "A : imput", "does not begin with a role"},
           {"float64[2, 2]", "float65[2, 2]", "a dtype is expected"},
           {"float64[2, 2]", "float64[2, 99999999999999999999]", "the number is too large"},
           {"spaces", "Spaces", "the section `spaces` is expected here"},
           {"carries A[i, k]", "carries A[i]", "`A` has 2 dimensions"},
           {"carries A[i, k]", "carries A[i, q]", "does not begin with an index"},
           {"(i, j, k)_A^mul ←", "(i, j)_A^mul ←", "the point has 2 coordinates, and the graph 3"},
           {"← A[i, k]", "← A[i, j]", "this is not the element that the flow has"},
           {"(i, j-1, k)_A^mul ", "(i, j-1, k)_Q^mul ", "`Q^mul` is not among the flows"},
           {"(i, j, k)_A^mul ·", "(j, j, k)_A^mul ·", "lies at a constant distance"},
           {"(i, j, k)_A^mul ·", "(i, j, k)_A^mul ·)", "a name of an operator is expected here"},
           {"j = 0 ", "j = 0 or", "an index or a number is expected here"},
           {"j = 0 ", "j ~ 0 ", "a comparison is expected here"},
           {"load A", "lode A", "does not begin with a verb"},
           {"[Inject]", "[Injekt]", "a rewrite rule"},
           {"[Inject]", "", "the line has 3 columns, and 4 are expected"},
           {"sends, induced", "sends", "a section is expected here"},
       }) {
    auto broken = text;
    const auto place = broken.find(from);
    ASSERT_NE(place, std::string::npos) << from;
    broken.replace(place, std::string(from).size(), to);
    const auto diagnostic = error_of<ProgramError>([&, &t = broken] { (void)parse(t); });
    EXPECT_EQ(diagnostic.code, "CYC650");
    EXPECT_NE(diagnostic.message.find(fault), std::string::npos) << diagnostic.message;
    EXPECT_EQ(diagnostic.span.file, "<dataflow>");
    EXPECT_EQ(diagnostic.span.line,
              1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(place), '\n'))
        << diagnostic.message;
    EXPECT_GT(diagnostic.span.end_column, diagnostic.span.column);
  }
}

/// Nothing but ProgramError CYC650 comes out, and what is read prints again.
void expect_harmless(const std::string& text) {
  try {
    const auto graph = parse(text);
    EXPECT_TRUE(equal(parse(to_string(graph)), graph)) << text;
  } catch (const ProgramError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC650");
    EXPECT_GE(error.diagnostic().span.line, 1);
    EXPECT_GE(error.diagnostic().span.column, 0);
  }
}

TEST(Parse, TruncationsAreHarmless) {
  const auto text = to_string(dataflow::lower(trsv(3), {{"i"}, {"j"}, {}}));
  for (std::size_t length = 0; length < text.size(); ++length) expect_harmless(text.substr(0, length));
}

TEST(Parse, MutationsAreHarmless) {
  const std::vector<std::string> texts{to_string(dataflow::lower(cholesky(4, 2), {{"i", "j"}, {"k"}, {}})),
                                       to_string(dataflow::lower(matmul(3, 3, 2), {{"i", "j"}, {"k"}, {}}))};
  const std::string letters = "ijk0123459()[]^_,+-*/@=<> \n.:ALXabde\xE2\x86\x90\xC2\xB7";
  std::mt19937 random(7);
  const auto below = [&random](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  for (int round = 0; round < 3000; ++round) {
    auto text = texts[below(texts.size())];
    for (std::size_t edits = 1 + below(3); edits > 0; --edits) {
      const auto at = below(text.size());
      switch (below(4)) {
        case 0: text[at] = letters[below(letters.size())]; break;
        case 1: text.erase(at, 1 + below(8)); break;
        case 2: text.insert(at, 1, letters[below(letters.size())]); break;
        default: text.insert(at, text.substr(below(text.size()), 1 + below(30))); break;
      }
    }
    expect_harmless(text);
  }
}

TEST(Parse, HostileTextsAreHarmless) {
  const auto text = to_string(dataflow::lower(matmul(2, 2, 2), {{"i", "j"}, {"k"}, {}}));
  const auto with = [&](const std::string& from, const std::string& to) {
    auto changed = text;
    changed.replace(changed.find(from), from.size(), to);
    return changed;
  };
  const auto repeat = [](const std::string& part, int count) {
    std::string all;
    for (int n = 0; n < count; ++n) all += part;
    return all;
  };
  std::vector<std::string> hostile{"", "\n", std::string(1000, '('), std::string("\0\0", 2), "\xFF\xFE"};
  for (const auto& domain : std::vector<std::string>{
           std::string(100000, '('), repeat("(", 30) + "i = 0" + repeat(")", 30),
           repeat("(i = 0 or i = 1), ", 40) + "j = 0", repeat("i = 0 or ", 100000) + "i = 0", "i mod 0 = 0",
           "i mod -1 = 0", "floor(i/0) = 0", "99999999999999999999i = 0",
           "999999999999999999i - 888888888888888888j = 1", repeat("floor(", 1000) + "i",
           repeat("-", 1000) + "i = 0", repeat("exists (a: ", 1000) + "a = i",
           "exists (a = floor((i)/7), b = floor((a)/281474976710656): b = j)", "i < j < k < i < j",
           repeat("281474976710656i + ", 1000) + "0 = 0"}) {
    hostile.push_back(with("j = 0", domain));
  }
  for (const auto& term :
       std::vector<std::string>{std::string(100000, '('), repeat("(", 100000) + "1" + repeat(")", 100000),
                                repeat("sqrt(", 100000) + "1", "complex(1)", "add(1)",
                                "sqrt[lower, lower](1, 2)", "1e999", repeat("1 + ", 1000) + "1"}) {
    hostile.push_back(with("(i, j, k)_A^mul · (i, j, k)_B^mul", term));
  }
  hostile.push_back(with("(i, j, k)", "(" + repeat("i, ", 100000) + "j)"));
  for (const auto& one : hostile) expect_harmless(one);
}

}  // namespace
}  // namespace cyclotron::testing
