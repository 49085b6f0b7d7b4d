#include <gtest/gtest.h>

#include <array>

#include <cyclotron/program/wires.hpp>

namespace cyclotron::program {
namespace {

using At = std::array<std::int64_t, 2>;

/// On 3 x 4 PEs, a channel down the columns, one along the rows, and a network along the rows.
Program three_channels() {
  Program program;
  program.grid = program.machine.grid = {3, 4};
  program.channels.resize(3);
  program.channels[0].offset = {1, 0};
  program.channels[1].offset = {0, 1};
  program.channels[2].kind = Channel::Kind::network;
  return program;
}

TEST(Wires, ChannelsTravelOnTheLinkAlongTheirOffset) {
  Program program = three_channels();
  auto& machine = program.machine;
  machine.links[{0, 1}].depth = 5;
  machine.broadcast.depth = 7;
  const Wires wires(program);
  EXPECT_TRUE(wires.are_alike());
  EXPECT_EQ(&wires.link(0, At{0, 0}), &machine.link);
  EXPECT_EQ(&wires.link(1, At{0, 0}), &machine.links.at({0, 1}));
  EXPECT_EQ(&wires.link(2, At{0, 0}), &machine.broadcast);
  EXPECT_EQ(least_depths(program), (std::vector<std::int64_t>{2, 5, 7}));
  program.channels[1].depth = 3;
  EXPECT_EQ(wires.depth(1, At{0, 0}), 3);
}

TEST(Wires, JoinEachPeToTheOneThatAScaleNames) {
  Program program = three_channels();
  program.channels[1].offset = {0, -1};
  program.channels[1].scale = {1, 2};  // PE (i, j) receives from (i, 2 j + 1)
  const Wires wires(program);
  EXPECT_EQ(wires.sender(1, At{1, 0}), 5);
  EXPECT_EQ(wires.sender(1, At{1, 1}), 7);
  EXPECT_EQ(wires.sender(1, At{1, 2}), Wires::none);
  EXPECT_EQ(wires.receiver(1, At{1, 1}), 4);
  EXPECT_EQ(wires.receiver(1, At{1, 3}), 5);
  EXPECT_EQ(wires.receiver(1, At{1, 2}), Wires::none);
  EXPECT_EQ(wires.receiver(1, At{1, 0}), Wires::none);
}

TEST(Wires, WrapAroundByDimension) {
  Program program = three_channels();
  program.machine.topology = {machine::Topology::torus, machine::Topology::mesh};
  const Wires wires(program);
  EXPECT_EQ(wires.receiver(0, At{2, 1}), 1);
  EXPECT_EQ(wires.sender(0, At{0, 1}), 9);
  EXPECT_EQ(wires.receiver(1, At{2, 3}), Wires::none);
  EXPECT_EQ(wires.sender(1, At{2, 0}), Wires::none);
  EXPECT_EQ(wires.receiver(1, At{2, 2}), 11);
  EXPECT_EQ(wires.coordinates(9), (std::vector<std::int64_t>{2, 1}));
}

TEST(Wires, WrapAroundBesideTheExecutivesRow) {
  Program program = three_channels();
  auto& machine = program.machine;
  machine.topology = {machine::Topology::torus};
  ++program.grid.front();  // PE (3, 1) is the executive's
  program.classes.resize(2);
  program.classes[1].executive = true;
  program.channels.push_back({.name = "", .tile = {}, .offset = {3, 1}, .link = machine.link});
  program.channels.push_back({.name = "", .tile = {}, .offset = {-3, -1}, .link = machine.link});
  const Wires wires(program);
  EXPECT_EQ(wires.receiver(0, At{2, 1}), 1);
  EXPECT_EQ(wires.sender(0, At{0, 1}), 9);
  EXPECT_EQ(wires.receiver(0, At{3, 1}), Wires::none);
  EXPECT_EQ(wires.sender(0, At{3, 1}), Wires::none);
  EXPECT_EQ(wires.way(0, At{2, 1}), (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(wires.receiver(3, At{0, 0}), 13);
  EXPECT_EQ(wires.sender(4, At{0, 0}), 13);
  EXPECT_EQ(wires.receiver(4, At{3, 1}), 0);
  EXPECT_EQ(wires.way(4, At{3, 1}), (std::vector<std::int64_t>{-3, -1}));

  machine.topology = {machine::Topology::custom};
  machine.link_maps = {{.map = "(i, j) -> ((i + 1) % 3, j)", .link = {}}};
  const Wires maps(program);
  EXPECT_EQ(maps.receiver(0, At{0, 1}), 5);
  EXPECT_EQ(maps.receiver(1, At{0, 1}), Wires::none);
  EXPECT_EQ(maps.receiver(3, At{0, 0}), 13);
  EXPECT_EQ(maps.receiver(0, At{3, 1}), Wires::none);
}

TEST(Wires, LeaveAChipOverItsLink) {
  Program program = three_channels();
  auto& machine = program.machine;
  machine.topology = {machine::Topology::torus};
  machine.link.depth = 9;
  machine.links[{0, 1}].depth = 8;
  machine.chiplets = {.shape = {2, 2}, .link = {.latency_cycles = 8, .depth = 4}};
  const Wires wires(program);
  EXPECT_FALSE(wires.are_alike());
  EXPECT_EQ(&wires.link(0, At{0, 0}), &machine.link);
  EXPECT_EQ(&wires.link(0, At{1, 0}), &machine.chiplets->link);
  EXPECT_EQ(&wires.link(0, At{2, 0}), &machine.chiplets->link);  // around, to the chip of row 0
  EXPECT_EQ(&wires.link(1, At{0, 0}), &machine.links.at({0, 1}));
  EXPECT_EQ(&wires.link(1, At{0, 1}), &machine.chiplets->link);
  EXPECT_EQ(&wires.link(2, At{0, 0}), &machine.broadcast);
  EXPECT_EQ(wires.depth(0, At{0, 0}), 9);
  EXPECT_EQ(wires.depth(0, At{1, 0}), 4);
  EXPECT_EQ(least_depths(program), (std::vector<std::int64_t>{4, 4, 2}));
}

}  // namespace
}  // namespace cyclotron::program
