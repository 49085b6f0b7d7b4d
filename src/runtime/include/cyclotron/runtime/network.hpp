// Networks of routers, simulated flit by flit on their own: packets that are given, and traffic that is drawn.
//
// All routers do the following in each cycle t, with R, L and C the latencies of router, link and credit, V virtual
// channels, and the ports of a router in this order: its node, then for each dimension the lower and the upper neighbour.
// "In turn" is round robin: the first candidate from the place after the one that won last, at first from the lowest.
// 1. Arrive. A flit is put behind the others in the buffer of its virtual channel; a node takes all that arrive at it.
//    A packet is there at t + 1, once its last flit was taken.
// 2. Send. A node that has packets sends a flit of the oldest over its link. A packet's virtual channel is chosen in turn
//    among those with room for it.
// 3. Route. A first flit may ask for a virtual channel max(0, R - 3) cycles after it came to the front of its buffer,
//    at the earliest; when switched store-and-forward, after all of its packet was in the buffer and it in front.
// 4. Allocate virtual channels. Each that no packet has offers itself to one of the buffers in turn that ask for it: whose
//    first packet goes over its link. A buffer takes one of the offers in turn. It asks for all of its class, with room
//    for the whole packet but when switched wormhole. Where the next hop of a torus wraps around, or one before it in
//    this dimension did, the class is the upper half, rounded down, else the lower half; on a mesh, and towards the node,
//    all are one class.
// 5. Allocate the switch, a cycle after that (of R = 1: in the same cycle). Buffers that have a flit, a virtual channel and
//    room behind it ask for their link; each link offers itself to one of the ports in turn that ask for it, a port takes
//    one of the offers in turn, and of its buffers that asked for that link the next in turn sends a flit.
// 6. Send on. That flit arrives at t + min(2, max(1, R - 1)) + L. The room that it leaves may be used L + C after t, and the
//    packet behind may ask from t + 1 + max(0, R - 3) on; with the last flit of a packet its virtual channel is free again.
// Pointers of turns move only where an offer is taken. Links to nodes always have room.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <cyclotron/machine/network.hpp>
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime {

/// Flits that a node wants to send to another, or to itself.
struct RoutedPacket {
  std::int64_t cycle = 0;  ///< From which on it may leave its node.
  std::int64_t source = 0;
  std::int64_t destination = 0;  ///< Linear indices of nodes, last dimension fastest.
  std::int64_t flits = 1;
};

struct PacketTimes {
  std::int64_t left = 0;     ///< The cycle in which its first flit left its node.
  std::int64_t arrived = 0;  ///< The first cycle in which all of it is there.
};

/// The times of packets, in their order. Of packets from one node those of earlier cycles go first, of one cycle in their
/// order. Throws ShapeError as `verify`, or CYC401 where a packet is none of the network, or fits no buffer that it has to
/// fit.
[[nodiscard]] std::vector<PacketTimes> deliver(const machine::Network& network,
                                               const std::vector<RoutedPacket>& packets,
                                               const Progress& progress = {});

/// Nodes send to: any other node; the one with its coordinates the other way round; with each coordinate counted from
/// the other end; half way round each dimension, rounded up, less one; the next one along each, around its end; or any other,
/// but for a share of the packets that go to the node in the middle. Nodes that would send to themselves send nothing.
enum class Pattern : std::uint8_t { uniform, transpose, complement, tornado, neighbor, hotspot };
[[nodiscard]] std::string_view name(Pattern pattern);

/// Packets of one size, from each node at random: in each cycle one with the same probability.
struct Traffic {
  Pattern pattern = Pattern::uniform;
  std::int64_t packet_flits = 1;
  double hotspot = 0.1;  ///< Share of packets that go to the node in the middle.
  std::uint64_t seed = 0;
  std::int64_t warmup_cycles = 1000;
  std::int64_t measured_cycles = 10000;
  bool operator==(const Traffic&) const = default;
};

/// Of the packets that came to be in the measured cycles. Rates are flits a cycle of each node that sends.
struct TrafficMeasures {
  double rate = 0;        ///< As asked for.
  double offered = 0;     ///< That came to be.
  double throughput = 0;  ///< That arrived in the measured cycles.
  std::int64_t packets = 0;
  double latency = 0;     ///< Cycles until a packet is there, mean; infinite where it is saturated.
  double latency_99 = 0;  ///< That 99 % of the packets do not exceed; the same.
  double zero_load = 0;   ///< Their mean latency had each the network for itself, and buffers deep enough.
  double hops = 0;        ///< Links between routers on their way, mean.
  double busiest_link =
      0;  ///< Share of the measured cycles in which the busiest link between routers passed a flit.
  /// Not all of them had arrived after as many cycles again, or a link has more flits to pass than there were cycles.
  bool saturated = false;
};

/// Measures the traffic at each rate, of itself: the packets of a rate do not depend on the others. Throws ShapeError as
/// `deliver`, CYC401 where a number is out of range or a pattern needs another grid.
[[nodiscard]] std::vector<TrafficMeasures> measure(const machine::Network& network, const Traffic& traffic,
                                                   const std::vector<double>& rates,
                                                   const Progress& progress = {});

/// The highest rate, to 1/1024, at which the mean latency is at most three times that without load.
[[nodiscard]] double saturation(const machine::Network& network, const Traffic& traffic,
                                const Progress& progress = {});

}  // namespace cyclotron::runtime
