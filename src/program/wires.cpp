#include <cyclotron/program/wires.hpp>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <cyclotron/program/roles.hpp>

namespace cyclotron::program {

Wires::Wires(const Program& program) : Wires(program, program.grid) {}

Wires::Wires(const Program& program, std::vector<std::int64_t> grid)
    : program_(&program), grid_(std::move(grid)), field_(grid_) {
  const auto& machine = program.machine;
  if (executive_of(program) != nullptr) --field_.front();
  for (const auto& map : machine.link_maps) {
    maps_.push_back(machine::parse_link_map(map.map));
    alike_ = alike_ && !map.link;
  }
  alike_ = alike_ && !machine.chiplets;
  stride_.assign(grid_.size(), 1);
  for (std::size_t d = grid_.size(); d-- > 1;) stride_[d - 1] = stride_[d] * grid_[d];
  for (const auto& channel : program.channels) {
    const auto own = channel.scale.empty() ? machine.links.find(channel.offset) : machine.links.end();
    const bool network = channel.kind == Channel::Kind::network;
    link_.push_back(channel.link                 ? &*channel.link
                    : network                    ? &machine::broadcast_along(machine, channel.axis)
                    : own == machine.links.end() ? &machine.link
                                                 : &own->second);
  }
}

std::size_t Wires::moved(std::span<const std::int64_t> from, const Channel& channel, End to) const {
  std::int64_t result = 0;
  const auto& extents = is_of_executive(channel) ? grid_ : field_;
  for (std::size_t d = 0; d < stride_.size(); ++d) {
    const std::int64_t extent = extents[d], scale = channel.scale_along(d);
    if (from[d] >= extent) return none;
    std::int64_t x = from[d] + channel.offset[d];
    if (to == End::sender) {
      x = scale * from[d] - channel.offset[d];
    } else if (scale != 1) {
      if (x % scale != 0) return none;
      x /= scale;
    }
    if (x < 0 || x >= extent) {
      if (scale != 1 || !machine::wraps_around(program_->machine, d)) return none;
      x = (x % extent + extent) % extent;
    }
    result += x * stride_[d];
  }
  return static_cast<std::size_t>(result);
}

std::size_t Wires::link_map(std::span<const std::int64_t> sender, std::size_t receiver) const {
  const auto to = coordinates(receiver);
  return static_cast<std::size_t>(
      std::ranges::find_if(maps_, [&](const auto& map) { return map(sender) == to; }) - maps_.begin());
}

std::size_t Wires::receiver(std::size_t channel, std::span<const std::int64_t> sender) const {
  const Channel& by = program_->channels[channel];
  const std::size_t result = moved(sender, by, End::receiver);
  const bool joined =
      maps_.empty() || is_of_executive(by) || (result != none && link_map(sender, result) < maps_.size());
  return joined ? result : none;
}

std::size_t Wires::sender(std::size_t channel, std::span<const std::int64_t> receiver) const {
  const std::size_t result = moved(receiver, program_->channels[channel], End::sender);
  const bool joined =
      maps_.empty() || (result != none && this->receiver(channel, coordinates(result)) != none);
  return joined ? result : none;
}

std::vector<std::int64_t> Wires::way(std::size_t channel, std::span<const std::int64_t> from) const {
  const Channel& what = program_->channels[channel];
  if (!maps_.empty() || !what.scale.empty()) return {static_cast<std::int64_t>(receiver(channel, from))};
  std::vector<std::int64_t> result = what.offset;
  if (is_of_executive(what)) return result;
  for (std::size_t d = 0; d < result.size(); ++d) {
    if (!machine::wraps_around(program_->machine, d)) continue;
    std::int64_t& steps = result[d];
    steps %= field_[d];
    if (2 * steps > field_[d]) steps -= field_[d];
    if (-2 * steps > field_[d]) steps += field_[d];
  }
  return result;
}

bool Wires::is_alike(std::size_t channel) const {
  const Channel& of = program_->channels[channel];
  return alike_ || of.link || of.kind == Channel::Kind::network;
}

const machine::Link& Wires::link(std::size_t channel, std::span<const std::int64_t> sender) const {
  const auto& machine = program_->machine;
  if (is_alike(channel)) return *link_[channel];
  const std::size_t receiver = this->receiver(channel, sender);
  if (!maps_.empty()) {
    const auto& own = machine.link_maps.at(link_map(sender, receiver)).link;
    if (own) return *own;
    if (!machine.chiplets) return machine.link;
  }
  const auto to = coordinates(receiver);
  return machine::is_between_chips(*machine.chiplets, sender, to) ? machine.chiplets->link : *link_[channel];
}

std::vector<const machine::Link*> Wires::links(std::size_t channel) const {
  if (is_alike(channel)) return {link_[channel]};
  if (!maps_.empty()) return links_of_maps(channel);
  const auto& chiplets = *program_->machine.chiplets;
  const auto& offset = program_->channels[channel].offset;
  std::vector<const machine::Link*> result{link_[channel]};
  for (std::size_t d = 0; d < offset.size() && result.size() == 1; ++d) {
    if (offset[d] != 0 && grid_[d] > chiplets.shape[d]) result.push_back(&chiplets.link);
  }
  return result;
}

std::vector<const machine::Link*> Wires::links_of_maps(std::size_t channel) const {
  std::vector<const machine::Link*> result;
  std::size_t pes = 1;
  for (const auto extent : grid_) pes *= static_cast<std::size_t>(extent);
  for (std::size_t pe = 0; pe < pes; ++pe) {
    const auto at = coordinates(pe);
    if (receiver(channel, at) == none) continue;
    const auto* found = &link(channel, at);
    if (std::ranges::find(result, found) == result.end()) result.push_back(found);
  }
  return result.empty() ? std::vector{link_[channel]} : result;
}

std::int64_t Wires::distance(std::size_t channel, std::span<const std::int64_t> sender,
                             std::span<const std::int64_t> receiver) const {
  const std::size_t axis = program_->channels[channel].axis;
  if (axis == grid_.size()) {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < grid_.size(); ++d) index += receiver[d] * stride_[d];
    return hops_to_control(*program_, static_cast<std::size_t>(index)) + 1;
  }
  const std::int64_t steps = std::abs(receiver[axis] - sender[axis]);
  return machine::wraps_around(program_->machine, axis) ? std::min(steps, field_[axis] - steps) : steps;
}

std::int64_t Wires::broadcast_latency(std::size_t channel, std::int64_t distance) const {
  const machine::Link& own = *link_[channel];
  if (program_->channels[channel].axis == grid_.size()) return own.latency_cycles * distance;
  return machine::broadcast_latency(program_->machine, own, distance);
}

std::int64_t Wires::latency(std::size_t channel, std::span<const std::int64_t> sender,
                            std::span<const std::int64_t> receiver) const {
  const auto& what = program_->channels[channel];
  const machine::Link& own = link(channel, sender);
  if (what.kind == Channel::Kind::link) return own.latency_cycles;
  return broadcast_latency(channel, distance(channel, sender, receiver));
}

std::int64_t Wires::depth(std::size_t channel, std::span<const std::int64_t> sender) const {
  const auto& own = program_->channels[channel].depth;
  return own > 0 ? own : link(channel, sender).depth;
}

Wires::Depths Wires::depths(std::size_t channel) const {
  const auto& own = program_->channels[channel].depth;
  if (own > 0) return {.least = own, .most = own};
  const auto all = links(channel);
  const auto [least, most] = std::ranges::minmax_element(all, {}, &machine::Link::depth);
  return {.least = (*least)->depth, .most = (*most)->depth};
}

std::vector<std::int64_t> Wires::coordinates(std::size_t pe) const {
  std::vector<std::int64_t> result;
  for (std::size_t d = 0; d < stride_.size(); ++d)
    result.push_back(static_cast<std::int64_t>(pe) / stride_[d] % grid_[d]);
  return result;
}

std::vector<std::int64_t> least_depths(const Program& program) {
  const Wires wires(program);
  std::vector<std::int64_t> result;
  for (std::size_t c = 0; c < program.channels.size(); ++c) result.push_back(wires.depths(c).least);
  return result;
}

}  // namespace cyclotron::program
