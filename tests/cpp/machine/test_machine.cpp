#include <cyclotron/machine/machine.hpp>

#include <limits>

#include <gtest/gtest.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::machine {
namespace {

Machine mesh(std::vector<std::int64_t> grid) {
  Machine machine;
  machine.grid = std::move(grid);
  return machine;
}

TEST(Machine, PrintsOneLine) {
  EXPECT_EQ(to_string(mesh({4, 4})), "mesh 4x4, link latency 1 depth 2, 48 KiB a PE");
  Machine torus = mesh({});
  torus.topology = {Topology::torus};
  torus.link.latency_cycles = 3;
  torus.pe.memory_bytes = 1000;
  EXPECT_EQ(to_string(torus),
            "torus of any size, link latency 3 depth 2, broadcast latency 1 depth 2, 1000 bytes a PE");
}

TEST(Machine, PrintsItsUnits) {
  Machine machine = mesh({4});
  machine.pe.matrix = Unit{{8, 8, 16}, 32};
  machine.pe.scalar = Unit{{}, 3};
  machine.clock_hz = 7e8;
  EXPECT_EQ(to_string(machine),
            "mesh 4, link latency 1 depth 2, 48 KiB a PE, matrix unit 8x8x16 cycles 32, scalar unit cycles "
            "3, 700 MHz");
}

TEST(Machine, PrintsItsLinks) {
  Machine machine = mesh({4, 4});
  machine.links[{0, 1}] = {.latency_cycles = 4, .response_latency_cycles = 2, .words_per_cycle = 8};
  EXPECT_EQ(
      to_string(machine),
      "mesh 4x4, link latency 1 depth 2, link (0, 1) latency 4 depth 2 width 8 response 2, 48 KiB a PE");
}

TEST(Machine, DimensionsAreThoseOfTheGridOrTheLinks) {
  Machine machine;
  EXPECT_EQ(dimensions(machine), std::nullopt);
  machine.links[{0, 1}] = {};
  EXPECT_EQ(dimensions(machine), 2);
  machine.grid = {4, 4, 4};
  EXPECT_EQ(dimensions(machine), 3);
}

TEST(Machine, ARingIsATorusOfOneDimension) {
  Machine ring;
  ring.topology = {Topology::ring};
  EXPECT_EQ(dimensions(ring), 1);
  EXPECT_EQ(hops(ring, {6}, {5}), 1);
  EXPECT_EQ(topology_from_name("ring"), Topology::ring);
  EXPECT_NO_THROW(verify(ring));
  ring.grid = {6, 6};
  EXPECT_THROW(verify(ring), ShapeError);
}

TEST(Machine, LinksJoinNeighbours) {
  const auto message = [](Topology topology, std::vector<std::int64_t> offset) -> std::string {
    Machine machine = mesh({4, 4});
    machine.topology = {topology};
    machine.links[std::move(offset)] = {};
    try {
      verify(machine);
    } catch (const ShapeError& error) {
      EXPECT_EQ(error.diagnostic().code, "CYC401");
      return error.diagnostic().message;
    }
    return "nothing thrown";
  };
  EXPECT_EQ(message(Topology::mesh, {0, -1}), "nothing thrown");
  EXPECT_EQ(message(Topology::hexagonal, {-1, -1}), "nothing thrown");
  EXPECT_EQ(message(Topology::hexagonal, {-1, 1}), "machine `links[(-1, 1)]` is no hop of a hexagonal");
  EXPECT_EQ(message(Topology::mesh, {std::numeric_limits<std::int64_t>::min(), 0}),
            "machine `links[(-9223372036854775808, 0)]` is no hop of a mesh");
  EXPECT_EQ(message(Topology::torus, {3, 0}), "machine `links[(3, 0)]` is no hop of a torus");
  EXPECT_EQ(message(Topology::mesh, {0, 0}), "machine `links[(0, 0)]` is no hop of a mesh");
  EXPECT_EQ(message(Topology::mesh, {1}), "machine `links[(1)]` has rank 1, and the grid rank 2");
}

TEST(Machine, DefaultsAreValid) {
  EXPECT_NO_THROW(verify(Machine{}));
  EXPECT_NO_THROW(verify(mesh({1, 1000000})));
}

TEST(Machine, UnitsHaveTheirShapes) {
  Machine machine = mesh({2});
  machine.pe.matrix = Unit{{4, 4}, 1};
  try {
    verify(machine);
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_EQ(error.diagnostic().code, "CYC402");
    EXPECT_EQ(error.diagnostic().message, "machine `pe.matrix` has a shape of 2 sizes instead of 3");
    EXPECT_EQ(error.diagnostic().help, "give a cy.Unit(shape=(m, n, k), cycles=...)");
  }
}

TEST(Machine, NumbersOutOfRangeAreNamed) {
  const auto message = [](auto change) -> std::string {
    Machine machine = mesh({2});
    change(machine);
    try {
      verify(machine);
    } catch (const ShapeError& error) {
      EXPECT_EQ(error.diagnostic().code, "CYC401");
      return error.diagnostic().message;
    }
    return "nothing thrown";
  };
  EXPECT_EQ(message([](Machine& m) { m.grid = {2, 0}; }).substr(0, 23), "machine `grid[1]` is 0,");
  EXPECT_EQ(message([](Machine& m) { m.link.depth = 0; }).substr(0, 26), "machine `link.depth` is 0,");
  EXPECT_NE(message([](Machine& m) { m.link.latency_cycles = -1; }).find("link.latency_cycles"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.broadcast.words_per_cycle = -1; }).find("broadcast.words_per_cycle"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.cycles["add"] = -1; }).find("pe.cycles[add]"), std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.memory_bytes = 0; }).find("pe.memory_bytes"), std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.registers = -1; }).find("`pe.registers` is -1"), std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.banks = 0; }).find("`pe.banks` is 0"), std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.banks = 1025; }).find("`pe.banks` is 1025"), std::string::npos);
  EXPECT_EQ(message([](Machine& m) { m.pe.banks = 7; }),
            "machine `pe.memory` is 49152 bytes, which are no 7 equal banks");
  EXPECT_NE(message([](Machine& m) { m.pe.vector = Unit{{0}, 1}; }).find("`pe.vector.shape[0]` is 0"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.pe.scalar = Unit{{}, 65537}; }).find("`pe.scalar.cycles` is 65537"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.links[{1}].depth = 0; }).find("`links[(1)].depth` is 0"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.clock_hz = -1; }).find("`clock_hz` is -1, not a positive number"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.clock_hz = std::numeric_limits<double>::quiet_NaN(); }).find("is nan"),
            std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.grid.assign(9, 1); }).find("grid dimensions"), std::string::npos);
  EXPECT_NE(message([](Machine& m) { m.grid.assign(3, std::int64_t{1} << 30); }).find("grid size"),
            std::string::npos);
  EXPECT_EQ(message([](Machine& m) { m.link.response_latency_cycles = 0; }), "nothing thrown");
  EXPECT_EQ(message([](Machine& m) { m.link.latency_cycles = 0; }), "nothing thrown");
}

}  // namespace
}  // namespace cyclotron::machine
