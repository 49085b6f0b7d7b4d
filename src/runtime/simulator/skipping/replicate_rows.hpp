// Time alone of a large array from a small one, exactly: rows of PEs that do the same, a constant time later than the
// row before them, are simulated once.
//
// Times obey max-plus equations: each is a maximum of other times, each plus a constant. Of a program that does not
// deadlock they have one solution. In a small array, made of the first and the last rows of the large one, let the rows around
// the cut differ by the same shift, in all their times. Then copies of a row between them, each shifted once more, and what
// lies behind shifted by all of them, obey the equations of the large array: those of a copy are the row's own,
// shifted.
#pragma once
#include <optional>

#include <cyclotron/runtime/runtime.hpp>

#include "../timing/timed_program.hpp"

namespace cyclotron::runtime::simulator {

/// Rows that a small array keeps of each side of a cut, of the first try; each try has four times as many.
inline constexpr std::int64_t first_half = 4;

/// None where the array is too small, where its rows are not uniform (their code or links depend on where they are, memories serve them, link maps join them), or where
/// no constant shift is found. Throws ExecutionError CYC708.
[[nodiscard]] std::optional<Timing> simulate_replicated(const TimedProgram& program, const Progress& progress,
                                                        std::int64_t half = first_half);

}  // namespace cyclotron::runtime::simulator
