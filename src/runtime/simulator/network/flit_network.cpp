#include "flit_network.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace cyclotron::runtime {
namespace {

/// Places from `turn` to `candidate` among `count`, around their end.
std::uint32_t wait_of(std::uint32_t candidate, std::uint32_t turn, std::uint32_t count) {
  return candidate >= turn ? candidate - turn : candidate + count - turn;
}

std::uint32_t after(std::uint32_t winner, std::uint32_t count) {
  return winner + 1 == count ? 0 : winner + 1;
}

/// The input port at the other end of a link, of the output port to a neighbour; and the other way round.
std::uint32_t opposite(std::uint32_t port) { return port % 2 == 1 ? port + 1 : port - 1; }

}  // namespace

FlitNetwork::FlitNetwork(const machine::Network& network)
    : network_(network),
      nodes_(static_cast<std::uint32_t>(machine::node_count(network))),
      ports_(static_cast<std::uint32_t>(2 * network.shape.size() + 1)),
      channels_(static_cast<std::uint32_t>(network.virtual_channels)),
      depth_(static_cast<std::uint32_t>(network.depth)),
      router_channels_(ports_ * channels_),
      channels_in_all_(nodes_ * router_channels_),
      routing_(std::max<std::int64_t>(0, network.router_latency_cycles - 3)),
      setup_(network.router_latency_cycles == 1 ? 0 : 1),
      traversal_(std::clamp<std::int64_t>(network.router_latency_cycles - 1, 1, 2)),
      buffers_(channels_in_all_),
      flits_(std::size_t{channels_in_all_} * depth_),
      buffered_(nodes_, 0),
      sources_(nodes_),
      room_(channels_in_all_ + std::size_t{nodes_} * channels_, network.depth),
      taken_(channels_in_all_, 0),
      flits_sent_(std::size_t{nodes_} * ports_, 0),
      landings_(static_cast<std::size_t>(traversal_ + network.link_latency_cycles + 1)),
      credits_(static_cast<std::size_t>(network.link_latency_cycles + network.credit_latency_cycles + 1)),
      channel_turn_(channels_in_all_, 0),
      buffer_turn_(channels_in_all_, 0),
      output_turn_(std::size_t{nodes_} * ports_, 0),
      input_turn_(std::size_t{nodes_} * ports_, 0),
      sender_turn_(std::size_t{nodes_} * ports_, 0),
      offers_(router_channels_, none),
      senders_(std::size_t{ports_} * ports_, none) {
  for (Source& source : sources_) source.channel = channels_ - 1;
  connect();
}

void FlitNetwork::connect() {
  const auto dimensions = network_.shape.size();
  coordinates_.resize(nodes_ * dimensions);
  next_.assign(std::size_t{nodes_} * ports_, none);
  previous_.assign(std::size_t{nodes_} * ports_, none);
  for (std::uint32_t node = 0; node < nodes_; ++node) {
    next_[std::size_t{node} * ports_] = channels_in_all_ + node;
    previous_[std::size_t{node} * ports_] = channels_in_all_ + node * channels_;
    std::uint32_t stride = 1;
    for (std::size_t d = dimensions; d-- > 0;) {
      const auto extent = static_cast<std::uint32_t>(network_.shape[d]);
      const auto at = node / stride % extent;
      coordinates_[node * dimensions + d] = at;
      for (const bool up : {false, true}) {
        const bool wraps = up ? at + 1 == extent : at == 0;
        if (wraps && network_.topology != machine::Topology::torus) continue;
        const auto to = up ? after(at, extent) : (at == 0 ? extent - 1 : at - 1);
        const auto neighbor = node - at * stride + to * stride;
        const auto port = static_cast<std::uint32_t>(1 + 2 * d + (up ? 1 : 0));
        next_[std::size_t{node} * ports_ + port] = neighbor * router_channels_ + opposite(port) * channels_;
        previous_[std::size_t{neighbor} * ports_ + opposite(port)] =
            node * router_channels_ + port * channels_;
      }
      stride *= extent;
    }
  }
}

std::int64_t FlitNetwork::offset(std::uint32_t from, std::uint32_t to, std::size_t dimension) const {
  const auto dimensions = network_.shape.size();
  const auto steps = coordinates_[to * dimensions + dimension] - coordinates_[from * dimensions + dimension];
  if (network_.topology != machine::Topology::torus) return steps;
  const auto extent = network_.shape[dimension];
  const auto up = steps >= 0 ? steps : steps + extent;
  return 2 * up <= extent ? up : up - extent;
}

std::int64_t FlitNetwork::hops(std::uint32_t source, std::uint32_t destination) const {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < network_.shape.size(); ++d) result += std::abs(offset(source, destination, d));
  return result;
}

std::int64_t FlitNetwork::zero_load_latency(std::uint32_t source, std::uint32_t destination,
                                            std::int64_t flits) const {
  const auto links = hops(source, destination);
  const auto gathering = network_.switching == machine::Switching::store_and_forward ? flits - 1 : 0;
  return (links + 1) * (network_.router_latency_cycles + gathering) +
         (links + 2) * network_.link_latency_cycles + flits;
}

void FlitNetwork::add_load(std::uint32_t source, std::uint32_t destination, std::int64_t flits,
                           std::span<std::int64_t> load) const {
  const InFlight packet{.source = source, .destination = destination};
  for (auto router = source; router != destination;) {
    const auto output = std::size_t{router} * ports_ + way(router, packet).port;
    load[output] += flits;
    router = next_[output] / router_channels_;
  }
}

FlitNetwork::Way FlitNetwork::way(std::uint32_t router, const InFlight& packet) const {
  const auto dimensions = network_.shape.size();
  for (std::size_t k = 0; k < dimensions; ++k) {
    const auto d = network_.routing == machine::DimensionOrder::xy ? dimensions - 1 - k : k;
    const auto steps = offset(router, packet.destination, d);
    if (steps == 0) continue;
    const bool up = steps > 0;
    Way result{static_cast<std::uint32_t>(1 + 2 * d + (up ? 1 : 0)), 0, channels_};
    if (network_.topology != machine::Topology::torus) return result;
    const auto extent = network_.shape[d];
    const auto next = (coordinates_[router * dimensions + d] + (up ? 1 : extent - 1)) % extent;
    const auto start = coordinates_[packet.source * dimensions + d];
    const auto lower = channels_ - channels_ / 2;
    // Less than once around: beyond the start's other side it has wrapped around.
    const bool wrapped = up ? next < start : next > start;
    (wrapped ? result.first : result.last) = lower;
    return result;
  }
  return {0, 0, channels_};
}

void FlitNetwork::send(std::uint32_t source, std::uint32_t destination, std::int64_t flits,
                       std::uint64_t tag) {
  if (free_packets_.empty()) {
    free_packets_.push_back(static_cast<std::uint32_t>(packets_.size()));
    packets_.emplace_back();
  }
  const auto packet = free_packets_.back();
  free_packets_.pop_back();
  packets_[packet] = {source, destination, flits, {.tag = tag, .created = cycle_}};
  sources_[source].waiting.push_back(packet);
}

std::span<const Delivery> FlitNetwork::step() {
  delivered_.clear();
  take_credits();
  land();
  for (std::uint32_t node = 0; node < nodes_; ++node) leave_source(node);
  for (std::uint32_t router = 0; router < nodes_; ++router) {
    if (buffered_[router] == 0) continue;
    allocate_channels(router);
    allocate_switch(router);
  }
  ++cycle_;
  return delivered_;
}

void FlitNetwork::skip_to(std::int64_t cycle) {
  // Credits may be on their way still; those lists are at most a few cycles ahead.
  for (std::size_t n = 0; n < credits_.size() && cycle_ < cycle; ++n, ++cycle_) take_credits();
  cycle_ = std::max(cycle_, cycle);
}

void FlitNetwork::take_credits() {
  auto& credits = credits_[static_cast<std::size_t>(cycle_) % credits_.size()];
  for (const auto channel : credits) ++room_[channel];
  credits.clear();
}

void FlitNetwork::land() {
  auto& landings = landings_[static_cast<std::size_t>(cycle_) % landings_.size()];
  for (const auto& [at, flit] : landings) {
    if (at >= channels_in_all_) {
      if (flit.tail) deliver(flit.packet);
      continue;
    }
    Buffer& buffer = buffers_[at];
    flits_[std::size_t{at} * depth_ + (buffer.front + buffer.count) % depth_] = flit;
    ++buffer.count;
    ++buffered_[at / router_channels_];
    if (buffer.output == none && buffer.asks_from == never) begin_routing(at, cycle_);
  }
  landings.clear();
}

void FlitNetwork::deliver(std::uint32_t packet) {
  delivered_.push_back(packets_[packet].times);
  delivered_.back().arrived = cycle_ + 1;
  free_packets_.push_back(packet);
}

bool FlitNetwork::has_room(std::uint32_t channel, const InFlight& packet) const {
  return room_[channel] >= (network_.switching == machine::Switching::wormhole ? 1 : packet.flits);
}

void FlitNetwork::leave_source(std::uint32_t node) {
  Source& source = sources_[node];
  if (source.waiting.empty()) return;
  const auto packet = source.waiting.front();
  const auto first = channels_in_all_ + node * channels_;
  if (source.sent == 0) {
    auto chosen = none;
    auto channel = source.channel;
    for (std::uint32_t n = 0; n < channels_ && chosen == none; ++n) {
      channel = after(channel, channels_);
      if (has_room(first + channel, packets_[packet])) chosen = channel;
    }
    if (chosen == none) return;
    source.channel = chosen;
    packets_[packet].times.left = cycle_;
  } else if (room_[first + source.channel] == 0) {
    return;
  }
  --room_[first + source.channel];
  const Flit flit{packet, source.sent == 0, source.sent + 1 == packets_[packet].flits};
  const auto arrival = static_cast<std::size_t>(cycle_ + network_.link_latency_cycles);
  landings_[arrival % landings_.size()].push_back({node * router_channels_ + source.channel, flit});
  ++source.sent;
  if (!flit.tail) return;
  source.waiting.pop_front();
  source.sent = 0;
}

const FlitNetwork::InFlight& FlitNetwork::front_packet(std::uint32_t buffer) const {
  return packets_[flits_[std::size_t{buffer} * depth_ + buffers_[buffer].front].packet];
}

void FlitNetwork::begin_routing(std::uint32_t at, std::int64_t from) {
  Buffer& buffer = buffers_[at];
  if (buffer.count == 0) return;
  const InFlight& packet = front_packet(at);
  if (network_.switching == machine::Switching::store_and_forward && buffer.count < packet.flits) return;
  buffer.asks_from = from + routing_;
  buffer.way = way(at / router_channels_, packet);
}

void FlitNetwork::allocate_channels(std::uint32_t router) {
  const auto base = router * router_channels_;
  asking_.clear();
  for (std::uint32_t n = 0; n < router_channels_; ++n) {
    if (buffers_[base + n].asks_from <= cycle_) asking_.push_back(n);
  }
  if (asking_.empty()) return;
  const bool needs_room = network_.switching != machine::Switching::wormhole;
  for (std::uint32_t channel = 0; channel < router_channels_; ++channel) {
    if (taken_[base + channel] != 0) continue;
    const auto port = channel / channels_, number = channel % channels_;
    auto best = none;
    for (const auto n : asking_) {
      const Way& way = buffers_[base + n].way;
      if (way.port != port || number < way.first || number >= way.last) continue;
      if (needs_room && port != 0 && !has_room(base + channel, front_packet(base + n))) continue;
      const auto turn = channel_turn_[base + channel];
      if (best == none || wait_of(n, turn, router_channels_) < wait_of(best, turn, router_channels_))
        best = n;
    }
    if (best == none) continue;
    const auto turn = buffer_turn_[base + best];
    if (offers_[best] == none ||
        wait_of(channel, turn, router_channels_) < wait_of(offers_[best], turn, router_channels_))
      offers_[best] = channel;
  }
  for (const auto n : asking_) {
    const auto channel = std::exchange(offers_[n], none);
    if (channel == none) continue;
    Buffer& buffer = buffers_[base + n];
    buffer.output = channel;
    buffer.asks_from = never;
    buffer.switches_from = cycle_ + setup_;
    taken_[base + channel] = 1;
    channel_turn_[base + channel] = after(n, router_channels_);
    buffer_turn_[base + n] = after(channel, router_channels_);
  }
}

void FlitNetwork::allocate_switch(std::uint32_t router) {
  const auto base = router * router_channels_;
  const auto first_port = router * ports_;
  // For each input and output port the buffer that would send.
  for (std::uint32_t n = 0; n < router_channels_; ++n) {
    const Buffer& buffer = buffers_[base + n];
    if (buffer.output == none || buffer.count == 0 || buffer.switches_from > cycle_) continue;
    const auto input = n / channels_, output = buffer.output / channels_;
    if (output != 0 && room_[base + buffer.output] == 0) continue;
    auto& sender = senders_[input * ports_ + output];
    const auto turn = sender_turn_[first_port + input];
    if (sender == none ||
        wait_of(n % channels_, turn, channels_) < wait_of(sender % channels_, turn, channels_))
      sender = n;
  }
  for (std::uint32_t output = 0; output < ports_; ++output) {
    auto best = none;
    const auto turn = output_turn_[first_port + output];
    for (std::uint32_t input = 0; input < ports_; ++input) {
      if (senders_[input * ports_ + output] == none) continue;
      if (best == none || wait_of(input, turn, ports_) < wait_of(best, turn, ports_)) best = input;
    }
    if (best == none) continue;
    const auto own = input_turn_[first_port + best];
    if (offers_[best] == none || wait_of(output, own, ports_) < wait_of(offers_[best], own, ports_))
      offers_[best] = output;
  }
  for (std::uint32_t input = 0; input < ports_; ++input) {
    const auto output = std::exchange(offers_[input], none);
    if (output == none) continue;
    const auto sender = senders_[input * ports_ + output];
    output_turn_[first_port + output] = after(input, ports_);
    input_turn_[first_port + input] = after(output, ports_);
    sender_turn_[first_port + input] = after(sender % channels_, channels_);
    send_on(router, base + sender);
  }
  std::ranges::fill(senders_, none);
}

void FlitNetwork::send_on(std::uint32_t router, std::uint32_t at) {
  Buffer& buffer = buffers_[at];
  const Flit flit = flits_[std::size_t{at} * depth_ + buffer.front];
  buffer.front = after(buffer.front, depth_);
  --buffer.count;
  --buffered_[router];
  const auto port = at % router_channels_ / channels_;
  const auto credit =
      static_cast<std::size_t>(cycle_ + network_.link_latency_cycles + network_.credit_latency_cycles);
  credits_[credit % credits_.size()].push_back(previous_[std::size_t{router} * ports_ + port] +
                                               at % channels_);
  const auto channel = router * router_channels_ + buffer.output;
  const auto output = std::size_t{router} * ports_ + buffer.output / channels_;
  ++flits_sent_[output];
  const bool to_node = next_[output] >= channels_in_all_;
  if (!to_node) --room_[channel];
  const auto arrival = static_cast<std::size_t>(cycle_ + traversal_ + network_.link_latency_cycles);
  landings_[arrival % landings_.size()].push_back(
      {next_[output] + (to_node ? 0 : buffer.output % channels_), flit});
  if (!flit.tail) return;
  taken_[channel] = 0;
  buffer.output = none;
  begin_routing(at, cycle_ + 1);
}

}  // namespace cyclotron::runtime
