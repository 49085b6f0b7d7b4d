// Memory of a PE beside its values: its instructions and the queues that it receives from.
#pragma once
#include <cstdint>
#include <optional>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// The bytes of one PE.
struct Footprint {
  std::int64_t data = 0;  ///< Up to the last byte of its slots in memory.
  /// Of as many of the largest messages as each queue into it holds; of a broadcast network, of one queue. None where
  /// a queue has no bound.
  std::optional<std::int64_t> queues = 0;
  /// An estimate, which no machine's instruction set stands behind: 4 bytes for each instruction, operand and number
  /// and for each index that an address, a bound or a condition is computed from.
  std::int64_t code = 0;
};

/// Of the PEs of a class. Requires: memory is laid out.
[[nodiscard]] Footprint footprint(const program::Program& program, const program::PeClass& pe_class);

}  // namespace cyclotron::memory
