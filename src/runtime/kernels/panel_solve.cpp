#include "panel_solve.hpp"

#include <algorithm>
#include <array>

#include <cyclotron/support/error.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#define CYC_AVX2 __attribute__((target("avx2,fma")))
#define CYC_AVX512 __attribute__((target("avx2,fma,avx512f")))
#endif

namespace cyclotron::runtime {

#if defined(__x86_64__)
namespace {

constexpr std::int64_t block = 4;           // Steps at a time.
constexpr std::int64_t width = 4;           // Of a vector of AVX2.
constexpr std::int64_t wide = 8;            // Of one of AVX-512.
constexpr std::int64_t triangle_size = 10;  // Of a block of steps: with its diagonal.

CYC_AVX2 inline void transpose(__m256d (&rows)[width]) {
  const __m256d low01 = _mm256_unpacklo_pd(rows[0], rows[1]);
  const __m256d high01 = _mm256_unpackhi_pd(rows[0], rows[1]);
  const __m256d low23 = _mm256_unpacklo_pd(rows[2], rows[3]);
  const __m256d high23 = _mm256_unpackhi_pd(rows[2], rows[3]);
  rows[0] = _mm256_permute2f128_pd(low01, low23, 0x20);
  rows[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
  rows[2] = _mm256_permute2f128_pd(low01, low23, 0x31);
  rows[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
}

/// The coefficients of the values that a whole block of steps knows, where they adjoin along a side. Returns
/// how many values that were.
CYC_AVX2 std::int64_t pack_known(const TriangularSystem& system, const double* rows, std::int64_t known,
                                 double* out) {
  std::int64_t k = 0;
  if (system.term == 1) {
    for (; k + width <= known; k += width, out += width * block) {
      __m256d square[width];
      for (std::int64_t r = 0; r < block; ++r) square[r] = _mm256_loadu_pd(rows + r * system.step + k);
      transpose(square);
      for (std::int64_t r = 0; r < block; ++r) _mm256_storeu_pd(out + r * block, square[r]);
    }
  } else if (system.step == 1) {
    for (; k < known; ++k, out += block) _mm256_storeu_pd(out, _mm256_loadu_pd(rows + k * system.term));
  }
  return k;
}

/// The coefficients in the order of their use: for each block of steps those of the known values, `block` of each,
/// then the triangle by rows with its diagonal inverted. Steps beyond the last are 0 = 0.
void pack_coefficients(const TriangularSystem& system, double* out) {
  for (std::int64_t first = 0; first < system.steps; first += block) {
    const std::int64_t count = std::min(block, system.steps - first);
    const double* rows = system.triangle + first * system.step;
    const std::int64_t done = count == block ? pack_known(system, rows, first, out) : 0;
    out += done * block;
    for (std::int64_t k = done; k < first; ++k) {
      for (std::int64_t r = 0; r < block; ++r)
        *out++ = r < count ? rows[r * system.step + k * system.term] : 0.0;
    }
    for (std::int64_t r = 0; r < block; ++r) {
      const double* row = rows + r * system.step + first * system.term;
      for (std::int64_t k = 0; k < r; ++k) *out++ = r < count ? row[k * system.term] : 0.0;
      *out++ = r < count && !system.unit_diagonal ? 1.0 / row[r * system.term] : 1.0;
    }
  }
}

/// Moves a square of `width` lanes whose steps lie one after the other; `panel` has `lanes` of each step.
template <bool to_panel>
CYC_AVX2 inline void move_square(const TriangularSystem& system, double* values, std::int64_t lanes,
                                 double* panel) {
  const bool backward = system.value_step < 0;
  double* first = values - (backward ? width - 1 : 0);
  const auto in_panel = [&](std::int64_t r) { return panel + (backward ? width - 1 - r : r) * lanes; };
  __m256d rows[width];
  for (std::int64_t r = 0; r < width; ++r)
    rows[r] = _mm256_loadu_pd(to_panel ? first + r * system.value_lane : in_panel(r));
  transpose(rows);
  for (std::int64_t r = 0; r < width; ++r)
    _mm256_storeu_pd(to_panel ? in_panel(r) : first + r * system.value_lane, rows[r]);
}

/// Moves the values of up to `lanes` lanes between their places and `panel`, where those of a step adjoin.
template <bool to_panel>
CYC_AVX2 void move(const TriangularSystem& system, std::int64_t first_lane, std::int64_t lanes,
                   double* panel) {
  const std::int64_t count = std::min(lanes, system.lanes - first_lane);
  const std::int64_t whole = count / width * width;
  double* values = system.values + first_lane * system.value_lane;
  const std::int64_t step = system.value_step;
  std::int64_t done = 0;  // Steps of which `whole` lanes are moved.
  if (step == 1 || step == -1) {
    for (; done + width <= system.steps; done += width) {
      for (std::int64_t lane = 0; lane < whole; lane += width)
        move_square<to_panel>(system, values + done * step + lane * system.value_lane, lanes,
                              panel + done * lanes + lane);
    }
  } else if (system.value_lane == 1) {
    for (; done < system.steps; ++done) {
      for (std::int64_t lane = 0; lane < whole; lane += width) {
        double* place = values + done * step + lane;
        double* there = panel + done * lanes + lane;
        _mm256_storeu_pd(to_panel ? there : place, _mm256_loadu_pd(to_panel ? place : there));
      }
    }
  }
  for (std::int64_t s = whole == lanes ? done : 0; s < system.steps; ++s) {
    for (std::int64_t lane = s < done ? whole : 0; lane < lanes; ++lane) {
      double& there = panel[s * lanes + lane];
      if (lane >= count) {
        there = 0.0;
      } else if (to_panel) {
        there = values[s * step + lane * system.value_lane];
      } else {
        values[s * step + lane * system.value_lane] = there;
      }
    }
  }
}

// The steps of one panel; values beyond the last step are there too, and never used. Twice the same, and in
// the same order for each lane: instructions cannot be a template's parameter.

template <std::int64_t vectors>
CYC_AVX2 void solve_panel(std::int64_t steps, const double* coefficient, double* panel) {
  constexpr std::int64_t lanes = vectors * width;
  for (std::int64_t first = 0; first < steps; first += block) {
    double* own = panel + first * lanes;
    __m256d value[block][vectors];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = _mm256_loadu_pd(own + r * lanes + v * width);
    }
    for (const double* known = panel; known != own; known += lanes, coefficient += block) {
      __m256d solved[vectors];
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) solved[v] = _mm256_loadu_pd(known + v * width);
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < block; ++r) {
        const __m256d factor = _mm256_set1_pd(coefficient[r]);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = _mm256_fnmadd_pd(factor, solved[v], value[r][v]);
      }
    }
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < r; ++k) {
        const __m256d factor = _mm256_set1_pd(*coefficient++);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = _mm256_fnmadd_pd(factor, value[k][v], value[r][v]);
      }
      const __m256d reciprocal = _mm256_set1_pd(*coefficient++);
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) {
        value[r][v] = _mm256_mul_pd(value[r][v], reciprocal);
        _mm256_storeu_pd(own + r * lanes + v * width, value[r][v]);
      }
    }
  }
}

template <std::int64_t vectors>
CYC_AVX512 void solve_wide_panel(std::int64_t steps, const double* coefficient, double* panel) {
  constexpr std::int64_t lanes = vectors * wide;
  for (std::int64_t first = 0; first < steps; first += block) {
    double* own = panel + first * lanes;
    __m512d value[block][vectors];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = _mm512_loadu_pd(own + r * lanes + v * wide);
    }
    for (const double* known = panel; known != own; known += lanes, coefficient += block) {
      __m512d solved[vectors];
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) solved[v] = _mm512_loadu_pd(known + v * wide);
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < block; ++r) {
        const __m512d factor = _mm512_set1_pd(coefficient[r]);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = _mm512_fnmadd_pd(factor, solved[v], value[r][v]);
      }
    }
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < r; ++k) {
        const __m512d factor = _mm512_set1_pd(*coefficient++);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = _mm512_fnmadd_pd(factor, value[k][v], value[r][v]);
      }
      const __m512d reciprocal = _mm512_set1_pd(*coefficient++);
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) {
        value[r][v] = _mm512_mul_pd(value[r][v], reciprocal);
        _mm512_storeu_pd(own + r * lanes + v * wide, value[r][v]);
      }
    }
  }
}

}  // namespace

std::span<const PanelSolver> panel_solvers() {
  static const std::array<PanelSolver, 2> all{
      {{wide, {solve_wide_panel<1>, solve_wide_panel<2>, solve_wide_panel<3>}},
       {width, {solve_panel<1>, solve_panel<2>, solve_panel<3>}}}};
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) return {};
  return std::span(all).subspan(__builtin_cpu_supports("avx512f") != 0 ? 0 : 1);
}

void solve_in_panels(const TriangularSystem& system, const PanelSolver& solver, Scratch& scratch) {
  const std::int64_t blocks = (system.steps + block - 1) / block;
  const std::int64_t panel_size = blocks * block * PanelSolver::most_vectors * solver.vector_width;
  const std::int64_t packed_size = blocks * triangle_size + blocks * (blocks - 1) / 2 * block * block;
  auto* panel = static_cast<double*>(
      scratch.bytes(3, static_cast<std::size_t>(panel_size + packed_size) * sizeof(double)));
  double* packed = panel + panel_size;
  pack_coefficients(system, packed);
  for (std::int64_t lane = 0; lane < system.lanes;) {
    const std::int64_t left = system.lanes - lane;
    const std::int64_t vectors =
        std::min(PanelSolver::most_vectors, (left + solver.vector_width - 1) / solver.vector_width);
    const std::int64_t lanes = vectors * solver.vector_width;
    move<true>(system, lane, lanes, panel);
    std::fill(panel + system.steps * lanes, panel + blocks * block * lanes, 0.0);
    solver.kernels[static_cast<std::size_t>(vectors - 1)](system.steps, packed, panel);
    move<false>(system, lane, lanes, panel);
    lane += lanes;
  }
}

#else

std::span<const PanelSolver> panel_solvers() { return {}; }

void solve_in_panels(const TriangularSystem&, const PanelSolver&, Scratch&) {
  check_failed("this processor solves in panels", __FILE__, __LINE__, {});
}

#endif

bool solves_in_panels(std::int64_t steps, std::int64_t lanes) {
  constexpr std::int64_t least = 48;
  constexpr std::int64_t most = 1024;  // Beyond, coefficients come from memory; BLAS solves by products.
  return steps >= least && steps <= most && lanes >= least && !panel_solvers().empty();
}

}  // namespace cyclotron::runtime
