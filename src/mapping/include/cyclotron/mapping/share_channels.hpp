// Fewer channels where PEs have so many and no more: kinds of message that take turns on one.
#pragma once
#include <cstddef>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Lets kinds of message take turns on one channel until no class uses more than `most`, as far as they may; few on each.
///
/// They may where they take the same link, in tiles of one shape and dtype, and of any two messages of different kinds
/// from one PE to another, one is received in an earlier step than that in which the other is sent, or in an earlier
/// space of one step, where spaces have one order on all PEs. So they arrive in the order in which they are received.
///
/// Nothing is shared unless all that passes between PEs advances though these take each step together
/// (`Mapping::skews`), none running apart, in a constant number of steps, none over networks: then links as deep as the
/// machine's never make a PE wait that goes by steps (`delay_sends`). The receive that a send waits for on a shared link lies
/// before it in that same order, so that all waits together still form no cycle.
/// Requires: mapping from map_to_grid. Ensures: no message overtakes another of its channel (checked on its own); the
/// same mapping where nothing is shared.
[[nodiscard]] Mapping share_channels(const Mapping& mapping, std::size_t most);

}  // namespace cyclotron::mapping
