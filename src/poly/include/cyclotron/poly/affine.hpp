// Affine forms over a fixed number of integer variables: plain values, no isl.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace cyclotron::poly {

/// constant + sum of coefficients[v] * variable v; one coefficient a variable, none omitted.
struct Affine {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  bool operator==(const Affine&) const = default;
};

[[nodiscard]] Affine constant(std::size_t variables, std::int64_t value);
[[nodiscard]] Affine variable(std::size_t variables, std::size_t index);
[[nodiscard]] Affine operator+(const Affine& a, const Affine& b);
[[nodiscard]] Affine operator-(const Affine& a, const Affine& b);
[[nodiscard]] Affine operator*(std::int64_t factor, const Affine& a);
[[nodiscard]] bool is_constant(const Affine& form);
/// Replaces variable v by forms[v]; all forms share one number of variables.
[[nodiscard]] Affine substitute(const Affine& form, const std::vector<Affine>& forms, std::size_t variables);
[[nodiscard]] std::int64_t evaluate(const Affine& form, const std::vector<std::int64_t>& point);
/// `i - 2j + 1`, with the names of the variables; `0` where all vanish.
[[nodiscard]] std::string to_string(const Affine& form, const std::vector<std::string>& names);

/// `form >= 0`, or `form == 0` where equality.
struct Constraint {
  Affine form;
  bool equality = false;
  bool operator==(const Constraint&) const = default;
};

}  // namespace cyclotron::poly
