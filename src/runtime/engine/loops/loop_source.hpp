// Loops on scalars as text in C, for the system's compiler.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "../pe_array.hpp"
#include "../tensors.hpp"
#include "compiled_loops.hpp"

namespace cyclotron::runtime {

struct LoopSource {
  struct Loop {
    std::uint32_t pe_class = 0;  ///< In the program.
    std::uint32_t step = 0;
    bool operator==(const Loop&) const = default;
  };
  std::vector<Loop> loops;
  std::string text;  ///< A function `loop_<number>` for each.
  std::vector<void*>
      functions;  ///< The interpreter's own that they call, after the other places (`CompiledLoops`).
};

/// The loops of a run's programs that work on scalars in memory alone, without messages, each with those directly inside of it
/// that have none and no end that data decide. Every operator is the one of the interpreter, in its
/// order: a compiler that neither contracts nor re-associates has its bits. Tensors are as they are in this run. `marks`:
/// elements that are stored are to be marked.
[[nodiscard]] LoopSource source_of_loops(const PeArray& array, const std::vector<TensorAccess>& tensors,
                                         bool marks);

}  // namespace cyclotron::runtime
