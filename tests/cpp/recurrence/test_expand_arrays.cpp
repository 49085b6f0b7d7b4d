// Loop nests to recurrences: what each reading finds, and the indices in which time runs forward.
#include <gtest/gtest.h>

#include <cyclotron/recurrence/expand_arrays.hpp>
#include <cyclotron/recurrence/verify.hpp>

#include "golden.hpp"
#include "sample_systems.hpp"

namespace cyclotron::testing {
namespace {

using recurrence::Nest;
using recurrence::TextPosition;

/// The equations of the expanded nest, one a line.
std::string expanded(const SystemBuilder& statements, std::vector<TextPosition> places) {
  const auto system = recurrence::expand_arrays({statements.build(), std::move(places)});
  recurrence::verify(system);
  const auto text = to_string(system);
  std::string equations;
  for (std::size_t start = 0; start < text.size(); start = text.find('\n', start) + 1) {
    const auto line = text.substr(start, text.find('\n', start) + 1 - start);
    if (line.find(" = ") != std::string::npos) equations += line;
  }
  return equations;
}

/// for t < 3: { for i in 1..3: b[i] = a[i-1]; for i in 1..3: a[i] = b[i+1] }, and b is declared 0.
TEST(ExpandArrays, TwoLoopsInOne) {
  SystemBuilder b("nest");
  b.input("x", {5}).output("a", {5}).local("b", {5}).names({"i"});
  b.equation("a", {"i"}, 1, "0 <= i < 5", b.at("x", {"i"}));
  b.equation("b", {"i"}, 1, "0 <= i < 5", b.number(0));
  b.names({"t", "i"});
  b.equation("b", {"i"}, 2, "0 <= t < 3 and 1 <= i < 4", b.apply(Op::sqrt, {b.at("a", {"i-1"})}));
  b.equation("a", {"i"}, 2, "0 <= t < 3 and 1 <= i < 4", b.apply(Op::exp, {b.at("b", {"i+1"})}));
  const auto text = expanded(
      b, {{{-2, 0}, {false}}, {{-1, 0}, {false}}, {{0, 0, 0}, {false, false}}, {{0, 1, 0}, {false, false}}});
  EXPECT_EQ(text,
            "  a[i] = x[i]    (i = 4) or (i = 0)\n"
            "  b[t, i-1] = sqrt(x[i-1])    (1 <= t <= 2 and statement_in_t = 0 and i = 1) or "
            "(t = 0 and statement_in_t = 0 and 1 <= i <= 3)\n"
            "  b[t, i-1] = sqrt(a@13[t-1, i-2])    1 <= t <= 2 and statement_in_t = 0 and 2 <= i <= 3\n"
            "  a@13[t, i-1] = exp(to_float64(0))    0 <= t <= 2 and statement_in_t = 1 and i = 3\n"
            "  a@13[t, i-1] = exp(b[t, i])    0 <= t <= 2 and statement_in_t = 1 and 1 <= i <= 2\n"
            "  a[i] = a@13[t, i-1]    t = 2 and statement_in_t = 1 and 1 <= i <= 3\n");
}

/// for i from 3 down to 0: a[i] = a[i+1] + x[i]
TEST(ExpandArrays, ALoopThatCountsDownCountsUp) {
  SystemBuilder b("nest");
  b.input("x", {5}).output("a", {5}).names({"i"});
  b.equation("a", {"i"}, 1, "0 <= i < 5", b.at("x", {"i"}));
  b.equation("a", {"i"}, 1, "0 <= i < 4", b.apply(Op::add, {b.at("a", {"i+1"}), b.at("x", {"i"})}));
  EXPECT_EQ(expanded(b, {{{-1, 0}, {true}}, {{0, 0}, {true}}}),
            "  a[-i+4] = x[-i+4]    i = 0\n"
            "  a[-i+4] = x[4] + x[-i+4]    i = 1\n"
            "  a[-i+4] = a[-i+5] + x[-i+4]    2 <= i <= 4\n");
}

/// for i: { c[0] = x[i]; y[i] = c[0] + 1 }: what is handed on needs no tensor.
TEST(ExpandArrays, ReadsThroughCopies) {
  SystemBuilder b("nest");
  b.input("x", {3}).output("y", {3}).local("c", {1}).names({"i"});
  b.equation("c", {"0"}, 1, "0 <= i < 3", b.at("x", {"i"}));
  b.equation("y", {"i"}, 1, "0 <= i < 3", b.apply(Op::sqrt, {b.at("c", {"0"})}));
  EXPECT_EQ(expanded(b, {{{0, 0}, {false}}, {{0, 1}, {false}}}), "  y[i] = sqrt(x[i])    0 <= i <= 2\n");
}

TEST(ExpandArrays, RefusesWhatNothingWrote) {
  SystemBuilder b("nest");
  b.output("y", {3}).local("c", {3}).names({"i"});
  b.equation("c", {"i"}, 1, "0 <= i < 3", b.number(1));
  b.equation("y", {"i"}, 1, "0 <= i < 3", b.at("c", {"-i+2"}));
  const Nest nest{b.build(), {{{0, 0}, {false}}, {{0, 1}, {false}}}};
  const auto diagnostic = error_of<LegalityError>([&] { (void)recurrence::expand_arrays(nest); });
  EXPECT_EQ(diagnostic.code, "CYC215");
  EXPECT_EQ(diagnostic.message, "`c[-i+2]` reads `c[2]` at i = 0, to which nothing is assigned yet");
}

/// c[i] = 1; c[2i] = sqrt(x[i]); y[i] = c[i]: what is made at i / 2 is read by its element.
TEST(ExpandArrays, ReadsElementsOfAStride) {
  SystemBuilder b("nest");
  b.input("x", {4}).output("y", {7}).local("c", {7}).names({"i"});
  b.equation("c", {"i"}, 1, "0 <= i < 7", b.number(1));
  b.equation("c", {"2i"}, 1, "0 <= i < 4", b.apply(Op::sqrt, {b.at("x", {"i"})}));
  b.equation("y", {"i"}, 1, "0 <= i < 7", b.apply(Op::sqrt, {b.at("c", {"i"})}));
  EXPECT_EQ(expanded(b, {{{0, 0}, {false}}, {{1, 0}, {false}}, {{2, 0}, {false}}}),
            "  c[2i] = sqrt(x[i])    0 <= i <= 3\n"
            "  y[i] = sqrt(to_float64(1))    0 <= i <= 6 and i mod 2 = 1\n"
            "  y[i] = sqrt(c[i])    0 <= i <= 6 and i mod 2 = 0\n");
}

/// Of two loops along one axis the element does not tell when it was made.
TEST(ExpandArrays, RefusesStrides) {
  SystemBuilder b("nest");
  b.input("x", {4}).output("y", {8}).local("c", {8}).names({"i"});
  b.equation("c", {"i"}, 1, "0 <= i < 8", b.number(1));
  b.names({"i", "j"});
  b.equation("c", {"2i+j"}, 2, "0 <= i < 4 and 0 <= j < 2", b.apply(Op::sqrt, {b.at("x", {"i"})}));
  b.names({"i"});
  b.equation("y", {"i"}, 1, "0 <= i < 8", b.at("c", {"i"}));
  const Nest nest{b.build(), {{{0, 0}, {false}}, {{1, 0, 0}, {false, false}}, {{2, 0}, {false}}}};
  const auto diagnostic = error_of<LegalityError>([&] { (void)recurrence::expand_arrays(nest); });
  EXPECT_EQ(diagnostic.code, "CYC216");
  EXPECT_NE(diagnostic.message.find("what `c[i]` reads"), std::string::npos) << diagnostic.message;
}

}  // namespace
}  // namespace cyclotron::testing
