// When each slot of a class holds a value that may still be read.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// Instructions, both ends inside.
struct Lifetime {
  std::size_t first = 0;
  std::size_t last = 0;
  bool operator==(const Lifetime&) const = default;
};

/// One lifetime a slot. Two slots whose lifetimes share no instruction may share addresses. What an
/// instruction reads and what it writes are both live at it, so a destination never overlaps an operand.
///
/// A persistent slot lives over the whole code. Any other lives from its first to its last use, and
/// - over the whole of every loop that uses it and lies inside the block (a loop's, an if's or the class's
/// whole body) that holds all its uses, since what is used in a loop and outside it is live into it, out of
/// it or both;
/// - over the outermost loop around its uses, unless it has one tile and each pass through that block first
/// writes it: the first use is a write, not nested deeper. Otherwise a pass may read what an earlier one
/// wrote.
/// Requires: verify(program) holds but for addresses.
[[nodiscard]] std::vector<Lifetime> lifetimes(const program::PeClass& pe_class);

/// Bytes of a slot, without padding.
[[nodiscard]] std::int64_t size_bytes(const program::Slot& slot);

inline constexpr std::int64_t alignment_bytes = 16;

}  // namespace cyclotron::memory
