// The scalar recurrences that define the tile operators which solve, factor and invert.
#pragma once
#include <string>
#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/poly/affine.hpp>

namespace cyclotron::blocking {

/// Tiles in a definition.
enum class Role : std::uint8_t {
  residual,  ///< The operand of the operator: all that needs no element of the results.
  matrix,    ///< A triangular matrix that is done.
  scale,     ///< A vector that is done.
  result,
  second,  ///< The other result, of operators with two.
};

/// An element of a tile; forms are over row, column and the sum's place.
struct DefinedFactor {
  Role role = Role::result;
  poly::Affine row, column;
  bool conjugate = false;
};

/// coefficient * factors, summed where the constraints hold, over row, column and the sum's place.
struct DefinedTerm {
  double coefficient = 1;
  std::vector<DefinedFactor> factors;
  std::vector<poly::Constraint> range;
  bool over_columns = false;  ///< The sum is over as many places as the tile has columns, else rows.
};

/// result[row, column] = (residual + constant + terms) / divisors where the constraints over row and column hold; of the
/// root, its square root.
struct DefinedPiece {
  Role result = Role::result;
  std::vector<poly::Constraint> where;
  bool residual = true;
  double constant = 0;
  std::vector<DefinedTerm> terms;
  std::vector<DefinedFactor> divisors;
  bool root = false;
};

/// Steps from the residual to the results; what the runtime's kernels do is what the pieces say.
enum class Recipe : std::uint8_t {
  solve,
  cholesky,
  lu_packed,  ///< Both factors in one tile, without the ones.
  lu_apart,   ///< `result` is the factor above the diagonal, `second` the one of ones below.
  inverse,
  ldl,         ///< `result` is the factor of ones, `second` the diagonal.
  ldl_packed,  ///< Both in one tile, without the ones.
  solve_scaled  ///< With the factor of ones of LDLᵀ, then divided by its diagonal: `scale`, or that of the matrix.
};

struct Definition {
  std::string name;
  Recipe recipe = Recipe::solve;
  operators::Flags flags = 0;
  bool transposed = false;  ///< The operator's tile and results are transposes of these.
  bool one_column = false;  ///< `second` is a vector.
  std::vector<DefinedPiece> pieces;
};

/// All definitions, in the order in which they are tried: solves from both sides, with either triangle, transposed or not,
/// with and without ones on the diagonal, and the others with their transposes.
/// @param complex With conjugates where LAPACK has them.
[[nodiscard]] std::vector<Definition> definitions(bool complex);

}  // namespace cyclotron::blocking
