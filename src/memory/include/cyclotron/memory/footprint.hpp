// Memory of a PE beside its values: its instructions and the queues that it receives from.
#pragma once
#include <cstdint>
#include <optional>

#include <cyclotron/memory/tensors.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// The bytes of one PE.
struct Footprint {
  std::int64_t data = 0;  ///< Up to the last byte of its slots in memory and of the tensors that it holds.
  /// Of as many of the largest messages as each queue into it holds; of a broadcast network, of one queue. None where
  /// a queue has no bound. Queues that a controller's merge PE keeps in its slots are not the receivers'.
  std::optional<std::int64_t> queues = 0;
  /// An estimate, which no machine's instruction set stands behind: 4 bytes for each instruction, operand and number
  /// and for each index that an address, a bound or a condition is computed from.
  std::int64_t code = 0;
  /// Of these what the machine's PE memory has to hold; none where that has no bound.
  std::optional<std::int64_t> held = 0;
};

/// Of the PEs of a class, by its number, with the program's blocks of tensors. Requires: memory is laid out.
[[nodiscard]] Footprint footprint(const program::Program& program, std::size_t number,
                                  const std::vector<TensorBlock>& blocks);

}  // namespace cyclotron::memory
