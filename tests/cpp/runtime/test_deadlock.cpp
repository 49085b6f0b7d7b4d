#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

#include "programs.hpp"

namespace cyclotron::runtime::testing {
namespace {

/// Two PEs that both receive before they send, or both send `ahead` messages before they receive.
Program facing(bool send_first, std::int64_t messages) {
  Program result = make_program({2});
  result.channels = {link("right", {1}), link("left", {-1})};
  PeClass& all = result.classes[0];
  const auto x = add_slot(all, "x");
  Code code;
  code.move(slot(x), program::Constant{1, 0});
  const auto sends = [&] {
    code.loop("k", constant(0), constant(messages - 1));
    code.if_zero(variable(0)).send(0, slot(x)).end().if_zero(variable(0, -1)).send(1, slot(x)).end().end();
  };
  if (send_first) sends();
  code.loop("k", constant(0), constant(messages - 1));
  code.if_zero(variable(0))
      .receive(1, slot(x))
      .end()
      .if_zero(variable(0, -1))
      .receive(0, slot(x))
      .end()
      .end();
  if (!send_first) sends();
  all.code = code.code;
  return result;
}

Diagnostic deadlock(const Program& program) {
  try {
    (void)simulate(program, {}, {.functional = false, .event_limit = 0});
  } catch (const DeadlockError& error) {
    return error.diagnostic();
  }
  ADD_FAILURE() << "no deadlock";
  return {};
}

TEST(Deadlock, CircleOfFullChannelsNamesTheDepthThatHelps) {
  EXPECT_NO_THROW((void)simulate(facing(true, 2), {}, {.functional = false, .event_limit = 0}));
  const auto found = deadlock(facing(true, 7));
  EXPECT_EQ(found.code, "CYC801");
  EXPECT_EQ(found.message, "no PE can go on: 2 PEs wait for each other in a circle");
  ASSERT_EQ(found.notes.size(), 2U);
  EXPECT_EQ(found.notes[0].text, "PE (0) waits at cycle 1 to send on `right` to PE (1): full (depth 2)");
  EXPECT_EQ(found.notes[0].span.line, 4);
  EXPECT_EQ(found.notes[1].text, "PE (1) waits at cycle 1 to send on `left` to PE (0): full (depth 2)");
  EXPECT_EQ(found.help,
            "a depth of 7 for `right` (now 2) lets it pass: program.with_depths({\"right\": 7}); so does a "
            "depth of 7 for every channel: cy.Machine(link=cy.Link(depth=7), ...)");
}

TEST(Deadlock, LinksOfADirectionAreNamedToo) {
  Program program = facing(true, 7);
  program.machine.links[{1}].depth = 4;
  const auto found = deadlock(program);
  EXPECT_EQ(found.notes[0].text, "PE (0) waits at cycle 3 to send on `right` to PE (1): full (depth 4)");
  EXPECT_EQ(found.help,
            "a depth of 7 for `right` (now 4) lets it pass: program.with_depths({\"right\": 7}); so does a "
            "depth of 7 "
            "for every channel: cy.Machine(link=cy.Link(depth=7), links={(1,): cy.Link(depth=7)}, ...)");
}

/// Chips of two PEs: on each three messages go both ways at once, then two from chip to chip.
Program chips() {
  Program program = make_program({4});
  program.channels = {link("right", {1}), link("left", {-1})};
  program.machine.link.depth = 4;
  program.machine.chiplets = machine::Chiplets{{2}, {}};
  program.machine.chiplets->link.depth = 1;
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x");
  Code code;
  code.move(slot(x), program::Constant{1, 0});
  const auto exchange = [&](std::int64_t first, std::int64_t messages) {
    const auto at = [&](std::int64_t pe) { return variable(0, -pe); };
    const auto often = [&] { code.loop("k", constant(0), constant(messages - 1)); };
    code.if_zero(at(first));
    often();
    code.send(0, slot(x)).end();
    often();
    code.receive(1, slot(x)).end().end();
    code.if_zero(at(first + 1));
    often();
    code.send(1, slot(x)).end();
    often();
    code.receive(0, slot(x)).end().end();
  };
  exchange(0, 3);
  exchange(2, 3);
  exchange(1, 2);
  all.code = code.code;
  return program;
}

TEST(Deadlock, QueuesOfAChannelHaveTheirOwnDepths) {
  EXPECT_EQ(
      deadlock(chips()).help,
      "a depth of 2 for `right` (now 1) lets it pass: program.with_depths({\"right\": 2}); so does a "
      "depth of 2 for every channel: cy.Machine(chiplets=cy.Chiplets(link=cy.Link(depth=2), ...), ...)");
}

/// On the chips `left` is too shallow for three: were `right` as shallow as two need from chip to chip, that would block.
TEST(Deadlock, DepthOfAChannelIsThatOfItsDeeperQueuesToo) {
  Program program = chips();
  program.machine.links[{-1}].depth = 2;
  EXPECT_NE(deadlock(program).help.find("a depth of 2 for `left` (now 1) lets it pass"), std::string::npos)
      << deadlock(program).help;
}

TEST(Deadlock, CircleOfEmptyChannelsSaysThatNoDepthHelps) {
  const auto found = deadlock(facing(false, 1));
  EXPECT_EQ(found.notes[0].text, "PE (0) waits at cycle 0 to receive on `left` from PE (1): empty");
  EXPECT_EQ(found.help, "no channel depth helps: a message that is waited for is never sent");
}

TEST(Deadlock, MessageThatNobodySends) {
  Program program = make_program({2});
  program.channels = {link("right", {1})};
  PeClass& all = program.classes[0];
  const auto x = add_slot(all, "x");
  Code code;
  code.move(slot(x), program::Constant{1, 0});
  code.if_zero(variable(0)).loop("k", constant(0), constant(2)).send(0, slot(x)).end().end();
  code.if_zero(variable(0, -1)).loop("k", constant(0), constant(3)).receive(0, slot(x)).end().end();
  all.code = code.code;
  const auto found = deadlock(program);
  EXPECT_EQ(found.message, "no PE can go on: PE (1) waits for a message that nobody sends");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(found.notes[0].text, "PE (1) waits at cycle 3 to receive on `right` from PE (0): empty");
}

}  // namespace
}  // namespace cyclotron::runtime::testing
