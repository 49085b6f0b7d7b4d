#include "timed_wires.hpp"

#include <algorithm>
#include <map>

#include <cyclotron/program/roles.hpp>

#include "../../engine/pe_array.hpp"

namespace cyclotron::runtime::simulator {
namespace {

class Splitter {
 public:
  Splitter(const program::Program& program, TimedWires& result)
      : wires_(program), result_(result), parents_(result.codes) {}

  void run() {
    std::map<std::pair<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> classes;
    result_.codes.clear();
    for (std::size_t pe = 0; pe < result_.class_map.size(); ++pe) {
      std::uint32_t& pe_class = result_.class_map[pe];
      if (pe_class == program::Program::unmapped) continue;
      auto channels = channels_of(parents_[pe_class], wires_.coordinates(pe));
      const auto next = static_cast<std::uint32_t>(result_.codes.size());
      const auto [found, is_new] = classes.try_emplace({pe_class, std::move(channels)}, next);
      if (is_new) add_class(parents_[pe_class], found->first.second);
      pe_class = found->second;
    }
  }

 private:
  /// Of each port of a PE.
  std::vector<std::uint32_t> channels_of(const Code& code, const std::vector<std::int64_t>& at) {
    std::vector<std::uint32_t> result;
    for (const Port& port : code.ports) {
      const machine::Link* link = result_.channels[port.channel].link;
      if (port.kind == Port::Kind::link_out && wires_.receiver(port.channel, at) != program::Wires::none)
        link = &wires_.link(port.channel, at);
      if (port.kind == Port::Kind::link_in) {
        const std::size_t sender = wires_.sender(port.channel, at);
        if (sender != program::Wires::none) link = &wires_.link(port.channel, wires_.coordinates(sender));
      }
      result.push_back(number_of(port.channel, link));
    }
    return result;
  }

  std::uint32_t number_of(std::uint32_t channel, const machine::Link* link) {
    const auto next = static_cast<std::uint32_t>(result_.channels.size());
    if (link == result_.channels[channel].link) return channel;
    const auto [found, is_new] = numbers_.try_emplace({channel, link}, next);
    if (is_new) result_.channels.push_back({channel, link, link->latency_cycles});
    return found->second;
  }

  void add_class(const Code& parent, const std::vector<std::uint32_t>& channels) {
    Code& code = result_.codes.emplace_back(parent);
    for (std::size_t p = 0; p < channels.size(); ++p) code.ports[p].channel = channels[p];
  }

  program::Wires wires_;
  TimedWires& result_;
  std::vector<Code> parents_;
  std::map<std::pair<std::uint32_t, const machine::Link*>, std::uint32_t> numbers_;
};

/// A channel for each latency of each network over which it differs.
void add_distances(const program::Program& program, const program::Wires& wires, TimedWires& result) {
  result.by_distance.resize(program.channels.size());
  const std::int64_t all = static_cast<std::int64_t>(program.grid.size());
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const auto& channel = program.channels[c];
    if (channel.kind != program::Channel::Kind::network) continue;
    if (channel.axis < all && program.machine.spread == machine::Spread::constant) continue;
    const machine::Link* link = result.channels[c].link;
    const std::int64_t extent =
        channel.axis < all ? program.grid[channel.axis] : program::distance_to_control(program).most_hops + 2;
    std::int64_t latency = -1;  // It never falls.
    for (std::int64_t distance = 1; distance < extent; ++distance) {
      const std::int64_t next = wires.broadcast_latency(c, distance);
      if (next != latency) result.channels.push_back({c, link, next});
      latency = next;
      result.by_distance[c].push_back(static_cast<std::uint32_t>(result.channels.size() - 1));
    }
  }
}

}  // namespace

TimedWires time_wires(const program::Program& program, std::vector<Code> codes) {
  const program::Wires wires(program);
  check_grid_size(program);
  TimedWires result{
      .channels = {}, .codes = std::move(codes), .class_map = program.class_map(), .by_distance = {}};
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    result.channels.push_back({c, wires.links(c).front(), wires.links(c).front()->latency_cycles});
  add_distances(program, wires, result);
  if (!wires.are_alike()) Splitter(program, result).run();
  return result;
}

}  // namespace cyclotron::runtime::simulator
