#include "shared_links.hpp"

#include <algorithm>
#include <set>

namespace cyclotron::runtime::simulator {

SharedLinks::SharedLinks(const program::Program& program, const program::Wires& wires,
                         const std::vector<User>& users)
    : program_(&program), wires_(&wires), on_(program.machine.shared_links) {
  if (!on_) return;
  users_ = users;
  extent_ = program.grid;
  stride_.assign(extent_.size(), 1);
  for (std::size_t d = extent_.size(); d-- > 1;) stride_[d - 1] = stride_[d] * extent_[d];
  const auto pes = static_cast<std::size_t>(extent_.empty() ? 1 : stride_.front() * extent_.front());
  std::size_t places = 0;
  for (std::size_t axis = 0; axis < extent_.size(); ++axis) {
    first_of_axis_.push_back(places);
    const bool used = std::ranges::any_of(program.channels, [&](const program::Channel& channel) {
      return channel.kind == program::Channel::Kind::network && channel.axis == axis;
    });
    if (used) places += pes;
  }
  buses_.resize(places);
  ends_.resize(places);
  turns_.resize(users_.size());
  count_senders();
}

void SharedLinks::count_senders() {
  for (const User& user : users_) {
    std::set<std::uint32_t> axes;
    for (const Port& port : user.code->ports) {
      if (port.kind == Port::Kind::network_out && program_->channels[port.channel].axis < extent_.size())
        axes.insert(static_cast<std::uint32_t>(program_->channels[port.channel].axis));
    }
    for (const std::uint32_t axis : axes) ++buses_[bus_of(axis, user.grid_index)].senders;
  }
}

std::uint32_t SharedLinks::hop_number(std::uint32_t channel, std::uint32_t sender_index) {
  const auto next = static_cast<std::uint32_t>(hops_.size());
  const auto way = wires_->way(channel, wires_->coordinates(sender_index));
  const auto [found, is_new] = numbers_.try_emplace({sender_index, way}, next);
  if (is_new) hops_.emplace_back();
  return found->second;
}

std::optional<SharedLinks::Passage> SharedLinks::take_bus(std::uint32_t ordinal, std::uint32_t axis,
                                                          std::int64_t asked, std::int64_t words,
                                                          std::int64_t words_per_cycle) {
  const std::size_t number = bus_of(axis, users_[ordinal].grid_index);
  Bus& bus = buses_[number];
  if (bus.senders == 1)
    return bus.end.take(asked, 0, words, words_per_cycle);  // whoever asks later is this one
  Turn& turn = turns_[ordinal];
  if (turn.given) return std::exchange(turn.given, std::nullopt);
  if (!std::exchange(turn.waits, true)) requests_.push({asked, ordinal, number, words, words_per_cycle});
  return std::nullopt;
}

std::uint32_t SharedLinks::grant() {
  const Request request = requests_.top();
  requests_.pop();
  turns_[request.ordinal] = {
      .waits = false,
      .given = buses_[request.bus].end.take(request.asked, 0, request.words, request.words_per_cycle)};
  return request.ordinal;
}

}  // namespace cyclotron::runtime::simulator
