// Slots whose values leave the memory of a PE by channels.
#pragma once
#include "code.hpp"

namespace cyclotron::runtime {

/// Marks the accesses of slots that are sent or broadcast, or moved to such slots: a host may keep what stays in a
/// PE elsewhere than what others are to reach.
void mark_sent_slots(Code& code);

}  // namespace cyclotron::runtime
