// The choice of the slots that lie in registers, and of the banks of the others.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

#include <cyclotron/memory/lifetimes.hpp>
#include "traffic.hpp"

namespace cyclotron::memory {

/// Order in which slots come into registers: those that operators use most for each register that they take, or those
/// of which operators read and write most words.
enum class Preference : std::uint8_t { uses_a_register, words };

/// Gives `first_register` to slots in this order, where they fit, and takes it from the others.
void place_in_registers(const machine::Pe& pe, program::PeClass& pe_class, const std::vector<Lifetime>& live,
                        const Traffic& traffic, Preference preference);

/// Gives addresses to these slots, those that are used most first: each in the bank where it waits least for those that
/// are placed. False, and no use, where one does not fit any more.
[[nodiscard]] bool place_in_banks(const machine::Pe& pe, program::PeClass& pe_class,
                                  const std::vector<Lifetime>& live, const Traffic& traffic,
                                  const std::vector<std::size_t>& slots);

/// About the cycles that the busiest banks take for all that operators read and write, on whole tiles, at least one an
/// operator. Requires: the slots lie within the memory.
[[nodiscard]] double bank_cycles(const machine::Pe& pe, const program::PeClass& pe_class,
                                 const Traffic& traffic);

}  // namespace cyclotron::memory
