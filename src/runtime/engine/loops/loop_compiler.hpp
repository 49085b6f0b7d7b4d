// Loops of long runs in the machine's own code, made by the system's C compiler while the interpreter runs them.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/runtime/loop_settings.hpp>

#include "../pe_array.hpp"
#include "../tensors.hpp"
#include "loop_source.hpp"

namespace cyclotron::runtime {

/// Has the loops of a run compiled once it, with those before it of the same loops, takes long enough, and puts them in
/// place when they are ready: runs of the same loops share them, as long as the process lives. Whatever goes wrong, the
/// interpreter runs them.
class LoopCompilation {
 public:
  /// All are to live as long as this. `marks`: of a run that notes what it stores.
  LoopCompilation(PeArray& array, const std::vector<TensorAccess>& tensors, const LoopSettings& settings,
                  StoreMarks* marks = nullptr);
  /// Adds the run's time to that of its loops.
  ~LoopCompilation();
  LoopCompilation(const LoopCompilation&) = delete;
  LoopCompilation& operator=(const LoopCompilation&) = delete;

  /// To be called now and then, by one thread.
  void poll();

 private:
  void put_in_place(const std::vector<LoopFunction>& found);
  [[nodiscard]] double seconds() const;

  PeArray& array_;
  const std::vector<TensorAccess>& tensors_;
  StoreMarks* marks_;
  LoopSettings settings_;
  std::chrono::steady_clock::time_point started_;
  double next_look_ = 0;
  std::uint64_t outline_;
  LoopSource source_;
  CompiledLoops loops_;
  bool has_source_ = false, done_ = false;
};

/// Compiles the loops of a run at once, and returns how many there are; 0 where the compiler fails.
[[nodiscard]] std::size_t compile_loops_of(const PeArray& array, const std::vector<TensorAccess>& tensors,
                                           const LoopSettings& settings);

}  // namespace cyclotron::runtime
