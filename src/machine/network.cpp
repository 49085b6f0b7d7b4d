#include <cyclotron/machine/network.hpp>

#include <algorithm>
#include <string>
#include <utility>

#include "range.hpp"

namespace cyclotron::machine {
namespace {

constexpr std::int64_t most_network_dimensions = 8;
constexpr std::int64_t most_nodes = std::int64_t{1} << 16;
constexpr std::int64_t most_virtual_channels = 64;
constexpr std::int64_t most_latency = std::int64_t{1} << 12;
constexpr std::int64_t most_buffered = std::int64_t{1} << 26;  // flits, in all buffers

[[noreturn]] void refuse(std::string code, std::string message, std::string help) {
  throw ShapeError({.code = std::move(code),
                    .span = {},
                    .message = std::move(message),
                    .notes = {},
                    .help = std::move(help)});
}

}  // namespace

std::string_view name(DimensionOrder order) {
  switch (order) {
    case DimensionOrder::xy: return "xy";
    case DimensionOrder::yx: return "yx";
  }
  return {};
}

std::string_view name(Switching switching) {
  switch (switching) {
    case Switching::wormhole: return "wormhole";
    case Switching::cut_through: return "cut_through";
    case Switching::store_and_forward: return "store_and_forward";
  }
  return {};
}

std::int64_t node_count(const Network& network) {
  std::int64_t nodes = 1;
  for (const std::int64_t extent : network.shape) nodes *= extent;
  return nodes;
}

void verify(const Network& network) {
  if (network.topology != Topology::mesh && network.topology != Topology::torus)
    refuse("CYC402", fmt::format("network `topology` is {}", name(network.topology)),
           "a network is a \"mesh\" or a \"torus\"");
  require_range("network.shape dimensions", static_cast<std::int64_t>(network.shape.size()), 1,
                most_network_dimensions);
  std::int64_t nodes = 1;
  for (std::size_t d = 0; d < network.shape.size(); ++d) {
    require_range(fmt::format("network.shape[{}]", d), network.shape[d], 1, most_nodes);
    nodes *= network.shape[d];
    require_range("network.shape, in nodes", nodes, 1, most_nodes);
  }
  require_range("network.router_latency", network.router_latency_cycles, 1, most_latency);
  require_range("network.link_latency", network.link_latency_cycles, 1, most_latency);
  require_range("network.credit_latency", network.credit_latency_cycles, 0, most_latency);
  require_range("network.virtual_channels", network.virtual_channels, 1, most_virtual_channels);
  if (network.topology == Topology::torus && network.virtual_channels < 2)
    refuse("CYC408",
           "a torus with one virtual channel can deadlock: packets that go around a row or a column in the "
           "same direction "
           "wait for each other in a circle",
           "give virtual_channels=2 or more: packets change to the upper half of them where the grid wraps "
           "around");
  const auto buffers =
      nodes * (2 * static_cast<std::int64_t>(network.shape.size()) + 1) * network.virtual_channels;
  require_range("network.depth", network.depth, 1, std::max<std::int64_t>(1, most_buffered / buffers));
}

}  // namespace cyclotron::machine
