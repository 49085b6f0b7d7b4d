// Slots to addresses: lifetimes, best-fit reuse, capacity (design section 4, "Memory").
#pragma once
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Sets the address of every slot and the peak of every class.
///
/// A slot lives from its first write to its last use in program order; what is live into or carried by a
/// loop lives to the loop's end (M1). Slots whose lifetimes do not meet may share addresses: best fit with
/// coalescing of free blocks (M10), 16-byte alignment. Persistent slots are placed first and never shared.
/// Requires: verify would hold but for addresses. Throws CapacityError where a class needs more than the
/// machine's PE memory: names the class, both sizes, and the largest slots.
[[nodiscard]] program::Program allocate(program::Program program);

/// Checks a plan on its own: every slot inside PE memory, no two slots that are live together overlap.
/// Throws ProgramError.
void verify_layout(const program::Program& program);

/// The memory map of a class as text, a line a slot: address, bytes, lifetime, name.
[[nodiscard]] std::string memory_map(const program::Program& program, const program::PeClass& pe_class);

}  // namespace cyclotron::memory
