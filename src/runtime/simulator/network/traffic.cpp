#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/runtime/network.hpp>
#include <cyclotron/support/error.hpp>

#include "../../engine/progress_ticker.hpp"
#include "flit_network.hpp"

namespace cyclotron::runtime {
namespace {

constexpr std::int64_t most_cycles = std::int64_t{1} << 32;
constexpr std::int64_t most_flits = std::int64_t{1} << 24;
constexpr double saturated_latency = 3;  ///< Times the latency without load.
constexpr int saturation_bits = 10;

[[noreturn]] void refuse(std::string message, std::string help) {
  throw ShapeError(
      {.code = "CYC401", .span = {}, .message = std::move(message), .notes = {}, .help = std::move(help)});
}

void require(std::string_view what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    refuse(fmt::format("{} is {}, outside {} .. {}", what, value, least, most),
           fmt::format("give at {} {}", value < least ? "least" : "most", value < least ? least : most));
}

/// Throws ShapeError where packets of so many flits fit no buffer that has to hold them whole.
void require_packet(const machine::Network& network, std::int64_t flits) {
  require("a packet's number of flits", flits, 1, most_flits);
  if (network.switching == machine::Switching::wormhole || flits <= network.depth) return;
  refuse(fmt::format("a packet has {} flits, and buffers hold {}", flits, network.depth),
         fmt::format("give depth={} or more, or switching=\"wormhole\": else a buffer takes whole packets",
                     flits));
}

/// Random numbers of one node, the same everywhere (splitmix64).
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t node) : state_(seed) { state_ = next() + node; }

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    auto mixed = state_;
    mixed = (mixed ^ (mixed >> 30U)) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ (mixed >> 27U)) * 0x94d049bb133111ebU;
    return mixed ^ (mixed >> 31U);
  }
  /// True with a probability.
  bool chance(double probability) { return static_cast<double>(next() >> 11U) * 0x1p-53 < probability; }
  /// Less than a count, which is small.
  std::uint32_t below(std::uint32_t count) {
    return static_cast<std::uint32_t>(((next() >> 32U) * count) >> 32U);
  }

 private:
  std::uint64_t state_;
};

/// The nodes that nodes send to.
class Destinations {
 public:
  Destinations(const machine::Network& network, const Traffic& traffic)
      : nodes_(static_cast<std::uint32_t>(machine::node_count(network))), hotspot_(traffic.hotspot) {
    if (traffic.pattern == Pattern::transpose &&
        !std::ranges::equal(network.shape, std::views::reverse(network.shape)))
      refuse(
          "the nodes of `transpose` traffic send to the coordinates the other way round, which this grid "
          "lacks",
          "give a square shape, for example (8, 8)");
    std::vector<std::int64_t> middle;
    for (const auto extent : network.shape) middle.push_back(extent / 2);
    middle_ = index(network, middle);
    is_drawn_ = traffic.pattern == Pattern::uniform || traffic.pattern == Pattern::hotspot;
    if (traffic.pattern == Pattern::uniform) hotspot_ = 0;
    for (std::uint32_t node = 0; node < nodes_; ++node)
      fixed_.push_back(fixed(network, traffic.pattern, node));
  }

  [[nodiscard]] bool sends(std::uint32_t node) const { return is_drawn_ ? nodes_ > 1 : fixed_[node] != node; }
  [[nodiscard]] std::uint32_t draw(std::uint32_t node, Random& random) const {
    if (!is_drawn_) return fixed_[node];
    if (hotspot_ > 0 && random.chance(hotspot_) && node != middle_) return middle_;
    const auto other = random.below(nodes_ - 1);
    return other < node ? other : other + 1;
  }

 private:
  static std::uint32_t index(const machine::Network& network, const std::vector<std::int64_t>& coordinates) {
    std::int64_t result = 0;
    for (std::size_t d = 0; d < coordinates.size(); ++d) result = result * network.shape[d] + coordinates[d];
    return static_cast<std::uint32_t>(result);
  }
  static std::uint32_t fixed(const machine::Network& network, Pattern pattern, std::uint32_t node) {
    auto at = std::vector<std::int64_t>(network.shape.size());
    std::int64_t rest = node;
    for (std::size_t d = at.size(); d-- > 0; rest /= network.shape[d]) at[d] = rest % network.shape[d];
    if (pattern == Pattern::transpose) std::ranges::reverse(at);
    for (std::size_t d = 0; d < at.size(); ++d) {
      const auto extent = network.shape[d];
      if (pattern == Pattern::complement) at[d] = extent - 1 - at[d];
      if (pattern == Pattern::tornado) at[d] = (at[d] + (extent + 1) / 2 - 1) % extent;
      if (pattern == Pattern::neighbor) at[d] = (at[d] + 1) % extent;
    }
    return index(network, at);
  }

  std::uint32_t nodes_;
  double hotspot_;
  std::uint32_t middle_ = 0;
  bool is_drawn_ = true;
  std::vector<std::uint32_t> fixed_;
};

/// One rate: packets come to be in all cycles, those of the measured ones are tagged.
class Measurement {
 public:
  Measurement(const machine::Network& network, const Traffic& traffic, const Destinations& destinations,
              double rate)
      : network_(network), traffic_(traffic), destinations_(destinations), rate_(rate) {
    for (std::uint32_t node = 0; node < machine::node_count(network); ++node) {
      random_.emplace_back(traffic.seed, node);
      if (destinations.sends(node)) senders_.push_back(node);
    }
  }

  /// `tick(cycle, end)` is called in each cycle.
  template <class Tick>
  TrafficMeasures run(Tick tick) {
    const auto first = traffic_.warmup_cycles, end = first + traffic_.measured_cycles;
    std::vector<std::int64_t> before;
    load_.assign(network_.flits_sent().size(), 0);
    std::int64_t busiest = 0;
    for (std::int64_t cycle = 0; cycle < 2 * end && (cycle < end || on_their_way_ > 0); ++cycle) {
      tick(cycle, 2 * end);
      if (cycle == first) before.assign(network_.flits_sent().begin(), network_.flits_sent().end());
      const bool measured = cycle >= first && cycle < end;
      create(measured);
      for (const Delivery& delivery : network_.step()) {
        if (measured) ++arrived_;
        if (delivery.tag == 0) continue;
        --on_their_way_;
        latencies_.push_back(delivery.arrived - delivery.created);
      }
      if (network_.cycle() == end) busiest = busiest_since(before);
    }
    return measures(busiest);
  }

 private:
  void create(bool measured) {
    const double probability = rate_ / static_cast<double>(traffic_.packet_flits);
    for (const auto node : senders_) {
      if (!random_[node].chance(probability)) continue;
      const auto destination = destinations_.draw(node, random_[node]);
      network_.send(node, destination, traffic_.packet_flits, measured ? 1 : 0);
      if (!measured) continue;
      ++created_;
      ++on_their_way_;
      hops_ += network_.hops(node, destination);
      zero_load_ += network_.zero_load_latency(node, destination, traffic_.packet_flits);
      network_.add_load(node, destination, traffic_.packet_flits, load_);
    }
  }

  /// Flits that went over the busiest link between routers.
  [[nodiscard]] std::int64_t busiest_since(const std::vector<std::int64_t>& before) const {
    std::int64_t most = 0;
    for (std::size_t n = 0; n < before.size(); ++n) {
      if (n % network_.ports() != 0) most = std::max(most, network_.flits_sent()[n] - before[n]);
    }
    return most;
  }

  TrafficMeasures measures(std::int64_t busiest) {
    const auto cycles = static_cast<double>(traffic_.measured_cycles);
    const auto flits = static_cast<double>(traffic_.packet_flits);
    const auto places = cycles * std::max<double>(1, static_cast<double>(senders_.size()));
    const auto count = static_cast<double>(created_);
    const bool all = on_their_way_ == 0 && std::ranges::max(load_) <= traffic_.measured_cycles;
    constexpr auto infinity = std::numeric_limits<double>::infinity();
    const auto mean = [&](std::int64_t sum) {
      return created_ == 0 ? 0.0 : static_cast<double>(sum) / count;
    };
    TrafficMeasures result{.rate = rate_,
                           .offered = count * flits / places,
                           .throughput = static_cast<double>(arrived_) * flits / places,
                           .packets = created_,
                           .latency = infinity,
                           .latency_99 = infinity,
                           .zero_load = mean(zero_load_),
                           .hops = mean(hops_),
                           .busiest_link = static_cast<double>(busiest) / cycles,
                           .saturated = !all};
    if (!all) return result;
    result.latency = mean(std::accumulate(latencies_.begin(), latencies_.end(), std::int64_t{0}));
    result.latency_99 = 0;
    if (latencies_.empty()) return result;
    const auto rank =
        latencies_.begin() + (static_cast<std::ptrdiff_t>(latencies_.size()) * 99 + 99) / 100 - 1;
    std::ranges::nth_element(latencies_, rank);
    result.latency_99 = static_cast<double>(*rank);
    return result;
  }

  FlitNetwork network_;
  const Traffic& traffic_;
  const Destinations& destinations_;
  double rate_;
  std::vector<Random> random_;  ///< Of each node.
  std::vector<std::uint32_t> senders_;
  std::int64_t created_ = 0, on_their_way_ = 0;  ///< Of the measured cycles.
  std::int64_t arrived_ = 0;                     ///< Packets, in the measured cycles.
  std::int64_t hops_ = 0, zero_load_ = 0;
  std::vector<std::int64_t> load_;  ///< Flits that each link is to pass.
  std::vector<std::int64_t> latencies_;
};

void require_traffic(const machine::Network& network, const Traffic& traffic) {
  machine::verify(network);
  require_packet(network, traffic.packet_flits);
  require("`warmup`", traffic.warmup_cycles, 0, most_cycles);
  require("`cycles`", traffic.measured_cycles, 1, most_cycles);
  if (!(traffic.hotspot >= 0 && traffic.hotspot <= 1))
    refuse(fmt::format("`hotspot` is {}, and no share from 0 to 1", traffic.hotspot),
           "give the share of packets that go to the node in the middle, for example 0.1");
}

}  // namespace

std::string_view name(Pattern pattern) {
  switch (pattern) {
    case Pattern::uniform: return "uniform";
    case Pattern::transpose: return "transpose";
    case Pattern::complement: return "complement";
    case Pattern::tornado: return "tornado";
    case Pattern::neighbor: return "neighbor";
    case Pattern::hotspot: return "hotspot";
  }
  return {};
}

std::vector<PacketTimes> deliver(const machine::Network& network, const std::vector<RoutedPacket>& packets,
                                 const Progress& progress) {
  machine::verify(network);
  const auto nodes = machine::node_count(network);
  for (const RoutedPacket& packet : packets) {
    require("a packet's cycle", packet.cycle, 0, most_cycles);
    require("a packet's source", packet.source, 0, nodes - 1);
    require("a packet's destination", packet.destination, 0, nodes - 1);
    require_packet(network, packet.flits);
  }
  std::vector<std::size_t> order(packets.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t n) { return packets[n].cycle; });
  FlitNetwork flits(network);
  ProgressTicker ticker(progress);
  std::vector<PacketTimes> result(packets.size());
  std::size_t sent = 0, arrived = 0;
  while (arrived < packets.size()) {
    if (flits.idle()) flits.skip_to(packets[order[sent]].cycle);
    for (; sent < packets.size() && packets[order[sent]].cycle == flits.cycle(); ++sent) {
      const RoutedPacket& packet = packets[order[sent]];
      flits.send(static_cast<std::uint32_t>(packet.source), static_cast<std::uint32_t>(packet.destination),
                 packet.flits, order[sent]);
    }
    for (const Delivery& delivery : flits.step()) {
      result[delivery.tag] = {.left = delivery.left, .arrived = delivery.arrived};
      ++arrived;
    }
    ticker.tick(nodes, [&] { return static_cast<double>(arrived) / static_cast<double>(packets.size()); });
  }
  return result;
}

std::vector<TrafficMeasures> measure(const machine::Network& network, const Traffic& traffic,
                                     const std::vector<double>& rates, const Progress& progress) {
  require_traffic(network, traffic);
  for (const double rate : rates) {
    if (!(rate >= 0 && rate <= 1))
      refuse(fmt::format("a rate is {} flits a cycle of each node, outside 0 .. 1", rate),
             "give rates that a node's link can pass, for example rate=[0.05, 0.1, 0.2]");
  }
  const Destinations destinations(network, traffic);
  ProgressTicker ticker(progress);
  std::vector<TrafficMeasures> result;
  for (const double rate : rates) {
    const auto tick = [&](std::int64_t cycle, std::int64_t end) {
      ticker.tick(machine::node_count(network), [&] {
        const auto part = static_cast<double>(cycle) / static_cast<double>(end);
        return (static_cast<double>(result.size()) + part) / static_cast<double>(rates.size());
      });
    };
    result.push_back(Measurement(network, traffic, destinations, rate).run(tick));
  }
  return result;
}

double saturation(const machine::Network& network, const Traffic& traffic, const Progress& progress) {
  double result = 0;
  double step = 0.5;
  for (int n = 0; n < saturation_bits; ++n, step /= 2) {
    const TrafficMeasures at = measure(network, traffic, {result + step}, progress).front();
    if (!at.saturated && at.latency <= saturated_latency * at.zero_load) result += step;
  }
  return result;
}

}  // namespace cyclotron::runtime
