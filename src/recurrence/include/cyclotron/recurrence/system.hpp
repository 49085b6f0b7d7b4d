// A system of recurrence equations: what a kernel means, before any decision of where and when (CY-001 …
// CY-010).
#pragma once
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/support/id.hpp>
#include <cyclotron/support/number.hpp>
#include <cyclotron/support/span.hpp>

namespace cyclotron::recurrence {

using operators::DType;
using operators::Flags;
using operators::Op;

using TensorId = Id<struct SystemTensorTag>;
using ExprId = Id<struct ExprTag>;
using EquationId = Id<struct EquationTag>;

/// constant + sum of coefficients[v] * scope[v]. The scope is the equation's indices in loop order, then
/// the reduction indices around the expression, outermost first. Trailing zeros may be omitted.
struct Affine {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  bool operator==(const Affine&) const = default;
};

/// `form >= 0`, or `form == 0` where equality, or `form mod modulus <= most` where the modulus is not 0; of negative
/// values too, remainders are 0 and more.
struct Constraint {
  Affine form;
  bool equality = false;
  std::int64_t modulus = 0;
  std::int64_t most = 0;
  bool operator==(const Constraint&) const = default;
};
/// Any of (all of constraints). Empty: no point; one empty conjunction: every point.
using Region = std::vector<std::vector<Constraint>>;

enum class Role : std::uint8_t { input, output, local };

/// A tensor. Its elements are tiles of up to `tile` scalars where `blocked`, else scalars; indices count
/// elements.
struct Tensor {
  std::string name;
  DType dtype = DType::float64;
  Role role = Role::input;
  std::vector<std::int64_t> shape;  ///< In scalars.
  std::vector<std::int64_t> tile;   ///< In scalars, one a dimension; all 1 where not blocked.
  bool blocked = false;
  Span span;
  std::string variable{};  ///< Its name in the kernel's text, where `name` is that of one of its versions.
  /// Of the variable, what each element of a version holds, by its subscripts; empty where that is not known. No more than a
  /// hint: passes that change subscripts may leave it.
  std::vector<Affine> holds{};
  bool operator==(const Tensor&) const = default;
  /// The name that users know it by.
  [[nodiscard]] const std::string& user_name() const { return variable.empty() ? name : variable; }
  [[nodiscard]] std::vector<std::int64_t> extents() const;  ///< In elements: ceil(shape / tile).
};

using Constant = Number;
/// The value of a form of the indices, as a number of the dtype: it is known wherever it is needed and never moves.
struct Index {
  Affine form;
  DType dtype = DType::int64;
  bool operator==(const Index&) const = default;
};
struct Access {
  TensorId tensor;
  std::vector<Affine> index;
  bool operator==(const Access&) const = default;
};
/// A sum or difference whose flags say `onward` is `(c - t) - u` where its second operand is a reduction `t + u`: the
/// order of `for k in range(2): c -= t[k]`. Of any other second operand it is what it is without.
struct Apply {
  Op op = Op::add;
  Flags flags = 0;
  std::vector<ExprId> operands;
  bool operator==(const Apply&) const = default;
};
/// The first_ ones are Python's, which go on from NaN only where it comes first.
enum class Reduction : std::uint8_t { sum, product, maximum, minimum, first_maximum, first_minimum };
/// The operator that joins two results of a reduction.
[[nodiscard]] constexpr Op combining(Reduction kind) {
  switch (kind) {
    case Reduction::sum: return Op::add;
    case Reduction::product: return Op::multiply;
    case Reduction::maximum: return Op::maximum;
    case Reduction::minimum: return Op::minimum;
    case Reduction::first_maximum: return Op::first_maximum;
    case Reduction::first_minimum: break;
  }
  return Op::first_minimum;
}
/// Tells whether a reduction over nothing has a value: 0 or 1.
[[nodiscard]] constexpr bool has_neutral(Reduction kind) {
  return kind == Reduction::sum || kind == Reduction::product;
}
/// Folds `body` over the values of one new index that lie in `domain` (a region over the scope with the
/// index appended), in ascending order, or in descending order if it says so, starting from the first term.
/// Over no value: 0 for sum, 1 for product, an error for maximum and minimum.
struct Reduce {
  Reduction kind = Reduction::sum;
  std::string index;
  Region domain;
  ExprId body;
  bool descending = false;
  bool any_order = false;  ///< Of a whole array, as NumPy does it, which promises no order.
  bool operator==(const Reduce&) const = default;
};
struct Expr {
  std::variant<Constant, Index, Access, Apply, Reduce> node;
  Span span;
  bool operator==(const Expr&) const = default;
};

/// target[index(p)] = expr(p) for every p in domain.
struct Equation {
  TensorId target;
  std::vector<Affine> index;
  std::vector<std::string> indices;  ///< Loop indices, outermost first.
  Region domain;
  ExprId expr;
  Span span;
  bool operator==(const Equation&) const = default;
};

/// The whole kernel for concrete shapes. Plain data: copyable, comparable, printable.
struct System {
  std::string kernel;
  std::vector<Tensor> tensors;
  std::vector<Expr> exprs;
  std::vector<Equation> equations;
  /// The indices, outermost first, of statements that have no point at these shapes: schedules may name them.
  std::vector<std::vector<std::string>> idle_nests = {};
  bool operator==(const System&) const = default;

  [[nodiscard]] const Tensor& at(TensorId id) const { return tensors.at(id.index()); }
  [[nodiscard]] const Expr& at(ExprId id) const { return exprs.at(id.index()); }
  [[nodiscard]] const Equation& at(EquationId id) const { return equations.at(id.index()); }
};

/// Unicode text, one equation a line: `C[i, j] = Σ_{0 ≤ k < 4} A[i, k] · B[k, j]    0 ≤ i < 3, 0 ≤ j < 5`.
[[nodiscard]] std::string to_string(const System& system);

}  // namespace cyclotron::recurrence
