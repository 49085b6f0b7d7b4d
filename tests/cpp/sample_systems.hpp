// Kernels for the tests of several layers, built from short texts.
#pragma once
#include <cctype>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::testing {

using recurrence::ExprId;
using recurrence::Op;
using recurrence::Reduction;
using recurrence::Region;
using recurrence::System;

/// Builds a System. `names` are the indices in scope, as for recurrence::Affine: an equation's, then the
/// reduction's.
class SystemBuilder {
 public:
  explicit SystemBuilder(std::string kernel) { system_.kernel = std::move(kernel); }

  /// A tensor of scalars, or of square tiles where `tile` > 0.
  SystemBuilder& tensor(const std::string& name, recurrence::Role role, std::vector<std::int64_t> shape,
                        std::int64_t tile = 0, recurrence::DType dtype = recurrence::DType::float64) {
    const std::vector<std::int64_t> tiles(shape.size(), tile > 0 ? tile : 1);
    system_.tensors.push_back({name, dtype, role, std::move(shape), tiles, tile > 0, span()});
    return *this;
  }
  SystemBuilder& input(const std::string& name, std::vector<std::int64_t> shape, std::int64_t tile = 0) {
    return tensor(name, recurrence::Role::input, std::move(shape), tile);
  }
  SystemBuilder& output(const std::string& name, std::vector<std::int64_t> shape, std::int64_t tile = 0) {
    return tensor(name, recurrence::Role::output, std::move(shape), tile);
  }
  SystemBuilder& local(const std::string& name, std::vector<std::int64_t> shape, std::int64_t tile = 0) {
    return tensor(name, recurrence::Role::local, std::move(shape), tile);
  }

  SystemBuilder& names(std::vector<std::string> in_scope) {
    names_ = std::move(in_scope);
    return *this;
  }
  ExprId at(const std::string& name, const std::vector<std::string>& subscripts) {
    return add(recurrence::Access{tensor_id(name), forms(subscripts)});
  }
  ExprId number(double value) { return add(recurrence::Constant{value, 0}); }
  ExprId apply(Op op, std::vector<ExprId> operands, recurrence::Flags flags = 0) {
    return add(recurrence::Apply{op, flags, std::move(operands)});
  }
  ExprId reduce(Reduction kind, const std::string& index, const std::string& range, ExprId body) {
    return add(recurrence::Reduce{kind, index, region(range, names_), body});
  }
  ExprId sum(const std::string& index, const std::string& range, ExprId body) {
    return reduce(Reduction::sum, index, range, body);
  }
  /// The first `outer` names in scope are the equation's indices.
  SystemBuilder& equation(const std::string& target, const std::vector<std::string>& subscripts,
                          std::size_t outer, const std::string& domain, ExprId expr) {
    const std::vector<std::string> indices(names_.begin(),
                                           names_.begin() + static_cast<std::ptrdiff_t>(outer));
    system_.equations.push_back(
        {tensor_id(target), forms(subscripts), indices, region(domain, indices), expr, span()});
    return *this;
  }
  [[nodiscard]] System build() const { return system_; }

  /// `0 <= i < 3 and j < i` as plain constraints.
  static Region region(const std::string& constraints, const std::vector<std::string>& names) {
    const poly::Context context;
    const auto set = poly::Set::parse(context, names, constraints);
    CYC_CHECK(set.has_value(), constraints);
    const auto pieces = set->conjunctions();
    CYC_CHECK(pieces.has_value(), constraints);
    Region result;
    for (const auto& piece : *pieces) {
      auto& all = result.emplace_back();
      for (const auto& [form, equality] : piece.constraints)
        all.push_back({{form.coefficients, form.constant}, equality});
      for (const auto& [form, modulus] : piece.divisible)
        all.push_back({{form.coefficients, form.constant}, false, modulus});
    }
    return result;
  }

 private:
  ExprId add(decltype(recurrence::Expr::node) node) {
    system_.exprs.push_back({std::move(node), span()});
    return ExprId(system_.exprs.size() - 1);
  }

  /// Each part has a line of its own.
  Span span() { return {"sample.py", ++line_, 4, line_, 20}; }

  [[nodiscard]] recurrence::TensorId tensor_id(const std::string& name) const {
    for (std::size_t t = 0; t < system_.tensors.size(); ++t) {
      if (system_.tensors[t].name == name) return recurrence::TensorId(t);
    }
    CYC_CHECK(false, name);
    return {};
  }

  /// `i-1`, `2i+j`
  [[nodiscard]] recurrence::Affine form(const std::string& text) const {
    recurrence::Affine result{std::vector<std::int64_t>(names_.size(), 0), 0};
    std::size_t at = 0;
    while (at < text.size()) {
      std::int64_t factor = 1;
      if (text[at] == '+' || text[at] == '-') factor = text[at++] == '-' ? -1 : 1;
      std::size_t digits = 0;
      while (at + digits < text.size() && std::isdigit(static_cast<unsigned char>(text[at + digits])) != 0)
        ++digits;
      if (digits > 0) factor *= std::stoll(text.substr(at, digits));
      at += digits;
      std::size_t letters = 0;
      while (at + letters < text.size() && std::isalpha(static_cast<unsigned char>(text[at + letters])) != 0)
        ++letters;
      if (letters == 0) {
        result.constant += factor;
        continue;
      }
      const auto name = text.substr(at, letters);
      at += letters;
      std::size_t v = 0;
      while (v < names_.size() && names_[v] != name) ++v;
      CYC_CHECK(v < names_.size(), name);
      result.coefficients[v] += factor;
    }
    while (!result.coefficients.empty() && result.coefficients.back() == 0) result.coefficients.pop_back();
    return result;
  }
  [[nodiscard]] std::vector<recurrence::Affine> forms(const std::vector<std::string>& texts) const {
    std::vector<recurrence::Affine> result;
    for (const auto& text : texts) result.push_back(form(text));
    return result;
  }

  System system_;
  std::vector<std::string> names_;
  int line_ = 0;
};

/// `0 <= name < count`
inline std::string range(const std::string& name, std::int64_t count) {
  return "0 <= " + name + " < " + std::to_string(count);
}
inline std::int64_t tiles(std::int64_t size, std::int64_t tile) {
  return tile > 0 ? (size + tile - 1) / tile : size;
}

/// C = A · B, with A m x k and B k x n scalars; in tiles where `tile` > 0.
inline System matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t tile = 0) {
  SystemBuilder b("matmul");
  b.input("A", {m, k}, tile).input("B", {k, n}, tile).output("C", {m, n}, tile).names({"i", "j", "k"});
  const auto product =
      b.apply(tile > 0 ? Op::matmul : Op::multiply, {b.at("A", {"i", "k"}), b.at("B", {"k", "j"})});
  const auto sum = b.sum("k", range("k", tiles(k, tile)), product);
  return b
      .equation("C", {"i", "j"}, 2, range("i", tiles(m, tile)) + " and " + range("j", tiles(n, tile)), sum)
      .build();
}

/// L X = B, with L n x n and `columns` right-hand sides (section 4.4).
inline System trsm(std::int64_t n, std::int64_t columns, std::int64_t tile = 0) {
  SystemBuilder b("trsm");
  b.input("L", {n, n}, tile)
      .input("B", {n, columns}, tile)
      .output("X", {n, columns}, tile)
      .names({"i", "r", "j"});
  const auto product =
      b.apply(tile > 0 ? Op::matmul : Op::multiply, {b.at("L", {"i", "j"}), b.at("X", {"j", "r"})});
  const auto rest = b.apply(Op::subtract, {b.at("B", {"i", "r"}), b.sum("j", "0 <= j < i", product)});
  const auto diagonal = b.at("L", {"i", "i"});
  const auto value = tile > 0 ? b.apply(Op::solve_triangular, {diagonal, rest}, operators::lower)
                              : b.apply(Op::divide, {rest, diagonal});
  return b
      .equation("X", {"i", "r"}, 2, range("i", tiles(n, tile)) + " and " + range("r", tiles(columns, tile)),
                value)
      .build();
}

/// L x = b, one right-hand side.
inline System trsv(std::int64_t n) {
  SystemBuilder b("trsv");
  b.input("L", {n, n}).input("B", {n}).output("X", {n}).names({"i", "j"});
  const auto product = b.apply(Op::multiply, {b.at("L", {"i", "j"}), b.at("X", {"j"})});
  const auto rest = b.apply(Op::subtract, {b.at("B", {"i"}), b.sum("j", "0 <= j < i", product)});
  return b.equation("X", {"i"}, 1, range("i", n), b.apply(Op::divide, {rest, b.at("L", {"i", "i"})})).build();
}

/// X Lᵀ = B: right-hand sides are rows (Fig. 1, E10).
inline System trsm_right(std::int64_t n, std::int64_t rows, std::int64_t tile = 0) {
  SystemBuilder b("trsm_right");
  b.input("L", {n, n}, tile).input("B", {rows, n}, tile).output("X", {rows, n}, tile).names({"r", "i", "j"});
  const auto x = b.at("X", {"r", "j"}), l = b.at("L", {"i", "j"});
  const auto product =
      tile > 0 ? b.apply(Op::matmul, {x, l}, operators::transpose_b) : b.apply(Op::multiply, {x, l});
  const auto rest = b.apply(Op::subtract, {b.at("B", {"r", "i"}), b.sum("j", "0 <= j < i", product)});
  const auto diagonal = b.at("L", {"i", "i"});
  const auto flags = operators::lower | operators::transpose_a | operators::right_side;
  const auto value = tile > 0 ? b.apply(Op::solve_triangular, {diagonal, rest}, flags)
                              : b.apply(Op::divide, {rest, diagonal});
  return b
      .equation("X", {"r", "i"}, 2, range("r", tiles(rows, tile)) + " and " + range("i", tiles(n, tile)),
                value)
      .build();
}

/// A = L Lᵀ, zeros above the diagonal (section 10.3 with E9's correction).
inline System cholesky(std::int64_t n, std::int64_t tile = 0) {
  SystemBuilder b("cholesky");
  const auto square = range("i", tiles(n, tile)) + " and " + range("j", tiles(n, tile));
  b.input("A", {n, n}, tile).output("L", {n, n}, tile).names({"j", "k"});
  const auto own = b.at("L", {"j", "k"});
  const auto squares =
      b.sum("k", "0 <= k < j", tile > 0 ? b.apply(Op::syrk, {own}) : b.apply(Op::multiply, {own, own}));
  const auto pivot = b.apply(Op::subtract, {b.at("A", {"j", "j"}), squares});
  b.equation("L", {"j", "j"}, 1, range("j", tiles(n, tile)),
             b.apply(tile > 0 ? Op::cholesky : Op::sqrt, {pivot}));

  b.names({"j", "i", "k"});
  const auto row = b.at("L", {"i", "k"}), column = b.at("L", {"j", "k"});
  const auto product = tile > 0 ? b.apply(Op::matmul, {row, column}, operators::transpose_b)
                                : b.apply(Op::multiply, {row, column});
  const auto rest = b.apply(Op::subtract, {b.at("A", {"i", "j"}), b.sum("k", "0 <= k < j", product)});
  const auto diagonal = b.at("L", {"j", "j"});
  const auto flags = operators::lower | operators::transpose_a | operators::right_side;
  const auto panel = tile > 0 ? b.apply(Op::solve_triangular, {diagonal, rest}, flags)
                              : b.apply(Op::divide, {rest, diagonal});
  b.equation("L", {"i", "j"}, 2, square + " and j < i", panel);

  b.names({"i", "j"});
  return b.equation("L", {"i", "j"}, 2, square + " and i < j", b.number(0)).build();
}

/// S[i] = x[0] + … + x[i], by the recurrence.
inline System prefix_sum(std::int64_t n) {
  SystemBuilder b("prefix_sum");
  b.input("x", {n}).output("S", {n}).names({"i"});
  b.equation("S", {"i"}, 1, "i = 0", b.at("x", {"i"}));
  if (n == 1) return b.build();
  return b
      .equation("S", {"i"}, 1, "1 <= i < " + std::to_string(n),
                b.apply(Op::add, {b.at("S", {"i-1"}), b.at("x", {"i"})}))
      .build();
}

/// The same from the other end: S[i] = x[i] + … + x[n-1]. Against the ascending order of `i`.
inline System suffix_sum(std::int64_t n) {
  SystemBuilder b("suffix_sum");
  b.input("x", {n}).output("S", {n}).names({"i"});
  b.equation("S", {"i"}, 1, "i = " + std::to_string(n - 1), b.at("x", {"i"}));
  return b
      .equation("S", {"i"}, 1, range("i", n - 1), b.apply(Op::add, {b.at("S", {"i+1"}), b.at("x", {"i"})}))
      .build();
}

/// U[t, x] = U[t-1, x-1] + U[t-1, x] + U[t-1, x+1], constant at both ends; the last row is the result R.
inline System stencil(std::int64_t steps, std::int64_t width) {
  SystemBuilder b("stencil");
  const auto last = std::to_string(width - 1);
  b.input("U0", {width}).output("U", {steps, width}).names({"t", "x"});
  b.equation("U", {"t", "x"}, 2, "t = 0 and " + range("x", width), b.at("U0", {"x"}));
  const auto later = "1 <= t < " + std::to_string(steps);
  const auto left = b.apply(Op::add, {b.at("U", {"t-1", "x-1"}), b.at("U", {"t-1", "x"})});
  b.equation("U", {"t", "x"}, 2, later + " and 0 < x < " + last,
             b.apply(Op::add, {left, b.at("U", {"t-1", "x+1"})}));
  return b.equation("U", {"t", "x"}, 2, later + " and (x = 0 or x = " + last + ")", b.at("U", {"t-1", "x"}))
      .build();
}

}  // namespace cyclotron::testing
