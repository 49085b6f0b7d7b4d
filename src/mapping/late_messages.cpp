#include <cyclotron/mapping/late_messages.hpp>

#include <algorithm>
#include <utility>

#include <cyclotron/poly/set.hpp>

namespace cyclotron::mapping {

std::optional<std::size_t> outermost_loop(const LateMessage& message) {
  const auto first = std::ranges::find_if(message.later, [](const poly::Affine& steps) {
    return !poly::is_constant(steps) || steps.constant != 0;
  });
  if (first == message.later.end()) return std::nullopt;
  return static_cast<std::size_t>(first - message.later.begin());
}

bool has_constant_delay(const LateMessage& message) {
  return std::ranges::all_of(message.later, poly::is_constant);
}

namespace {

/// By how many steps of a loop of time the receiver runs behind the sender.
poly::Affine steps_behind(const Mapping& mapping, const Statement& receive, const Skew& skew,
                          std::size_t loop) {
  auto result = poly::constant(mapping.graph.dims.size(), 0);
  for (std::size_t g = 0; g < skew.size(); ++g) {
    const auto d = mapping.grid.space[g];
    result = result + skew[g][loop] * (receive.target.point[d] - receive.from[d]);
  }
  return result;
}

/// Writes the sender's point and that of the making, if they are single forms.
bool find_points(const Mapping& mapping, LateMessage& message) {
  const auto& receive = mapping.statements[message.receive];
  const auto& time = mapping.grid.time;
  message.sender = receive.from;
  for (std::size_t t = 0; t < time.size(); ++t)
    message.sender[time[t]] = message.sender[time[t]] + message.later[t];
  if (has_constant_delay(message)) {
    for (std::size_t d = 0; d < receive.from.size(); ++d)
      message.made.push_back(poly::variable(receive.from.size(), d));
    for (std::size_t t = 0; t < time.size(); ++t) message.made[time[t]].constant -= message.later[t].constant;
    return true;
  }
  const auto senders = poly::Map::function(receive.domain, message.sender);
  if (!senders.is_injective()) return false;
  const auto pieces = senders.reverse().then(poly::Map::function(receive.domain, receive.from)).pieces();
  if (!pieces || pieces->size() != 1) return false;
  message.made = pieces->front().forms;
  return true;
}

/// The two ends of the messages of each channel, none where it has none; no points yet.
std::vector<std::optional<LateMessage>> messages_by_channel(const Mapping& mapping) {
  std::vector<std::optional<LateMessage>> result(mapping.channels.size());
  for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
    const auto& statement = mapping.statements[s];
    if (!is_message(statement.kind)) continue;
    auto& message = result[statement.channel];
    if (!message) message = LateMessage{};
    (statement.kind == Kind::receive ? message->receive : message->send) = s;
  }
  return result;
}

}  // namespace

std::vector<Wire> late_messages(const Mapping& mapping) {
  struct Candidate {
    const Channel* channel;
    Wire wire;
    bool has_forms = true;
  };
  auto messages = messages_by_channel(mapping);
  std::vector<Candidate> candidates;
  for (std::size_t c = 0; c < messages.size(); ++c) {
    const auto& channel = mapping.channels[c];
    if (channel.network || !messages[c]) continue;
    auto own = std::ranges::find_if(
        candidates, [&](const Candidate& other) { return is_same_wire(*other.channel, channel); });
    if (own == candidates.end()) own = candidates.insert(own, {&channel, {}});
    const auto& skew = mapping.skews[mapping.graph.at(channel.flow).space.index()];
    if (!skew) continue;
    auto& message = *messages[c];
    const auto& receive = mapping.statements[message.receive];
    for (std::size_t t = 0; t < mapping.grid.time.size(); ++t) {
      const auto d = mapping.grid.time[t];
      message.later.push_back(receive.target.point[d] - receive.from[d] +
                              steps_behind(mapping, receive, *skew, t));
    }
    if (!outermost_loop(message)) continue;
    own->has_forms = own->has_forms && find_points(mapping, message);
    own->wire.push_back(std::move(message));
  }
  std::vector<Wire> result;
  for (auto& candidate : candidates) {
    if (candidate.has_forms && !candidate.wire.empty()) result.push_back(std::move(candidate.wire));
  }
  return result;
}

}  // namespace cyclotron::mapping
