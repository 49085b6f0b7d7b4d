// The number of times that the operators of a class use its slots, about: what its layout is good for.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

struct Traffic {
  /// An instruction that computes.
  struct Operation {
    double runs;
    std::vector<std::size_t> slots;  ///< Of its operands and its result; one that it reads and writes twice.
  };
  std::vector<Operation> operations;
  std::vector<double> uses;  ///< By slot: tiles of it that operators read or write.
  /// By slot: the other slots that operators use with it, and the words by which one would wait for the other in one
  /// bank. A pair may be there several times.
  std::vector<std::vector<std::pair<std::size_t, double>>> together;
};

/// The traffic of one PE, in the middle of the grid; branches run, loops run for the middle of those around them.
[[nodiscard]] Traffic count_traffic(const program::Program& program, const program::PeClass& pe_class);

}  // namespace cyclotron::memory
