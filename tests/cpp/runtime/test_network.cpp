// Networks of routers, driven a cycle at a time by whoever has packets.
#include <cyclotron/runtime/network.hpp>

#include <gtest/gtest.h>

#include <map>

#include <cyclotron/support/error.hpp>

#include "../../../src/runtime/simulator/network/flit_network.hpp"

namespace cyclotron::runtime {
namespace {

/// Steps until nothing is on its way; the arrivals by tag.
std::map<std::uint64_t, std::int64_t> run(FlitNetwork& network) {
  std::map<std::uint64_t, std::int64_t> result;
  while (!network.idle()) {
    for (const Delivery& delivery : network.step()) result[delivery.tag] = delivery.arrived;
  }
  return result;
}

TEST(FlitNetwork, TellsArrivalsAsItStepsOn) {
  FlitNetwork network({.shape = {8, 8}});
  network.send(0, 63, 1, 7);
  for (int cycle = 0; cycle < 61; ++cycle) ASSERT_TRUE(network.step().empty());
  const auto last = network.step();
  ASSERT_EQ(last.size(), 1U);
  EXPECT_EQ(last[0].tag, 7U);
  EXPECT_EQ(last[0].left, 0);
  EXPECT_EQ(last[0].arrived, 62);
  EXPECT_EQ(network.cycle(), 62);
  EXPECT_TRUE(network.idle());
}

TEST(FlitNetwork, IsAsNewAfterItWasIdle) {
  const machine::Network description{.topology = machine::Topology::torus, .shape = {4}, .depth = 2};
  FlitNetwork network(description);
  for (const std::int64_t start : {0, 1000}) {
    network.skip_to(start);
    for (std::uint32_t node = 0; node < 4; ++node) network.send(node, (node + 2) % 4, 6, node);
    const auto arrived = run(network);
    ASSERT_EQ(arrived.size(), 4U);
    for (const auto& [tag, cycle] : arrived) EXPECT_GE(cycle, start + 6 + 4 * 2 + 5);
  }
  std::int64_t flits = 0;
  for (const auto sent : network.flits_sent()) flits += sent;
  EXPECT_EQ(flits, 2 * 4 * 6 * 3);  // two hops and the node's own link
}

TEST(FlitNetwork, PacketsMayBeSentWhileOthersAreOnTheirWay) {
  FlitNetwork network({.shape = {4}});
  network.send(0, 3, 4, 0);
  network.step();
  network.send(2, 3, 1, 1);  // before the other comes by
  const auto arrived = run(network);
  EXPECT_EQ(arrived.at(1), 1 + 6 + 4);
  EXPECT_EQ(arrived.at(0), 6 + 4 * 3 + 3);
}

TEST(FlitNetwork, TellsTheLoadOfLinks) {
  const FlitNetwork network({.shape = {2, 3}});
  std::vector<std::int64_t> load(network.flits_sent().size());
  network.add_load(0, 5, 4, load);  // right, right, down
  EXPECT_EQ(load[0 * 5 + 4], 4);
  EXPECT_EQ(load[1 * 5 + 4], 4);
  EXPECT_EQ(load[2 * 5 + 2], 4);
  EXPECT_EQ(network.hops(0, 5), 3);
}

TEST(Network, ProgressMayCallItOff) {
  const Progress stop([](double fraction) { return fraction < 0; });
  const machine::Network network{.shape = {16, 16}};
  EXPECT_THROW((void)measure(network, {.measured_cycles = 1'000'000}, {0.2}, stop), ExecutionError);
}

TEST(Network, CirclesOfPacketsAreRefused) {
  const machine::Network torus{.topology = machine::Topology::torus, .virtual_channels = 1};
  EXPECT_THROW(machine::verify(torus), ShapeError);
  EXPECT_THROW((void)deliver(torus, {}), ShapeError);
}

}  // namespace
}  // namespace cyclotron::runtime
