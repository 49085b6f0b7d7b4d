// Loops in the machine's own code, as the interpreter calls them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cyclotron::runtime {

/// The step that a compiled loop returns where it has done nothing: the interpreter is to run the iteration.
inline constexpr std::uint32_t loop_declined = 0xffffffffU;

/// Runs a loop from the start of an iteration on, for about `budget` iterations of its innermost loops, and returns the next
/// step: past the loop, its repeat, or any step in it that is the interpreter's to run, as one that may leave its slot or its
/// tensor. The variables and the limits of loops around that step are set, and so are all slots. `done`: iterations of the
/// innermost loops. `places`: see `CompiledLoops`.
using LoopFunction = std::uint32_t (*)(std::byte* memory, void* const* places, std::int64_t* variables,
                                       std::int64_t* limits, std::int64_t budget, std::int64_t* done);

/// By tensor and element, 1 where it is stored; of inputs nothing.
using StoreMarks = std::vector<std::vector<std::uint8_t>>;

/// Those of a run, by class and step: a loop's function stands at the loop and at its repeat.
struct CompiledLoops {
  std::vector<std::vector<LoopFunction>> functions;
  /// Tensors' numbers, what marks their elements that are stored where that is marked, then `LoopSource::functions`.
  std::vector<void*> places;
};

}  // namespace cyclotron::runtime
