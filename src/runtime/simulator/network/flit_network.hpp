// The routers, links and nodes of a network, a cycle at a time, by the rules of `runtime/network.hpp`.
#pragma once
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include <cyclotron/machine/network.hpp>

namespace cyclotron::runtime {

/// A packet that has come to its node.
struct Delivery {
  std::uint64_t tag = 0;  ///< As `FlitNetwork::send` was given it.
  std::int64_t created = 0;
  std::int64_t left = 0;     ///< As `PacketTimes`.
  std::int64_t arrived = 0;  ///< The same.
};

/// Driven by whoever has packets to send: `send` those of this cycle, then `step`.
class FlitNetwork {
 public:
  /// Requires: verify(network).
  explicit FlitNetwork(const machine::Network& network);

  /// Puts a packet behind those that wait at its node, in this cycle.
  void send(std::uint32_t source, std::uint32_t destination, std::int64_t flits, std::uint64_t tag);
  /// Does what happens in this cycle, and goes on to the next. Returns the packets whose last flit was taken in it, until
  /// the next step.
  std::span<const Delivery> step();
  /// Goes on to a later cycle; nothing is on its way.
  void skip_to(std::int64_t cycle);

  [[nodiscard]] std::int64_t cycle() const { return cycle_; }
  [[nodiscard]] bool idle() const { return packets_.size() == free_packets_.size(); }
  /// Flits that each output port of each router has sent: port 0 to its node.
  [[nodiscard]] std::span<const std::int64_t> flits_sent() const { return flits_sent_; }
  [[nodiscard]] std::uint32_t ports() const { return ports_; }

  /// Links between routers on the way.
  [[nodiscard]] std::int64_t hops(std::uint32_t source, std::uint32_t destination) const;
  /// Adds flits to each of these, by output ports as `flits_sent`.
  void add_load(std::uint32_t source, std::uint32_t destination, std::int64_t flits,
                std::span<std::int64_t> load) const;
  /// Cycles of a packet alone, where buffers hold the flits of a credit's way round.
  [[nodiscard]] std::int64_t zero_load_latency(std::uint32_t source, std::uint32_t destination,
                                               std::int64_t flits) const;

 private:
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  struct InFlight {
    std::uint32_t source = 0;
    std::uint32_t destination = 0;
    std::int64_t flits = 0;
    Delivery times{};
  };
  struct Flit {
    std::uint32_t packet = 0;
    bool head = false;
    bool tail = false;
  };
  /// The virtual channels that a packet may have on its next link.
  struct Way {
    std::uint32_t port = 0;
    std::uint32_t first = 0;
    std::uint32_t last = 0;  ///< Exclusive.
  };
  /// The buffer of a virtual channel that comes in; its flits are in `flits_`.
  struct Buffer {
    std::uint32_t front = 0;
    std::uint32_t count = 0;
    std::int64_t asks_from = never;  ///< The packet in front asks for a virtual channel; it has none yet.
    std::uint32_t output = none;     ///< That it has: port * virtual channels + virtual channel.
    std::int64_t switches_from = 0;
    Way way{};
  };
  struct Source {
    std::deque<std::uint32_t> waiting;  ///< Packets, the oldest first.
    std::int64_t sent = 0;              ///< Flits of the oldest.
    std::uint32_t channel = 0;          ///< Of the oldest, or of the last one.
  };
  struct Landing {
    std::uint32_t buffer = 0;  ///< From `channels_in_all_` on: a node.
    Flit flit;
  };

  void connect();
  [[nodiscard]] std::int64_t offset(std::uint32_t from, std::uint32_t to, std::size_t dimension) const;
  [[nodiscard]] Way way(std::uint32_t router, const InFlight& packet) const;
  [[nodiscard]] bool has_room(std::uint32_t channel, const InFlight& packet) const;
  [[nodiscard]] const InFlight& front_packet(std::uint32_t buffer) const;
  void take_credits();
  void land();
  void leave_source(std::uint32_t node);
  void begin_routing(std::uint32_t at, std::int64_t from);  ///< Of the packet in front of a buffer.
  void allocate_channels(std::uint32_t router);
  void allocate_switch(std::uint32_t router);
  void send_on(std::uint32_t router, std::uint32_t at);  ///< The flit in front of a buffer.
  void deliver(std::uint32_t packet);

  machine::Network network_;
  std::uint32_t nodes_ = 0, ports_ = 0, channels_ = 0, depth_ = 0;
  std::uint32_t router_channels_ = 0;  ///< Of a router: ports * channels.
  std::uint32_t channels_in_all_ = 0;
  std::int64_t routing_ = 0, setup_ = 0, traversal_ = 0;  ///< Cycles of a router's stages.
  std::int64_t cycle_ = 0;
  std::vector<std::int64_t> coordinates_;  ///< Of each node.
  std::vector<std::uint32_t>
      next_;  ///< By output port: the first buffer behind it, or its node after the buffers.
  std::vector<std::uint32_t>
      previous_;  ///< By input port: the first of the channels that lead to it, as in `room_`.

  std::vector<InFlight> packets_;
  std::vector<std::uint32_t> free_packets_;
  std::vector<Buffer> buffers_;
  std::vector<Flit> flits_;
  std::vector<std::uint32_t> buffered_;  ///< Flits in each router.
  std::vector<Source> sources_;
  /// Credits: of each channel that goes out of a router, then of those from each node to its router.
  std::vector<std::int64_t> room_;
  std::vector<std::uint8_t> taken_;  ///< Channels that go out and that a packet has.
  std::vector<std::int64_t> flits_sent_;
  std::vector<Delivery> delivered_;
  /// Arrivals in later cycles, by the cycle modulo the number of lists.
  std::vector<std::vector<Landing>> landings_;
  std::vector<std::vector<std::uint32_t>> credits_;
  /// Turns: of channels that go out, of buffers; of output ports, of input ports; of the buffers of an input port.
  std::vector<std::uint32_t> channel_turn_, buffer_turn_, output_turn_, input_turn_, sender_turn_;
  /// Of one router, in one cycle.
  std::vector<std::uint32_t> asking_, offers_, senders_;
};

}  // namespace cyclotron::runtime
