#include <cyclotron/poly/inverse.hpp>

#include <cyclotron/support/error.hpp>

namespace cyclotron::poly {

namespace {

/// `value = left` for a row: the linear part of a combination of forms, and which combination it is.
struct Row {
  Affine left;         ///< Over the variables.
  Affine combination;  ///< Over the forms' values; its constant cancels theirs.
};

/// Brings the rows to upper triangular form with row operations that keep the lattice; returns the pivots'
/// columns.
std::vector<std::size_t> triangulate(std::vector<Row>& rows, std::size_t variables) {
  std::vector<std::size_t> pivots;
  for (std::size_t v = 0; v < variables && pivots.size() < rows.size(); ++v) {
    const auto top = pivots.size();
    // Euclid on column v of the rows from `top` on, until one non-zero entry is left.
    for (;;) {
      std::size_t least = rows.size(), nonzero = 0;
      for (auto r = top; r < rows.size(); ++r) {
        const auto entry = std::abs(rows[r].left.coefficients[v]);
        if (entry == 0) continue;
        ++nonzero;
        if (least == rows.size() || entry < std::abs(rows[least].left.coefficients[v])) least = r;
      }
      if (nonzero == 0) break;
      std::swap(rows[top], rows[least]);
      if (nonzero == 1) {
        pivots.push_back(v);
        break;
      }
      for (auto r = top + 1; r < rows.size(); ++r) {
        const auto factor = rows[r].left.coefficients[v] / rows[top].left.coefficients[v];
        rows[r].left = rows[r].left - factor * rows[top].left;
        rows[r].combination = rows[r].combination - factor * rows[top].combination;
      }
    }
  }
  return pivots;
}

std::vector<Row> rows_of(const std::vector<Affine>& forms) {
  std::vector<Row> rows;
  for (std::size_t f = 0; f < forms.size(); ++f) {
    rows.push_back({forms[f], variable(forms.size(), f)});
    rows.back().left.constant = 0;
    rows.back().combination.constant = -forms[f].constant;
  }
  return rows;
}

}  // namespace

std::size_t rank(const std::vector<Affine>& forms) {
  if (forms.empty()) return 0;
  auto rows = rows_of(forms);
  return triangulate(rows, forms.front().coefficients.size()).size();
}

std::optional<std::vector<Affine>> left_inverse(const std::vector<Affine>& forms, std::size_t variables) {
  auto rows = rows_of(forms);
  const auto pivots = triangulate(rows, variables);
  if (pivots.size() != variables) return std::nullopt;
  for (std::size_t v = 0; v < variables; ++v) {
    const auto entry = rows[v].left.coefficients[v];
    if (entry != 1 && entry != -1) return std::nullopt;
    rows[v] = {entry * rows[v].left, entry * rows[v].combination};
  }
  // Upwards: what is right of the pivots.
  std::vector<Affine> result(variables);
  for (std::size_t v = variables; v-- > 0;) {
    result[v] = rows[v].combination;
    for (std::size_t w = v + 1; w < variables; ++w)
      result[v] = result[v] - rows[v].left.coefficients[w] * result[w];
  }
  return result;
}

}  // namespace cyclotron::poly
