// The times at which each slot of a class holds a value that may still be read.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Instructions, both ends inside.
struct Interval {
  std::size_t first = 0;
  std::size_t last = 0;
  bool operator==(const Interval&) const = default;
};

/// The instructions at which a slot's addresses are its own: intervals in order, with gaps between them; none where
/// the slot is not used.
using Lifetime = std::vector<Interval>;

/// Tells whether two lifetimes share an instruction.
[[nodiscard]] bool meet(const Lifetime& a, const Lifetime& b);

/// One lifetime a slot. Two slots whose lifetimes do not meet may share addresses. What an instruction reads and what it
/// writes are both live at it, so a destination never overlaps an operand.
///
/// A persistent slot lives over the whole code. Any other lives wherever a value that was written may be read before it
/// is written again, whatever the loops' bounds and the conditions: loops may run never or again, branches may be taken
/// or not. A slot of several tiles lives from its first write to its last read, with the loops that carry it: one write
/// leaves the other tiles as they are.
/// Requires: verify(program) holds but for addresses.
[[nodiscard]] std::vector<Lifetime> lifetimes(const program::PeClass& pe_class);

/// A loop's name and the instructions from its first to its End.
struct LoopSpan {
  std::string name;
  Interval code;
};
/// The loops of a class in the order of their first instructions.
[[nodiscard]] std::vector<LoopSpan> loop_spans(const program::PeClass& pe_class);

/// Bytes of a slot, without padding.
[[nodiscard]] std::int64_t size_bytes(const program::Slot& slot);

}  // namespace cyclotron::memory
