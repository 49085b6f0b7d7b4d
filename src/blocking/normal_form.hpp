// Equations in normal form: each element of a tensor is a sum of products of elements, or a function of one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::blocking {

using recurrence::System;
using recurrence::TensorId;

/// An element of a tensor, or one divided by it. Forms are over the element that is computed, then the sums.
struct Factor {
  TensorId tensor;
  std::vector<poly::Affine> index;
  bool inverse = false;
  bool conjugate = false;
  bool operator==(const Factor&) const = default;
};

/// coefficient * product of factors, summed over the last coordinates of `points`; the first are the element's.
struct Term {
  double coefficient = 1;
  std::vector<Factor> factors;
  std::vector<std::string> sums;
  poly::Set points;
};

/// An elementwise operator of one operand, or of one and a number; or the greatest or least of all values of all terms, which
/// are one element each, or a number.
struct Function {
  operators::Op op = operators::Op::sqrt;
  std::optional<Number> number = std::nullopt;
  bool number_first = false;
  bool among_all = false;
  bool operator==(const Function&) const = default;
};

/// Tells whether a function of a sum over no terms is 0.
[[nodiscard]] inline bool keeps_zero(const std::optional<Function>& function) {
  return !function || function->op == operators::Op::sqrt;
}

/// The elements at `points` are the sum of the terms at them, or a function of it.
struct Piece {
  poly::Set points;
  std::vector<Term> terms;
  std::optional<Function> function;
  Span span;
  std::vector<std::string> names;  ///< Of the element's coordinates: the kernel's indices.
};

/// Visits all factors: the tensor that is computed, the term, and the factor.
template <typename Form, typename Visit>
void each_factor(Form& form, const Visit& visit) {
  for (std::size_t t = 0; t < form.pieces.size(); ++t) {
    for (auto& piece : form.pieces[t]) {
      for (auto& term : piece.terms) {
        for (auto& factor : term.factors) visit(TensorId(t), term, factor);
      }
    }
  }
}

[[nodiscard]] inline bool is_among_all(const std::optional<Function>& function) {
  return function && function->among_all;
}

/// All tensors, of which inputs have no pieces. Pieces of a tensor are disjoint.
struct NormalForm {
  System
      system;  ///< With local tensors for functions inside of equations, and for sums in products and divisors.
  std::vector<std::vector<Piece>> pieces;  ///< By tensor.
};

/// The number of coordinates of an element.
[[nodiscard]] inline std::size_t rank_of(const System& system, TensorId tensor) {
  return system.at(tensor).shape.size();
}

/// The most axes that a tensor for a part of an equation may have: those of inputs and outputs, or of matrices.
[[nodiscard]] std::size_t most_axes(const System& system);

/// The equations as sums of products over the elements that they assign, or functions of such; functions of parts of an
/// equation are tensors of their own.
/// Requires: verify(system). Throws LegalityError CYC231 where an expression is none, or a tensor is in tiles.
[[nodiscard]] NormalForm to_normal_form(const System& system, const poly::Context& context);

/// Throws LegalityError CYC231: that the kernel has no tiles, and why.
[[noreturn]] void refuse(const Span& span, const std::string& reason, std::string help = "");

/// The form over more variables: `count` new ones come before variable `at`.
[[nodiscard]] poly::Affine insert_variables(const poly::Affine& form, std::size_t at, std::size_t count);
/// The set with `count` free coordinates before coordinate `at`.
[[nodiscard]] poly::Set insert_coordinates(const poly::Set& set, std::size_t at, std::size_t count);
/// The forms of the first `count` of `variables` variables.
[[nodiscard]] std::vector<poly::Affine> identity_forms(std::size_t variables, std::size_t count);
/// Keeps the first coordinates.
[[nodiscard]] poly::Set project_first(const poly::Set& set, std::size_t count);
/// Tells whether both forms are equal at all points.
[[nodiscard]] bool equal_on(const poly::Set& points, const poly::Affine& a, const poly::Affine& b);
/// The only variable that a form is, if it is one.
[[nodiscard]] std::optional<std::size_t> plain_variable(const poly::Affine& form);

/// A subscript that runs through a window: the sum of where it starts, one of the element's first `rank` variables, and of
/// the place inside, a sum's.
struct WindowForm {
  std::size_t start, place;
};
[[nodiscard]] std::optional<WindowForm> window_form(const poly::Affine& form, std::size_t rank);

}  // namespace cyclotron::blocking
