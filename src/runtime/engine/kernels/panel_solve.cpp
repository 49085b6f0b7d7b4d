#include "panel_solve.hpp"

#include <algorithm>
#include <array>

#include <cyclotron/support/error.hpp>

#include "panel_vectors.hpp"

namespace cyclotron::runtime {

#if defined(__x86_64__)
namespace {

constexpr std::int64_t block = 4;           // Steps at a time, and the side of a square.
constexpr std::int64_t triangle_size = 10;  // Of a block of steps: with its diagonal.

/// The coefficients of the values that a whole block of steps knows, where they adjoin along a side. Returns
/// how many values that were.
template <class T>
CYC_AVX2 std::int64_t pack_known(const TriangularSystem<T>& system, const T* rows, std::int64_t known,
                                 T* out) {
  using Square = Quad<T>;
  std::int64_t k = 0;
  if (system.term == 1) {
    for (; k + block <= known; k += block, out += block * block) {
      typename Square::Vector square[block];
      for (std::int64_t r = 0; r < block; ++r) square[r] = Square::load(rows + r * system.step + k);
      Square::transpose(square);
      for (std::int64_t r = 0; r < block; ++r) Square::store(out + r * block, square[r]);
    }
  } else if (system.step == 1) {
    for (; k < known; ++k, out += block) Square::store(out, Square::load(rows + k * system.term));
  }
  return k;
}

/// The coefficients in the order of their use: for each block of steps those of the known values, `block` of each,
/// then the triangle by rows with its diagonal inverted. Steps beyond the last are 0 = 0.
template <class T>
void pack_coefficients(const TriangularSystem<T>& system, T* out) {
  for (std::int64_t first = 0; first < system.steps; first += block) {
    const std::int64_t count = std::min(block, system.steps - first);
    const T* rows = system.triangle + first * system.step;
    const std::int64_t done = count == block ? pack_known(system, rows, first, out) : 0;
    out += done * block;
    for (std::int64_t k = done; k < first; ++k) {
      for (std::int64_t r = 0; r < block; ++r)
        *out++ = r < count ? rows[r * system.step + k * system.term] : T{0};
    }
    for (std::int64_t r = 0; r < block; ++r) {
      const T* row = rows + r * system.step + first * system.term;
      for (std::int64_t k = 0; k < r; ++k) *out++ = r < count ? row[k * system.term] : T{0};
      *out++ = r < count && !system.unit_diagonal ? T{1} / row[r * system.term] : T{1};
    }
  }
}

/// Moves a square of lanes whose steps lie one after the other; `panel` has `lanes` of each step.
template <bool to_panel, class T>
CYC_AVX2 inline void move_square(const TriangularSystem<T>& system, T* values, std::int64_t lanes, T* panel) {
  using Square = Quad<T>;
  const bool backward = system.value_step < 0;
  T* first = values - (backward ? block - 1 : 0);
  const auto in_panel = [&](std::int64_t r) { return panel + (backward ? block - 1 - r : r) * lanes; };
  typename Square::Vector rows[block];
  for (std::int64_t r = 0; r < block; ++r)
    rows[r] = Square::load(to_panel ? first + r * system.value_lane : in_panel(r));
  Square::transpose(rows);
  for (std::int64_t r = 0; r < block; ++r)
    Square::store(to_panel ? in_panel(r) : first + r * system.value_lane, rows[r]);
}

/// Moves the values of up to `lanes` lanes between their places and `panel`, where those of a step adjoin.
template <bool to_panel, class T>
CYC_AVX2 void move(const TriangularSystem<T>& system, std::int64_t first_lane, std::int64_t lanes, T* panel) {
  using Square = Quad<T>;
  const std::int64_t count = std::min(lanes, system.lanes - first_lane);
  const std::int64_t whole = count / block * block;
  T* values = system.values + first_lane * system.value_lane;
  const std::int64_t step = system.value_step;
  std::int64_t done = 0;  // Steps of which `whole` lanes are moved.
  if (step == 1 || step == -1) {
    for (; done + block <= system.steps; done += block) {
      for (std::int64_t lane = 0; lane < whole; lane += block)
        move_square<to_panel>(system, values + done * step + lane * system.value_lane, lanes,
                              panel + done * lanes + lane);
    }
  } else if (system.value_lane == 1) {
    for (; done < system.steps; ++done) {
      for (std::int64_t lane = 0; lane < whole; lane += block) {
        T* place = values + done * step + lane;
        T* there = panel + done * lanes + lane;
        Square::store(to_panel ? there : place, Square::load(to_panel ? place : there));
      }
    }
  }
  for (std::int64_t s = whole == lanes ? done : 0; s < system.steps; ++s) {
    for (std::int64_t lane = s < done ? whole : 0; lane < lanes; ++lane) {
      T& there = panel[s * lanes + lane];
      if (lane >= count) {
        there = T{0};
      } else if (to_panel) {
        there = values[s * step + lane * system.value_lane];
      } else {
        values[s * step + lane * system.value_lane] = there;
      }
    }
  }
}

// The steps of one panel; values beyond the last step are there too, and never used. Twice the same, and in
// the same order for each lane: the instructions that a function may use cannot be a template's parameter.

template <class T, std::int64_t vectors>
CYC_AVX2 void solve_panel(std::int64_t steps, const T* coefficient, T* panel) {
  using I = Avx2<T>;
  constexpr std::int64_t width = I::width, lanes = vectors * width;
  for (std::int64_t first = 0; first < steps; first += block) {
    T* own = panel + first * lanes;
    typename I::Vector value[block][vectors];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = I::load(own + r * lanes + v * width);
    }
    for (const T* known = panel; known != own; known += lanes, coefficient += block) {
      typename I::Vector solved[vectors];
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) solved[v] = I::load(known + v * width);
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < block; ++r) {
        const auto factor = I::all(coefficient[r]);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = I::subtract_product(value[r][v], factor, solved[v]);
      }
    }
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < r; ++k) {
        const auto factor = I::all(*coefficient++);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = I::subtract_product(value[r][v], factor, value[k][v]);
      }
      const auto reciprocal = I::all(*coefficient++);
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) {
        value[r][v] = I::multiply(value[r][v], reciprocal);
        I::store(own + r * lanes + v * width, value[r][v]);
      }
    }
  }
}

template <class T, std::int64_t vectors>
CYC_AVX512 void solve_wide_panel(std::int64_t steps, const T* coefficient, T* panel) {
  using I = Avx512<T>;
  constexpr std::int64_t width = I::width, lanes = vectors * width;
  for (std::int64_t first = 0; first < steps; first += block) {
    T* own = panel + first * lanes;
    typename I::Vector value[block][vectors];
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) value[r][v] = I::load(own + r * lanes + v * width);
    }
    for (const T* known = panel; known != own; known += lanes, coefficient += block) {
      typename I::Vector solved[vectors];
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) solved[v] = I::load(known + v * width);
#pragma GCC unroll 4
      for (std::int64_t r = 0; r < block; ++r) {
        const auto factor = I::all(coefficient[r]);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = I::subtract_product(value[r][v], factor, solved[v]);
      }
    }
#pragma GCC unroll 4
    for (std::int64_t r = 0; r < block; ++r) {
#pragma GCC unroll 4
      for (std::int64_t k = 0; k < r; ++k) {
        const auto factor = I::all(*coefficient++);
#pragma GCC unroll 4
        for (std::int64_t v = 0; v < vectors; ++v)
          value[r][v] = I::subtract_product(value[r][v], factor, value[k][v]);
      }
      const auto reciprocal = I::all(*coefficient++);
#pragma GCC unroll 4
      for (std::int64_t v = 0; v < vectors; ++v) {
        value[r][v] = I::multiply(value[r][v], reciprocal);
        I::store(own + r * lanes + v * width, value[r][v]);
      }
    }
  }
}

}  // namespace

template <class T>
std::span<const PanelSolver<T>> panel_solvers() {
  static const std::array<PanelSolver<T>, 2> all{
      {{Avx512<T>::width, {solve_wide_panel<T, 1>, solve_wide_panel<T, 2>, solve_wide_panel<T, 3>}},
       {Avx2<T>::width, {solve_panel<T, 1>, solve_panel<T, 2>, solve_panel<T, 3>}}}};
  if (__builtin_cpu_supports("avx2") == 0 || __builtin_cpu_supports("fma") == 0) return {};
  return std::span(all).subspan(__builtin_cpu_supports("avx512f") != 0 ? 0 : 1);
}

template <class T>
void solve_in_panels(const TriangularSystem<T>& system, const PanelSolver<T>& solver, Scratch& scratch) {
  const std::int64_t blocks = (system.steps + block - 1) / block;
  const std::int64_t panel_size = blocks * block * PanelSolver<T>::most_vectors * solver.vector_width;
  const std::int64_t packed_size = blocks * triangle_size + blocks * (blocks - 1) / 2 * block * block;
  auto* panel =
      static_cast<T*>(scratch.bytes(3, static_cast<std::size_t>(panel_size + packed_size) * sizeof(T)));
  T* packed = panel + panel_size;
  pack_coefficients(system, packed);
  for (std::int64_t lane = 0; lane < system.lanes;) {
    const std::int64_t left = system.lanes - lane;
    const std::int64_t vectors =
        std::min(PanelSolver<T>::most_vectors, (left + solver.vector_width - 1) / solver.vector_width);
    const std::int64_t lanes = vectors * solver.vector_width;
    move<true>(system, lane, lanes, panel);
    std::fill(panel + system.steps * lanes, panel + blocks * block * lanes, T{0});
    solver.kernels[static_cast<std::size_t>(vectors - 1)](system.steps, packed, panel);
    move<false>(system, lane, lanes, panel);
    lane += lanes;
  }
}

#else

template <class T>
std::span<const PanelSolver<T>> panel_solvers() {
  return {};
}

template <class T>
void solve_in_panels(const TriangularSystem<T>&, const PanelSolver<T>&, Scratch&) {
  check_failed("this processor solves in panels", __FILE__, __LINE__, {});
}

#endif

bool solves_in_panels(std::int64_t steps, std::int64_t lanes) {
  constexpr std::int64_t least = 48;
  constexpr std::int64_t most = 1024;  // Beyond, coefficients come from memory; BLAS solves by products.
  return steps >= least && steps <= most && lanes >= least && !panel_solvers<double>().empty();
}

template std::span<const PanelSolver<float>> panel_solvers<float>();
template std::span<const PanelSolver<double>> panel_solvers<double>();
template void solve_in_panels<float>(const TriangularSystem<float>&, const PanelSolver<float>&, Scratch&);
template void solve_in_panels<double>(const TriangularSystem<double>&, const PanelSolver<double>&, Scratch&);

}  // namespace cyclotron::runtime
