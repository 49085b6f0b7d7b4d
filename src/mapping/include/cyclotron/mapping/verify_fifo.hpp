// Channels deliver messages in the order in which they are received.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Verifies that the messages of every channel arrive in the order in which they are received.
/// Requires: make_statements. Throws LegalityError CYC222 where those of one kind overtake each other; InternalError
/// where those of different kinds do, which share no channel then (`merge_channels`, `share_channels`).
void verify_fifo(const Mapping& mapping);

}  // namespace cyclotron::mapping
