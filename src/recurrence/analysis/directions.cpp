#include "directions.hpp"

#include <algorithm>
#include <numeric>

namespace cyclotron::recurrence::detail {

namespace {

using Row = std::vector<std::int64_t>;

/// Divides by the greatest common divisor.
void reduce(Row& row) {
  std::int64_t divisor = 0;
  for (const auto value : row) divisor = std::gcd(divisor, value);
  if (divisor > 1) {
    for (auto& value : row) value /= divisor;
  }
}

/// Gauss-Jordan elimination in integers. Returns the pivot column of each row that is left.
std::vector<std::size_t> eliminate(std::vector<Row>& rows, std::size_t columns) {
  std::vector<std::size_t> pivots;
  for (std::size_t column = 0; column < columns; ++column) {
    const auto done = pivots.size();
    const auto pivot = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(done), rows.end(),
                                    [column](const Row& row) { return row[column] != 0; });
    if (pivot == rows.end()) continue;
    std::iter_swap(rows.begin() + static_cast<std::ptrdiff_t>(done), pivot);
    const Row& own = rows[done];
    for (std::size_t r = 0; r < rows.size(); ++r) {
      if (r == done || rows[r][column] == 0) continue;
      const auto mine = own[column], theirs = rows[r][column];
      for (std::size_t c = 0; c < columns; ++c) rows[r][c] = mine * rows[r][c] - theirs * own[c];
      reduce(rows[r]);
    }
    pivots.push_back(column);
  }
  rows.resize(pivots.size());
  return pivots;
}

}  // namespace

std::vector<Row> reuse_directions(const poly::Set& domain, const std::vector<poly::Affine>& forms) {
  const auto rank = domain.dimensions();
  std::vector<Row> rows;
  for (const auto& form : forms) rows.push_back(form.coefficients);
  for (std::size_t v = 0; v < rank; ++v) {
    if (const auto value = domain.equality_for(v)) {
      rows.push_back((poly::variable(rank, v) - *value).coefficients);
    }
  }
  const auto pivots = eliminate(rows, rank);
  std::vector<Row> result;
  for (std::size_t free = 0; free < rank; ++free) {
    if (std::ranges::find(pivots, free) != pivots.end()) continue;
    std::int64_t scale = 1;
    for (std::size_t r = 0; r < rows.size(); ++r) scale = std::lcm(scale, rows[r][pivots[r]]);
    Row direction(rank, 0);
    direction[free] = scale;
    for (std::size_t r = 0; r < rows.size(); ++r)
      direction[pivots[r]] = -scale / rows[r][pivots[r]] * rows[r][free];
    reduce(direction);
    const auto first = std::ranges::find_if(direction, [](std::int64_t value) { return value != 0; });
    if (*first < 0) {
      for (auto& value : direction) value = -value;
    }
    result.push_back(std::move(direction));
  }
  return result;
}

}  // namespace cyclotron::recurrence::detail
