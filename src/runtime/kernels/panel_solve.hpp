// Triangular solves in float64 where BLAS has no vectorised kernel for the triangle: on AVX2 without AVX-512,
// OpenBLAS 0.3 solves with a 128 x 128 triangle at half the speed of its product.
#pragma once
#include <cstdint>
#include <optional>

#include "kernels.hpp"

namespace cyclotron::runtime {

/// A system of equations in order of solution: step s is value[s] <- (value[s] - sum over k < s of
/// coefficient(s, k) value[k]) / coefficient(s, s), in each lane. A backward solve has negative strides.
struct TriangularSystem {
  const double* triangle;   ///< coefficient(s, k) is triangle[s * step + k * term].
  std::int64_t step, term;  ///< In doubles.
  double* values;           ///< value[s] of a lane is values[s * value_step + lane * value_lane].
  std::int64_t value_step, value_lane;
  std::int64_t steps, lanes;
  bool unit_diagonal;
};

/// Whether `solve_in_panels` runs on this processor and pays for a system of this size.
[[nodiscard]] bool solves_in_panels(std::int64_t steps, std::int64_t lanes_of_values);

/// Solves in place, for 12 lanes at a time and 4 steps at a time, so that what is subtracted is a product in
/// registers (the microkernel of Goto and van de Geijn, ACM TOMS 34(3), 2008, with the triangle at its end).
/// The diagonal's reciprocals multiply, as in BLAS. Requires: solves_in_panels(steps, lanes).
void solve_in_panels(const TriangularSystem& system, Scratch& scratch);

}  // namespace cyclotron::runtime
