// Procedures that PEs set up, of loops and of straight-line code; and roles of PEs.
#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cyclotron::program {
namespace {

const SlotRef only_slot{SlotId(0), {}};

/// A code, a character an instruction: `(` opens a loop, `[` a condition, `)` closes, `x` is an exit, a digit is an
/// addition of that line, and `a` and `b` one of line 1 in the first and second `with cy.fuse():`.
PeClass coded(const std::string& text) {
  PeClass result;
  for (const char c : text) {
    Instruction instruction{End{}, {}};
    if (c == '(') instruction.action = Loop{};
    if (c == '[') instruction.action = If{};
    if (c == 'x') instruction.action = Exit{ExitPlanId(0), only_slot};
    if (c >= '0' && c <= '9') {
      instruction.action = Compute{.operands = {only_slot, only_slot}, .destination = only_slot};
      instruction.span = {"kernel.py", c - '0', 0, c - '0', 1};
    }
    if (c == 'a' || c == 'b') {
      instruction.action = Compute{.operands = {only_slot, only_slot}, .destination = only_slot};
      instruction.span = {"kernel.py", 1, 0, 1, 1, c - 'a' + 1};
    }
    result.code.push_back(instruction);
  }
  return result;
}

std::vector<std::string> parts(const std::string& text) {
  std::vector<std::string> result;
  for (const auto& [first, end] : procedures(coded(text))) result.push_back(text.substr(first, end - first));
  return result;
}

using Parts = std::vector<std::string>;

TEST(Procedures, AreNestsOfLoopsAndStraightCode) {
  EXPECT_EQ(parts(""), Parts{});
  EXPECT_EQ(parts("123"), Parts{"123"});
  EXPECT_EQ(parts("(1)(2)"), (Parts{"(1)", "(2)"}));
  EXPECT_EQ(parts("(1(2))(3)4[5]6(7)"), (Parts{"(1(2))", "(3)", "4[5]6", "(7)"}));
}

TEST(Procedures, JoinWhereTheyShareALine) {
  EXPECT_EQ(parts("1(1)1"), Parts{"1(1)1"});  // one statement, of which the compiler split ends off
  EXPECT_EQ(parts("(12)(23)(3)"), Parts{"(12)(23)(3)"});
  EXPECT_EQ(parts("(1)(2)(1)"), (Parts{"(1)", "(2)", "(1)"}));  // only with the one before
}

TEST(Procedures, AreOfOneIteration) {
  EXPECT_EQ(parts("1(1x)1"), (Parts{"1", "1", "1"}));
  EXPECT_EQ(parts("((1)2x)(2)"), (Parts{"(1)", "2", "(2)"}));
  EXPECT_EQ(parts("(x)"), Parts{});
}

TEST(Procedures, AreApartWhereAConditionIsAroundLoops) {
  EXPECT_EQ(parts("1[1(1)]1"), (Parts{"1", "1(1)", "1"}));
  EXPECT_EQ(parts("[[(1)](2)]"), (Parts{"(1)", "(2)"}));
}

TEST(Procedures, AreOneInAFusedKernel) {
  EXPECT_EQ(parts("(a)(a)a(b)1"), (Parts{"(a)(a)a", "(b)", "1"}));
  EXPECT_EQ(parts("(1)(a)"), (Parts{"(1)", "(a)"}));  // though they are of one line
  EXPECT_EQ(parts("a[(a)a](a)"), Parts{"a[(a)a](a)"});
  EXPECT_EQ(parts("a[(a)(b)]"), (Parts{"a", "(a)", "(b)"}));
}

TEST(Duties, AreTheMostThatAnInstructionShows) {
  PeClass relay;
  relay.code = {{Receive{ChannelId(0), only_slot, {}}, {}},
                {Move{only_slot, only_slot}, {}},
                {Send{ChannelId(0), only_slot}, {}}};
  EXPECT_EQ(duty_of(relay), Duty::relay);
  PeClass sums = relay;
  sums.code.push_back(
      {Compute{.op = Op::maximum, .operands = {only_slot, only_slot}, .destination = only_slot}, {}});
  EXPECT_EQ(duty_of(sums), Duty::reduction);
  PeClass adds_one = relay;
  adds_one.code.push_back(
      {Compute{.op = Op::add, .operands = {only_slot, Constant{1}}, .destination = only_slot}, {}});
  EXPECT_EQ(duty_of(adds_one), Duty::worker);
  PeClass divides = sums;
  divides.code.push_back(
      {Compute{.op = Op::divide, .operands = {only_slot, only_slot}, .destination = only_slot}, {}});
  EXPECT_EQ(duty_of(divides), Duty::worker);
  PeClass stores = sums;
  stores.code.push_back({Store{TensorId(0), {}, only_slot}, {}});
  EXPECT_EQ(duty_of(stores), Duty::worker);
}

TEST(Duties, TheControllerStandsInTheMiddle) {
  Program program;
  program.grid = {4, 5};
  program.machine.grid = {4, 5};
  EXPECT_EQ(control_place(program), (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(hops_to_control(program, 7), 0);
  EXPECT_EQ(hops_to_control(program, 19), 4);
}

TEST(Duties, OnlyPesWithAProgramCountInTheDistanceToTheController) {
  Program program;
  program.grid = {4, 5};
  program.machine.grid = {4, 5};
  EXPECT_EQ(distance_to_control(program).most_hops, 0);
  EXPECT_EQ(distance_to_control(program).mean_hops, 0);
  PeClass last_row;
  last_row.region = {{{.kind = Condition::Kind::zero, .form = {.coefficients = {1}, .constant = -3}}}};
  program.classes = {last_row};
  EXPECT_EQ(distance_to_control(program).most_hops, 4);
  EXPECT_DOUBLE_EQ(distance_to_control(program).mean_hops, (4 + 3 + 2 + 3 + 4) / 5.0);
}

}  // namespace
}  // namespace cyclotron::program
