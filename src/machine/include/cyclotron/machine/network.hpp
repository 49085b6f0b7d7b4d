// A network of routers between the nodes of a grid, as plain data. Units are in the names.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <cyclotron/machine/machine.hpp>

namespace cyclotron::machine {

/// The dimensions of the grid in the order in which a packet goes along them: xy from the last to the first, along a row
/// and then along a column; yx from the first to the last.
enum class DimensionOrder : std::uint8_t { xy, yx };
[[nodiscard]] std::string_view name(DimensionOrder order);

/// The moment at which a router passes the first flit of a packet on: once the next buffer has room for that flit; for all
/// of the packet; or for all of it, which has come to this router.
enum class Switching : std::uint8_t { wormhole, cut_through, store_and_forward };
[[nodiscard]] std::string_view name(Switching switching);

/// A router at each node, with a buffer for each virtual channel of each link that comes in; the timing rules are those of
/// `runtime/network.hpp`. Flits are what a link passes in a cycle.
struct Network {
  Topology topology = Topology::mesh;  ///< Or torus.
  std::vector<std::int64_t> shape = {8, 8};
  DimensionOrder routing = DimensionOrder::xy;
  Switching switching = Switching::wormhole;
  std::int64_t router_latency_cycles = 3;  ///< From a flit's arrival to its leaving, at least 1.
  std::int64_t link_latency_cycles = 1;    ///< At least 1.
  std::int64_t credit_latency_cycles = 1;  ///< Of a credit, besides its link's, at least 0.
  std::int64_t virtual_channels = 2;       ///< Of each link, at least 1; of a torus 2.
  std::int64_t depth = 8;                  ///< Flits that the buffer of a virtual channel holds, at least 1.
  bool operator==(const Network&) const = default;
};

[[nodiscard]] std::int64_t node_count(const Network& network);

/// Throws ShapeError: CYC401 where a number is out of range, or there are too many nodes or buffers; CYC402 of another
/// topology; CYC408 where packets could wait for each other in a circle.
void verify(const Network& network);

}  // namespace cyclotron::machine
