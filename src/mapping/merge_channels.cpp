#include <cyclotron/mapping/merge_channels.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <cyclotron/mapping/message_order.hpp>

namespace cyclotron::mapping {

namespace {

/// Channels that become one.
using Group = std::vector<std::size_t>;

/// All channels with messages, as few groups as first fit makes.
std::vector<Group> groups_of(const Mapping& mapping) {
  std::vector<MessageEnds> messages(mapping.channels.size());
  for (const auto& statement : mapping.statements) {
    if (!is_message(statement.kind)) continue;
    auto& ends = messages[statement.message];
    (statement.kind == Kind::receive ? ends.receive : ends.send) = &statement;
  }
  std::vector<Group> groups;
  for (std::size_t c = 0; c < messages.size(); ++c) {
    if (messages[c].receive == nullptr) continue;
    const auto joins = [&](const Group& group) {
      return is_same_wire(mapping.channels[c], mapping.channels[group.front()]) &&
             std::ranges::all_of(group, [&](std::size_t other) {
               return !overtakes(mapping, messages[c], messages[other]) &&
                      !overtakes(mapping, messages[other], messages[c]);
             });
    };
    const auto group = std::ranges::find_if(groups, joins);
    if (group != groups.end()) {
      group->push_back(c);
    } else {
      groups.push_back({c});
    }
  }
  return groups;
}

}  // namespace

Mapping merge_channels(const Mapping& mapping) {
  const auto groups = groups_of(mapping);
  Mapping result = mapping;
  result.channels.clear();
  std::vector<std::size_t> merged(mapping.channels.size(), 0);
  std::size_t kinds = 0;
  for (const auto& group : groups) {
    for (const auto c : group) merged[c] = result.channels.size();
    result.channels.push_back(mapping.channels[group.front()]);
    kinds += group.size();
  }
  for (auto& statement : result.statements) {
    if (is_message(statement.kind)) statement.channel = merged[statement.message];
  }
  result.proofs.push_back(fmt::format(
      "{} kinds of message on {} channels: each receive has one send, in first-in-first-out order", kinds,
      result.channels.size()));
  return result;
}

}  // namespace cyclotron::mapping
