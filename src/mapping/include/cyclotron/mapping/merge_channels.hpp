// One channel for the messages of one wire.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Merges channels into one flow over the same wire where the messages of all arrive in the order in which they are
/// received.
/// Requires: verify_fifo(mapping); each kind of message on a channel of its own. Ensures: verify_fifo(result), and no
/// channel without messages.
[[nodiscard]] Mapping merge_channels(const Mapping& mapping);

}  // namespace cyclotron::mapping
