// Private to this folder: messages by which one PE passes the same values on to all others.
#pragma once
#include <cstddef>
#include <set>
#include <vector>

#include <cyclotron/program/program.hpp>

#include "data_flow.hpp"

namespace cyclotron::codegen {

/// Channels on which a PE sends values that others pass on, and nothing else: each PE that has one has all of them, in their
/// order, and could as well be told by the first.
struct Stream {
  std::set<program::ChannelId> channels;
  std::vector<Places> messages;  ///< In the code of that PE, in order: the SENDs of a message, one a channel.
};

/// The streams of a class's PE of values that such instructions of it write.
/// Requires: its region has a single PE, and the flow is that of its code.
[[nodiscard]] std::vector<Stream> streams_of(const program::Program& program, std::size_t pe_class,
                                             const DataFlow& flow, const Places& writers);

}  // namespace cyclotron::codegen
