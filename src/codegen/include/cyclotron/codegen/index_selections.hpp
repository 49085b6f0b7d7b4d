// Reads by address what a loop finds by comparing.
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

/// Replaces a loop over j that adds up `where(number == j, table[j], neutral)`, with the terms before and after it that go
/// on with its j, by one instruction on the element of the number (`program::Indexed`): its time is that of an element
/// instead of all. The table lies in a slot; what else the loop does, as filling the slot, stays in it. A loop over j of
/// `table[j] + where(number == j, value, neutral)` likewise: it adds to one element; and one of
/// `where(number == j, value, table[j])` overwrites it, also where a flag chooses between that and `table[j]`. A loop over rows of what is changed is one instruction too.
/// Where a loop over j holds one over numbers, and gets the element for these from another PE, or computes it, all elements
/// are kept, if the PE's memory has room, and looked for when they are there.
/// Requires: verify(program) but for addresses. Ensures: the same; all values as before, in every bit; messages in the
/// same order.
[[nodiscard]] program::Program index_selections(const program::Program& program);

}  // namespace cyclotron::codegen
