// The storage of a PE's slots in a runtime, which need not be as far apart as the machine has them.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// The parts of a PE's memory and registers that the slots of a class use, side by side: slots share bytes here as far
/// as they do there, and between banks that are not full nothing is kept. Offsets are aligned as addresses are.
/// Requires: every slot is laid out, within the ranges that `verify` allows.
struct Storage {
  explicit Storage(const PeClass& pe_class);

  std::vector<std::int64_t> offsets;  ///< Of each slot's element 0, in bytes.
  std::int64_t bytes = 0;             ///< Of all.
  std::int64_t memory_bytes = 0;      ///< Of these, of PE memory.
  std::int64_t registers = 0;         ///< That are used.
};

}  // namespace cyclotron::program
