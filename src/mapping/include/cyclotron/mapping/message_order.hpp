// The order in which messages are sent and received.
#pragma once
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// The two ends of a kind of message.
struct MessageEnds {
  const Statement* receive;
  const Statement* send;
};

/// The statement that sends each kind of message, null where there is none: of several parts, which have one position,
/// the first.
[[nodiscard]] std::vector<const Statement*> sends_by_message(const Mapping& mapping);

/// True where some message of `a` is received before one of `b` by one PE but sent after it by the same sender.
[[nodiscard]] bool overtakes(const Mapping& mapping, const MessageEnds& a, const MessageEnds& b);

}  // namespace cyclotron::mapping
