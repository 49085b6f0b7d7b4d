// Matrix operators on tiles: BLAS and LAPACK for floating point, plain loops for integers and booleans.
#pragma once
#include <span>

#include "kernels.hpp"

namespace cyclotron::runtime::linear_algebra {

/// The use of a product: it is the result, or is added to the result or subtracted from it.
enum class Into : std::uint8_t { overwrite, add, subtract };

/// result <- a @ b, result + a @ b, or result - a @ b, with the transposes of `flags`.
template <class T>
void matmul(Flags flags, const ConstTile& a, const ConstTile& b, Tile result, Into into);

/// result <- a @ a.T or result +- a @ a.T: all of it or, with `lower`, what is not above the diagonal.
template <class T>
void syrk(Flags flags, const ConstTile& a, Tile result, Into into, Scratch& scratch);

/// Solves in place: `result` holds the right-hand side before and the solution after.
template <class T>
void solve_triangular(Flags flags, const ConstTile& matrix, Tile result, Scratch& scratch);

/// result <- the inverse of a triangular matrix, zeros in the other triangle.
template <class T>
void inv_triangular(Flags flags, const ConstTile& matrix, Tile result, Scratch& scratch);

/// Factors in place: lower triangle, zeros above.
template <class T>
void cholesky(Tile matrix);

/// Factors in place without exchange of rows: U, and below it L without its diagonal of ones.
template <class T>
void lu(Tile matrix);

/// Factors a Hermitian matrix, of which it reads the lower triangle, in place without exchange of rows: D on
/// the diagonal, below it L without its ones, zeros above.
template <class T>
void ldl(Tile matrix);

}  // namespace cyclotron::runtime::linear_algebra
