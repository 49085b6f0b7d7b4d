#include "panel_solve.hpp"

#include <algorithm>

#include <cyclotron/support/error.hpp>

#if defined(__x86_64__)
#include <immintrin.h>
#define CYC_AVX2 __attribute__((target("avx2,fma")))
#endif

namespace cyclotron::runtime {

#if defined(__x86_64__)
namespace {

constexpr std::int64_t block = 4;    // Steps at a time.
constexpr std::int64_t vectors = 3;  // Of a step's lanes.
constexpr std::int64_t width = 4;    // Of a vector.
constexpr std::int64_t lanes = vectors * width;
constexpr std::int64_t triangle_size = 10;  // Of a block of steps: with its diagonal.

using Block = __m256d[block][vectors];

/// The coefficients in the order of their use: for each block of steps those of the known values, `block` of each,
/// then the triangle by rows with its diagonal inverted. Steps beyond the last are 0 = 0.
void pack_coefficients(const TriangularSystem& system, double* out) {
  for (std::int64_t first = 0; first < system.steps; first += block) {
    const std::int64_t count = std::min(block, system.steps - first);
    const double* rows = system.triangle + first * system.step;
    for (std::int64_t k = 0; k < first; ++k) {
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

CYC_AVX2 void transpose(__m256d (&rows)[width]) {
  const __m256d low01 = _mm256_unpacklo_pd(rows[0], rows[1]);
  const __m256d high01 = _mm256_unpackhi_pd(rows[0], rows[1]);
  const __m256d low23 = _mm256_unpacklo_pd(rows[2], rows[3]);
  const __m256d high23 = _mm256_unpackhi_pd(rows[2], rows[3]);
  rows[0] = _mm256_permute2f128_pd(low01, low23, 0x20);
  rows[1] = _mm256_permute2f128_pd(high01, high23, 0x20);
  rows[2] = _mm256_permute2f128_pd(low01, low23, 0x31);
  rows[3] = _mm256_permute2f128_pd(high01, high23, 0x31);
}

/// Whether the steps of a lane lie one after the other, so that blocks of them are transposed.
bool steps_adjoin(const TriangularSystem& system) {
  return system.value_step == 1 || system.value_step == -1;
}

/// Moves the values of up to `lanes` lanes between their places and `panel`, where those of a step adjoin.
template <bool to_panel>
CYC_AVX2 void move(const TriangularSystem& system, std::int64_t first_lane, double* panel) {
  const std::int64_t count = std::min(lanes, system.lanes - first_lane);
  double* values = system.values + first_lane * system.value_lane;
  const std::int64_t step = system.value_step;
  std::int64_t done = 0;
  if (count == lanes && steps_adjoin(system)) {
    const std::int64_t before = step > 0 ? 0 : width - 1;
    for (; done + width <= system.steps; done += width) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        double* place = values + done * step - before + v * width * system.value_lane;
        double* there = panel + done * lanes + v * width;
        __m256d rows[width];
        for (std::int64_t r = 0; r < width; ++r) {
          const std::int64_t at = step > 0 ? r : width - 1 - r;  // Of a step among those that adjoin.
          rows[r] =
              to_panel ? _mm256_loadu_pd(place + r * system.value_lane) : _mm256_loadu_pd(there + at * lanes);
        }
        transpose(rows);
        for (std::int64_t r = 0; r < width; ++r) {
          const std::int64_t at = step > 0 ? r : width - 1 - r;
          _mm256_storeu_pd(to_panel ? there + at * lanes : place + r * system.value_lane, rows[r]);
        }
      }
    }
  } else if (count == lanes && system.value_lane == 1) {
    for (; done < system.steps; ++done) {
      for (std::int64_t v = 0; v < vectors; ++v) {
        double* place = values + done * step + v * width;
        double* there = panel + done * lanes + v * width;
        _mm256_storeu_pd(to_panel ? there : place, _mm256_loadu_pd(to_panel ? place : there));
      }
    }
  }
  for (; done < system.steps; ++done) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      double& there = panel[done * lanes + lane];
      if (lane >= count) {
        there = 0.0;
      } else if (to_panel) {
        there = values[done * step + lane * system.value_lane];
      } else {
        values[done * step + lane * system.value_lane] = there;
      }
    }
  }
}

/// row -= factor * other
CYC_AVX2 inline void subtract_multiple(__m256d (&row)[vectors], double factor,
                                       const __m256d (&other)[vectors]) {
  const __m256d all = _mm256_set1_pd(factor);
#pragma GCC unroll 4
  for (std::int64_t v = 0; v < vectors; ++v) row[v] = _mm256_fnmadd_pd(all, other[v], row[v]);
}

/// The steps of one panel. Values beyond the last step are there too, and never used.
CYC_AVX2 void solve_panel(std::int64_t steps, const double* coefficient, double* panel) {
  for (std::int64_t first = 0; first < steps; first += block) {
    double* own = panel + first * lanes;
    Block value;
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = _mm256_loadu_pd(own + r * lanes + v * width);
    }
    for (const double* known = panel; known != own; known += lanes, coefficient += block) {
      const __m256d solved[vectors] = {_mm256_loadu_pd(known), _mm256_loadu_pd(known + width),
                                       _mm256_loadu_pd(known + 2 * width)};
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < block; ++r) subtract_multiple(value[r], coefficient[r], solved);
    }
    const double* triangle = coefficient;
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < r; ++k) subtract_multiple(value[r], *triangle++, value[k]);
      const __m256d reciprocal = _mm256_set1_pd(*triangle++);
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = _mm256_mul_pd(value[r][v], reciprocal);
    }
    coefficient = triangle;
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) _mm256_storeu_pd(own + r * lanes + v * width, value[r][v]);
    }
  }
}

}  // namespace

bool solves_in_panels(std::int64_t steps, std::int64_t lanes_of_values) {
  static const bool vectorised = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 &&
                                 __builtin_cpu_supports("avx512f") == 0;
  constexpr std::int64_t least = 48;
  return vectorised && steps >= least && lanes_of_values >= least;
}

void solve_in_panels(const TriangularSystem& system, Scratch& scratch) {
  const std::int64_t blocks = (system.steps + block - 1) / block;
  const std::int64_t panel_size = blocks * block * lanes;
  const std::int64_t packed_size = blocks * triangle_size + blocks * (blocks - 1) / 2 * block * block;
  auto* panel = static_cast<double*>(
      scratch.bytes(3, static_cast<std::size_t>(panel_size + packed_size) * sizeof(double)));
  double* packed = panel + panel_size;
  pack_coefficients(system, packed);
  std::fill(panel + system.steps * lanes, packed, 0.0);
  for (std::int64_t lane = 0; lane < system.lanes; lane += lanes) {
    move<true>(system, lane, panel);
    solve_panel(system.steps, packed, panel);
    move<false>(system, lane, panel);
  }
}

#else

bool solves_in_panels(std::int64_t, std::int64_t) { return false; }

void solve_in_panels(const TriangularSystem&, Scratch&) {
  check_failed("this processor solves in panels", __FILE__, __LINE__, {});
}

#endif

}  // namespace cyclotron::runtime
