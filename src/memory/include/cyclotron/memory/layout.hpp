// Slots to addresses: lifetimes, best-fit reuse, capacity (design section 4, "Memory").
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/memory/tensors.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Sets the address of every slot and the peak of every class.
///
/// A slot lives wherever a value of it may still be read, in program order and round its loops (M1); between two of its
/// values its addresses are free. Slots whose lifetimes do not meet may share them: each goes to the smallest gap that
/// holds it (M10), aligned to the numbers of its dtype and to 16-bit words, in the best of several orders (larger ones
/// first, those that live longest, ...) and of those that place what lay highest before. Persistent slots are placed first
/// and never shared.
///
/// On a machine with registers, the slots that operators use most, each or for each register that they take, whichever
/// saves more, are in registers instead, whole ones only. On one with banks the others are each in one bank, or in as few neighbouring ones as hold
/// them, so that what an instruction uses lies in different banks as far as it can; where that needs more than the
/// memory, at best fit as above. How often an instruction runs is estimated from the loops around it.
/// Requires: verify would hold but for addresses. Throws CapacityError where a class needs more than the
/// machine's PE memory: names the class, both sizes, and the largest slots that live where most do; and CYC504 where one
/// uses more channels than its PEs have.
[[nodiscard]] program::Program allocate(program::Program program);

/// The program on a machine whose grid and topology are those of its own: laid out anew if its banks or registers are
/// others. Throws CapacityError as `allocate`.
[[nodiscard]] program::Program with_machine(program::Program program, machine::Machine machine);

/// Checks a plan on its own: every slot inside PE memory or the registers, no two slots that are live together overlap.
/// Throws ProgramError.
void verify_layout(const program::Program& program);

/// Contents of the memory of a class, by its number: its slots and, after them, the tensors that it holds, each as a slot.
struct Layout {
  std::vector<program::Slot> slots;
  std::vector<Lifetime> live;
};
[[nodiscard]] Layout layout(const program::Program& program, std::size_t number,
                            const std::vector<TensorBlock>& blocks);

/// The memory map of a class as text, a line a slot: address, bytes, lifetime, name.
[[nodiscard]] std::string memory_map(const program::Program& program, std::size_t number,
                                     const std::vector<TensorBlock>& blocks);

}  // namespace cyclotron::memory
