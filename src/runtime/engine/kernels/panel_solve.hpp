// Triangular solves of real numbers: BLAS has slow kernels for the triangle. OpenBLAS 0.3 solves with a 128 x 128
// triangle at a third to two thirds of the rate of its product, with its AVX-512 kernels too.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "kernels.hpp"

namespace cyclotron::runtime {

/// A system of equations in order of solution: step s is value[s] <- (value[s] - sum over k < s of
/// coefficient(s, k) value[k]) / coefficient(s, s), in each lane. A backward solve has negative strides.
template <class T>
struct TriangularSystem {
  const T* triangle;        ///< coefficient(s, k) is triangle[s * step + k * term].
  std::int64_t step, term;  ///< In elements.
  T* values;                ///< value[s] of a lane is values[s * value_step + lane * value_lane].
  std::int64_t value_step, value_lane;
  std::int64_t steps, lanes;
  bool unit_diagonal;
};

/// The instructions that panels are solved with.
template <class T>
struct PanelSolver {
  static constexpr std::int64_t most_vectors = 3;  ///< Of a step's lanes.
  /// Solves a panel of so many steps, with the packed coefficients.
  using Kernel = void (*)(std::int64_t steps, const T* coefficients, T* panel);
  std::int64_t vector_width;                 ///< In elements.
  std::array<Kernel, most_vectors> kernels;  ///< By the number of vectors less one.
};

/// Those that this processor has, the fastest first. All make the same bits.
template <class T>
[[nodiscard]] std::span<const PanelSolver<T>> panel_solvers();

/// Tells whether this processor has a panel solver and it pays for a system of this size.
[[nodiscard]] bool solves_in_panels(std::int64_t steps, std::int64_t lanes);

/// Solves in place, for three vectors of lanes and 4 steps at a time, so that what is subtracted is a product in
/// registers (the microkernel of Goto and van de Geijn, ACM TOMS 34(3), 2008, with the triangle at its end).
/// The diagonal's reciprocals multiply, as in BLAS. Requires: `solver` is one of `panel_solvers()`.
template <class T>
void solve_in_panels(const TriangularSystem<T>& system, const PanelSolver<T>& solver, Scratch& scratch);

}  // namespace cyclotron::runtime
