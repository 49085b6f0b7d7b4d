#include "linear_algebra.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "arithmetic.hpp"
#include "blas.hpp"
#include "panel_solve.hpp"

namespace cyclotron::runtime::linear_algebra {
namespace {

using namespace arithmetic;

template <class T>
inline constexpr bool uses_blas = has_solvers<T>;

template <class T>
T combine(Into into, T accumulator, T product) {
  switch (into) {
    case Into::overwrite: return product;
    case Into::add: return add(accumulator, product);
    case Into::subtract: return subtract(accumulator, product);
  }
  return product;
}

template <class T>
void matmul_loops(Flags flags, const ConstTile& a, const ConstTile& b, Tile result, Into into,
                  std::int64_t inner) {
  const bool at = (flags & operators::transpose_a) != 0;
  const bool bt = (flags & operators::transpose_b) != 0;
  const T* x = static_cast<const T*>(a.data);
  const T* y = static_cast<const T*>(b.data);
  T* out = static_cast<T*>(result.data);
  for (std::int64_t i = 0; i < result.shape.rows; ++i) {
    for (std::int64_t j = 0; j < result.shape.columns; ++j, ++out) {
      Sum<T> sum{0};
      for (std::int64_t k = 0; k < inner; ++k) {
        const T left = at ? x[k * a.shape.columns + i] : x[i * a.shape.columns + k];
        const T right = bt ? y[j * b.shape.columns + k] : y[k * b.shape.columns + j];
        sum = add(sum, multiply(Sum<T>(left), Sum<T>(right)));
      }
      *out = combine(into, *out, T(sum));
    }
  }
}

int to_int(std::int64_t n) { return static_cast<int>(n); }

/// result[i, j] = combine(result[i, j], P[i, j]) for the symmetric n x n matrix P of which `lower` has the
/// lower triangle; by blocks, since a column of the mirrored half is a stride through memory.
template <class T>
void combine_symmetric(Into into, std::int64_t n, const T* lower, T* result) {
  constexpr std::int64_t edge = 16;
  for (std::int64_t top = 0; top < n; top += edge) {
    const std::int64_t rows = std::min(edge, n - top);
    for (std::int64_t left = 0; left < top; left += edge) {
      std::array<T, edge * edge> mirrored;
      for (std::int64_t i = 0; i < rows; ++i) {
        const T* from = lower + (top + i) * n + left;
        T* to = result + (top + i) * n + left;
        for (std::int64_t j = 0; j < edge; ++j) {
          to[j] = combine(into, to[j], from[j]);
          mirrored[static_cast<std::size_t>(j * edge + i)] = from[j];
        }
      }
      for (std::int64_t j = 0; j < edge; ++j) {
        const T* from = mirrored.data() + j * edge;
        T* to = result + (left + j) * n + top;
        for (std::int64_t i = 0; i < rows; ++i) to[i] = combine(into, to[i], from[i]);
      }
    }
    for (std::int64_t i = top; i < top + rows; ++i) {
      T* to = result + i * n;
      for (std::int64_t j = top; j < top + rows; ++j)
        to[j] = combine(into, to[j], j <= i ? lower[i * n + j] : lower[j * n + i]);
    }
  }
}

}  // namespace

template <class T>
void matmul(Flags flags, const ConstTile& a, const ConstTile& b, Tile result, Into into) {
  const bool at = (flags & operators::transpose_a) != 0;
  const bool bt = (flags & operators::transpose_b) != 0;
  const std::int64_t inner = at ? a.shape.rows : a.shape.columns;
  if constexpr (uses_blas<T>) {
    const blas::Gemm gemm{.transpose_a = at ? CblasTrans : CblasNoTrans,
                          .transpose_b = bt ? CblasTrans : CblasNoTrans,
                          .m = to_int(result.shape.rows),
                          .n = to_int(result.shape.columns),
                          .k = to_int(inner),
                          .lda = to_int(a.shape.columns),
                          .ldb = to_int(b.shape.columns),
                          .ldc = to_int(result.shape.columns)};
    blas::gemm(gemm, T(into == Into::subtract ? -1 : 1), static_cast<const T*>(a.data),
               static_cast<const T*>(b.data), T(into == Into::overwrite ? 0 : 1),
               static_cast<T*>(result.data));
  } else {
    matmul_loops<T>(flags, a, b, result, into, inner);
  }
}

template <class T>
void syrk(Flags flags, const ConstTile& a, Tile result, Into into, Scratch& scratch) {
  if constexpr (uses_blas<T>) {
    const std::int64_t n = a.shape.rows;
    const auto multiply_into = [&, k = a.shape.columns](T alpha, T beta, T* c) {
      blas::syrk(to_int(n), to_int(k), alpha, static_cast<const T*>(a.data), beta, c);
    };
    T* out = static_cast<T*>(result.data);
    if ((flags & operators::lower) != 0)
      return multiply_into(T(into == Into::subtract ? -1 : 1), T(into == Into::overwrite ? 0 : 1), out);
    // The accumulator need not be symmetric, so both halves of the product are combined with it.
    T* product = static_cast<T*>(scratch.bytes(3, static_cast<std::size_t>(n * n) * sizeof(T)));
    multiply_into(T(1), T(0), product);
    combine_symmetric(into, n, product, out);
  } else {
    matmul_loops<T>(operators::transpose_b, a, a, result, into, a.shape.columns);
  }
}

namespace {

/// The system that a solve of row-major tiles is, by rows of the result or by its columns.
template <class T>
TriangularSystem<T> triangular_system(Flags flags, const ConstTile& matrix, Tile result) {
  const std::int64_t n = matrix.shape.rows;
  const bool right = (flags & operators::right_side) != 0;
  const bool transposed =
      ((flags & operators::transpose_a) != 0) != right;  // X op(A) = B is op(A).T X.T = B.T
  TriangularSystem<T> system{.triangle = static_cast<const T*>(matrix.data),
                             .step = transposed ? 1 : n,
                             .term = transposed ? n : 1,
                             .values = static_cast<T*>(result.data),
                             .value_step = right ? 1 : result.shape.columns,
                             .value_lane = right ? result.shape.columns : 1,
                             .steps = n,
                             .lanes = right ? result.shape.rows : result.shape.columns,
                             .unit_diagonal = (flags & operators::unit_diagonal) != 0};
  const bool forward = ((flags & operators::lower) != 0) != transposed;
  if (!forward) {
    system.triangle += (n - 1) * (system.step + system.term);
    system.values += (n - 1) * system.value_step;
    for (auto* stride : {&system.step, &system.term, &system.value_step}) *stride = -*stride;
  }
  return system;
}

}  // namespace

template <class T>
void solve_triangular(Flags flags, const ConstTile& matrix, Tile result, Scratch& scratch) {
  const T* a = static_cast<const T*>(matrix.data);
  const std::int64_t n = matrix.shape.rows;
  const bool unit = (flags & operators::unit_diagonal) != 0;
  for (std::int64_t i = 0; !unit && i < n; ++i) {
    if (a[i * n + i] == T{0}) singular(i + 1);
  }
  if constexpr (is_real<T>) {
    const bool right = (flags & operators::right_side) != 0;
    if (solves_in_panels(n, right ? result.shape.rows : result.shape.columns))
      return solve_in_panels(triangular_system<T>(flags, matrix, result), panel_solvers<T>().front(),
                             scratch);
  }
  blas::trsm({.side = (flags & operators::right_side) != 0 ? CblasRight : CblasLeft,
              .triangle = (flags & operators::lower) != 0 ? CblasLower : CblasUpper,
              .transpose = (flags & operators::transpose_a) != 0 ? CblasTrans : CblasNoTrans,
              .diagonal = unit ? CblasUnit : CblasNonUnit,
              .m = to_int(result.shape.rows),
              .n = to_int(result.shape.columns),
              .lda = to_int(n)},
             a, static_cast<T*>(result.data));
}

template <class T>
void cholesky(Tile matrix) {
  T* a = static_cast<T*>(matrix.data);
  const std::int64_t n = matrix.shape.rows;
  const std::int64_t info = blas::potrf(to_int(n), a);
  const std::int64_t factored = info != 0 ? info - 1 : n;
  for (std::int64_t i = 0; i < factored; ++i) {  // LAPACK goes on past infinities, and may past NaN
    if (!std::isfinite(std::real(a[i * n + i]))) not_definite(i + 1, false);
  }
  if (info != 0) not_definite(info, std::isfinite(std::real(a[(info - 1) * n + info - 1])));
  for (std::int64_t i = 0; i < n; ++i) std::fill(a + i * n + i + 1, a + (i + 1) * n, T{0});
}

template <class T>
void inv_triangular(Flags flags, const ConstTile& matrix, Tile result, Scratch& scratch) {
  T* x = static_cast<T*>(result.data);
  const std::int64_t n = result.shape.rows;
  const bool is_lower = (flags & operators::lower) != 0;
  std::fill(x, x + n * n, T{0});
  for (std::int64_t i = 0; i < n; ++i) x[i * n + i] = T{1};
  solve_triangular<T>(flags & (operators::lower | operators::unit_diagonal), matrix, result, scratch);
  for (std::int64_t i = 0; i < n; ++i) {  // zeros also where the solve met infinities
    T* row = x + i * n;
    std::fill(is_lower ? row + i + 1 : row, is_lower ? row + n : row + i, T{0});
  }
}

template <class T>
void lu(Tile matrix) {
  T* a = static_cast<T*>(matrix.data);
  const std::int64_t n = matrix.shape.rows;
  for (std::int64_t k = 0; k < n; ++k) {
    const T pivot = a[k * n + k];
    if (pivot == T{0}) zero_pivot(k + 1);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T factor = a[i * n + k] = divide(a[i * n + k], pivot);
      for (std::int64_t j = k + 1; j < n; ++j)
        a[i * n + j] = subtract(a[i * n + j], multiply(factor, a[k * n + j]));
    }
  }
}

template <class T>
void ldl(Tile matrix) {
  T* a = static_cast<T*>(matrix.data);
  const std::int64_t n = matrix.shape.rows;
  const auto conjugate = [](T x) {
    if constexpr (is_complex<T>) return std::conj(x);
    return x;
  };
  for (std::int64_t k = 0; k < n; ++k) {
    const T pivot = a[k * n + k] = T(real_part(a[k * n + k]));
    if (pivot == T{0}) zero_pivot(k + 1);
    for (std::int64_t i = k + 1; i < n; ++i) {
      const T factor = divide(a[i * n + k], pivot);
      // Columns k+1..i of row i; column k still holds L D in the rows below.
      for (std::int64_t j = k + 1; j <= i; ++j) {
        const T other = j == i ? a[i * n + k] : multiply(a[j * n + k], pivot);
        a[i * n + j] = subtract(a[i * n + j], multiply(factor, conjugate(other)));
      }
      a[i * n + k] = factor;
    }
    std::fill(a + k * n + k + 1, a + (k + 1) * n, T{0});
  }
}

#define CYCLOTRON_PRODUCTS(T)                                                     \
  template void matmul<T>(Flags, const ConstTile&, const ConstTile&, Tile, Into); \
  template void syrk<T>(Flags, const ConstTile&, Tile, Into, Scratch&)
#define CYCLOTRON_SOLVERS(T)                                                  \
  template void solve_triangular<T>(Flags, const ConstTile&, Tile, Scratch&); \
  template void inv_triangular<T>(Flags, const ConstTile&, Tile, Scratch&);   \
  template void cholesky<T>(Tile);                                            \
  template void lu<T>(Tile);                                                  \
  template void ldl<T>(Tile)
CYCLOTRON_PRODUCTS(Boolean);
CYCLOTRON_PRODUCTS(std::int8_t);
CYCLOTRON_PRODUCTS(std::int16_t);
CYCLOTRON_PRODUCTS(std::int32_t);
CYCLOTRON_PRODUCTS(std::int64_t);
CYCLOTRON_PRODUCTS(std::uint8_t);
CYCLOTRON_PRODUCTS(std::uint16_t);
CYCLOTRON_PRODUCTS(std::uint32_t);
CYCLOTRON_PRODUCTS(std::uint64_t);
CYCLOTRON_PRODUCTS(Float8E4m3);
CYCLOTRON_PRODUCTS(Float8E4m3fn);
CYCLOTRON_PRODUCTS(Float8E5m2);
CYCLOTRON_PRODUCTS(Bfloat16);
CYCLOTRON_PRODUCTS(Float16);
CYCLOTRON_PRODUCTS(float);
CYCLOTRON_PRODUCTS(double);
CYCLOTRON_PRODUCTS(std::complex<float>);
CYCLOTRON_PRODUCTS(std::complex<double>);
CYCLOTRON_SOLVERS(float);
CYCLOTRON_SOLVERS(double);
CYCLOTRON_SOLVERS(std::complex<float>);
CYCLOTRON_SOLVERS(std::complex<double>);
#undef CYCLOTRON_PRODUCTS
#undef CYCLOTRON_SOLVERS

}  // namespace cyclotron::runtime::linear_algebra
