// Elements of tensors in the memories of PEs that hold them (MACH, sections 5.1 and 5.5).
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/memory/lifetimes.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// A tensor's elements in a PE: one block of the same size, that of the PE with most, at the same address in all PEs.
struct TensorBlock {
  program::TensorId tensor;
  std::int64_t bytes = 0;
  std::int64_t address = 0;
  std::vector<Lifetime>
      live;  ///< By class: never where its PEs have none, or have them in a persistent slot.
};

/// The tensors that PEs load and store, but for those that memories outside bring to them: none where PEs' memories do not
/// hold them (`machine::Pe::holds`). What is given from outside, an input or a constant, lives from the start to its last
/// LOAD, an output from its first STORE to the end, both with the loops around. A block has as many tiles as
/// the smallest box with steps of all that a PE loads and stores, or the boxes of each LOAD and STORE, where these have fewer.
/// In classes of many PEs the sizes are those of some of them, at the ends of their coordinates and between.
/// Slots keep their addresses; blocks are placed in the gaps between them, the larger first, each in the smallest one that
/// is free in all classes while it lives. Requires: memory is laid out.
[[nodiscard]] std::vector<TensorBlock> place_tensors(const program::Program& program);

/// The words of a controller's calls, by tensor: its address in words of 16 bits, or its number, from 1, where PEs'
/// memories do not hold it.
[[nodiscard]] std::vector<std::int64_t> argument_words(const program::Program& program);

}  // namespace cyclotron::memory
