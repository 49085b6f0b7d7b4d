#include <cyclotron/poly/affine.hpp>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::poly {

Affine constant(std::size_t variables, std::int64_t value) {
  return {std::vector<std::int64_t>(variables, 0), value};
}

Affine variable(std::size_t variables, std::size_t index) {
  Affine form = constant(variables, 0);
  form.coefficients.at(index) = 1;
  return form;
}

Affine operator+(const Affine& a, const Affine& b) {
  CYC_CHECK(a.coefficients.size() == b.coefficients.size());
  Affine sum = a;
  for (std::size_t v = 0; v < sum.coefficients.size(); ++v) sum.coefficients[v] += b.coefficients[v];
  sum.constant += b.constant;
  return sum;
}

Affine operator*(std::int64_t factor, const Affine& a) {
  Affine product = a;
  for (auto& coefficient : product.coefficients) coefficient *= factor;
  product.constant *= factor;
  return product;
}

Affine operator-(const Affine& a, const Affine& b) { return a + (-1 * b); }

bool is_constant(const Affine& form) {
  for (const auto coefficient : form.coefficients) {
    if (coefficient != 0) return false;
  }
  return true;
}

Affine substitute(const Affine& form, const std::vector<Affine>& forms, std::size_t variables) {
  CYC_CHECK(form.coefficients.size() == forms.size());
  Affine result = constant(variables, form.constant);
  for (std::size_t v = 0; v < forms.size(); ++v) {
    if (form.coefficients[v] != 0) result = result + form.coefficients[v] * forms[v];
  }
  return result;
}

std::int64_t evaluate(const Affine& form, const std::vector<std::int64_t>& point) {
  CYC_CHECK(form.coefficients.size() == point.size());
  std::int64_t value = form.constant;
  for (std::size_t v = 0; v < point.size(); ++v) value += form.coefficients[v] * point[v];
  return value;
}

std::string to_string(const Affine& form, const std::vector<std::string>& names) {
  std::string text;
  const auto append = [&text](std::int64_t value, const std::string& name) {
    if (value == 0) return;
    const bool negative = value < 0;
    const auto magnitude = static_cast<std::uint64_t>(negative ? -value : value);
    if (text.empty()) {
      text += negative ? "-" : "";
    } else {
      text += negative ? "-" : "+";
    }
    text += (name.empty() || magnitude != 1) ? fmt::format("{}", magnitude) : "";
    // A name may be a form itself, such as `i-k`.
    const bool compound = (negative || magnitude != 1) && name.find_first_of("+-") != std::string::npos;
    text += compound ? "(" + name + ")" : name;
  };
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) append(form.coefficients[v], names.at(v));
  append(form.constant, "");
  return text.empty() ? "0" : text;
}

}  // namespace cyclotron::poly
