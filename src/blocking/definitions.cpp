#include "definitions.hpp"

#include <utility>

#include <fmt/format.h>

namespace cyclotron::blocking {

namespace {

using poly::Affine;
using poly::Constraint;

const Affine x = poly::variable(3, 0), y = poly::variable(3, 1), r = poly::variable(3, 2),
             none = poly::constant(3, 0);

Constraint below(const Affine& a, const Affine& b) { return {b - a - poly::constant(3, 1), false}; }  // a < b
Constraint at_most(const Affine& a, const Affine& b) { return {b - a, false}; }  // a <= b
Constraint same(const Affine& a, const Affine& b) { return {a - b, true}; }

DefinedPiece zero(Role result, const Constraint& where) {
  return {.result = result, .where = {where}, .residual = false, .terms = {}, .divisors = {}};
}

DefinedPiece ones(Role result) {
  return {
      .result = result, .where = {same(x, y)}, .residual = false, .constant = 1, .terms = {}, .divisors = {}};
}

/// X of op(A) X = B or X op(A) = B: by rows or columns, from the first or from the last.
Definition solve(bool right, bool transposed, bool lower, bool unit) {
  const auto& along = right ? y : x;
  // op(A)[along, r] from the left, op(A)[r, along] from the right.
  const bool swapped = transposed != right;
  const bool forward = (lower != transposed) != right;
  DefinedFactor a{Role::matrix, swapped ? r : along, swapped ? along : r};
  DefinedFactor done{Role::result, right ? x : r, right ? r : y};
  DefinedPiece piece{.where = {},
                     .terms = {{-1, {a, done}, {forward ? below(r, along) : below(along, r)}, right}},
                     .divisors = {}};
  if (!unit) piece.divisors = {{Role::matrix, along, along}};
  operators::Flags flags = 0;
  if (right) flags |= operators::right_side;
  if (transposed) flags |= operators::transpose_a;
  if (lower) flags |= operators::lower;
  if (unit) flags |= operators::unit_diagonal;
  return {unit ? "trsm unit" : "trsm", Recipe::solve, flags, false, false, {piece}};
}

Definition cholesky(bool complex) {
  const DefinedFactor row{Role::result, x, r}, other{Role::result, y, r, complex};
  const DefinedTerm term{-1, {row, other}, {below(r, y)}};
  const DefinedPiece diagonal{.where = {same(x, y)}, .terms = {term}, .divisors = {}, .root = true};
  const DefinedPiece rest{.where = {below(y, x)}, .terms = {term}, .divisors = {{Role::result, y, y}}};
  return {"potrf", Recipe::cholesky, 0, false, false, {diagonal, rest, zero(Role::result, below(x, y))}};
}

Definition lu(bool apart) {
  const Role factor = apart ? Role::second : Role::result;
  const DefinedFactor left{factor, x, r}, right{Role::result, r, y};
  const DefinedPiece upper{
      .where = {at_most(x, y)}, .terms = {{-1, {left, right}, {below(r, x)}}}, .divisors = {}};
  const DefinedPiece rest{.result = factor,
                          .where = {below(y, x)},
                          .terms = {{-1, {left, right}, {below(r, y)}}},
                          .divisors = {{Role::result, y, y}}};
  Definition result{"getrf", apart ? Recipe::lu_apart : Recipe::lu_packed, 0, false, false, {upper, rest}};
  if (apart) {
    result.pieces.push_back(zero(Role::result, below(y, x)));
    result.pieces.push_back(ones(factor));
    result.pieces.push_back(zero(factor, below(x, y)));
  }
  return result;
}

Definition inverse(bool lower, bool by_columns, bool unit) {
  const auto strict = lower ? below(y, x) : below(x, y);
  DefinedPiece diagonal = ones(Role::result);
  // A X = 1 by rows, or X A = 1 by columns: the matrix, the inverse and the divisor.
  const DefinedFactor a{Role::matrix, by_columns ? r : x, by_columns ? y : r};
  const DefinedFactor done{Role::result, by_columns ? x : r, by_columns ? r : y};
  const auto &first = lower ? y : x, &last = lower ? x : y;
  // The place on the divisor's side is not a term's.
  const bool ends_before_last = by_columns != lower;
  std::vector<Constraint> range = ends_before_last
                                      ? std::vector<Constraint>{at_most(first, r), below(r, last)}
                                      : std::vector<Constraint>{below(first, r), at_most(r, last)};
  const auto& at = by_columns ? y : x;
  DefinedPiece rest{
      .where = {strict}, .residual = false, .terms = {{-1, {a, done}, std::move(range)}}, .divisors = {}};
  operators::Flags flags = lower ? operators::Flags{operators::lower} : 0U;
  if (unit) {
    flags |= operators::unit_diagonal;
  } else {
    diagonal.divisors = {{Role::matrix, x, x}};
    rest.divisors = {{Role::matrix, at, at}};
  }
  return {unit ? "trtri unit" : "trtri",
          Recipe::inverse,
          flags,
          false,
          false,
          {diagonal, rest, zero(Role::result, lower ? below(x, y) : below(y, x))}};
}

Definition ldl() {
  const DefinedFactor row{Role::result, x, r}, other{Role::result, y, r}, scale{Role::second, r, none};
  const DefinedPiece diagonal{
      .result = Role::second,
      .where = {same(x, y)},
      .terms = {{-1, {{Role::result, x, r}, {Role::result, x, r}, scale}, {below(r, x)}}},
      .divisors = {}};
  const DefinedPiece rest{.where = {below(y, x)},
                          .terms = {{-1, {row, other, scale}, {below(r, y)}}},
                          .divisors = {{Role::second, y, none}}};
  return {"sytrf", Recipe::ldl, 0,
          false,   true,        {diagonal, rest, ones(Role::result), zero(Role::result, below(x, y))}};
}

Definition ldl_packed() {
  const DefinedFactor row{Role::result, x, r}, other{Role::result, y, r}, scale{Role::result, r, r};
  const DefinedPiece diagonal{
      .where = {same(x, y)}, .terms = {{-1, {row, row, scale}, {below(r, x)}}}, .divisors = {}};
  const DefinedPiece rest{.where = {below(y, x)},
                          .terms = {{-1, {row, other, scale}, {below(r, y)}}},
                          .divisors = {{Role::result, y, y}}};
  return {"sytrf", Recipe::ldl_packed, 0, false, false, {diagonal, rest, zero(Role::result, below(x, y))}};
}

Definition solve_scaled(bool packed) {
  const auto scale = [&](const Affine& at) {
    return packed ? DefinedFactor{Role::matrix, at, at} : DefinedFactor{Role::scale, at, none};
  };
  const DefinedFactor done{Role::result, x, r}, a{Role::matrix, y, r};
  const DefinedPiece piece{
      .where = {}, .terms = {{-1, {done, scale(r), a}, {below(r, y)}}}, .divisors = {scale(y)}};
  return {"trsm unit", Recipe::solve_scaled, 0, false, false, {piece}};
}

/// The same of transposed tiles.
Definition transposed(Definition definition) {
  const std::vector<Affine> swap{y, x, r};
  const auto turn = [&](DefinedFactor& factor) {
    factor.row = poly::substitute(factor.row, swap, 3);
    factor.column = poly::substitute(factor.column, swap, 3);
    if (factor.role == Role::result || (factor.role == Role::second && !definition.one_column))
      std::swap(factor.row, factor.column);
  };
  for (auto& piece : definition.pieces) {
    for (auto& constraint : piece.where) constraint.form = poly::substitute(constraint.form, swap, 3);
    for (auto& divisor : piece.divisors) turn(divisor);
    for (auto& term : piece.terms) {
      for (auto& factor : term.factors) turn(factor);
      for (auto& constraint : term.range) constraint.form = poly::substitute(constraint.form, swap, 3);
    }
  }
  definition.transposed = true;
  return definition;
}

}  // namespace

std::vector<Definition> definitions(bool complex) {
  std::vector<Definition> result;
  for (int form = 0; form < 16; ++form)
    result.push_back(solve((form & 1) != 0, (form & 2) != 0, (form & 4) == 0, (form & 8) != 0));
  result.push_back(cholesky(complex));
  result.push_back(lu(true));
  result.push_back(lu(false));
  for (int form = 0; form < 8; ++form)
    result.push_back(inverse((form & 1) == 0, (form & 2) != 0, (form & 4) != 0));
  if (!complex) {
    result.push_back(ldl());
    result.push_back(ldl_packed());
    result.push_back(solve_scaled(false));
    result.push_back(solve_scaled(true));
  }
  result.push_back(transposed(cholesky(complex)));
  result.push_back(transposed(lu(true)));
  result.push_back(transposed(lu(false)));
  return result;
}

}  // namespace cyclotron::blocking
