#include "points.hpp"

#include <algorithm>
#include <optional>

#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {
namespace {

struct Interval {
  std::optional<std::int64_t> first, last;
  [[nodiscard]] bool empty() const { return first && last && *first > *last; }
};

/// Index of the last variable that the form has, or none.
std::optional<std::size_t> last_variable(const recurrence::Affine& form) {
  for (std::size_t v = form.coefficients.size(); v-- > 0;) {
    if (form.coefficients[v] != 0) return v;
  }
  return std::nullopt;
}

/// The range that the constraints whose last variable is `variable` leave of it, the others given.
Interval interval_of(const std::vector<recurrence::Constraint>& all, std::size_t variable, Point& point) {
  Interval result;
  point[variable] = 0;
  for (const auto& constraint : all) {
    if (last_variable(constraint.form) != variable || constraint.modulus != 0) continue;
    const std::int64_t own = constraint.form.coefficients[variable];
    const std::int64_t rest = evaluate(constraint.form, point);
    // own * x + rest >= 0, and also <= 0 for an equality.
    const auto at_least = [&](std::int64_t value) {
      result.first = std::max(value, result.first.value_or(value));
    };
    const auto at_most = [&](std::int64_t value) {
      result.last = std::min(value, result.last.value_or(value));
    };
    const std::int64_t size = own > 0 ? own : -own;
    if (own > 0) at_least(-floor_divide(rest, size));
    if (own < 0) at_most(floor_divide(rest, size));
    if (!constraint.equality) continue;
    if (own > 0) at_most(floor_divide(-rest, size));
    if (own < 0) at_least(-floor_divide(-rest, size));
  }
  return result;
}

bool holds(const recurrence::Constraint& constraint, const Point& point) {
  const std::int64_t value = evaluate(constraint.form, point);
  if (constraint.modulus != 0)
    return value - constraint.modulus * floor_divide(value, constraint.modulus) <= constraint.most;
  return constraint.equality ? value == 0 : value >= 0;
}

/// Tells whether the constraints hold whose last variable is this one; none: those without variables.
bool hold_at(const std::vector<recurrence::Constraint>& all, std::optional<std::size_t> variable,
             const Point& point) {
  return std::ranges::all_of(all, [&](const recurrence::Constraint& constraint) {
    return last_variable(constraint.form) != variable || holds(constraint, point);
  });
}

bool visit_from(const std::vector<recurrence::Constraint>& all, std::size_t variable, Point& point,
                const std::function<void(const Point&)>& visit) {
  if (variable == point.size()) {
    visit(point);
    return true;
  }
  const Interval values = interval_of(all, variable, point);
  if (values.empty()) return true;
  if (!values.first || !values.last) return false;
  for (std::int64_t value = *values.first; value <= *values.last; ++value) {
    point[variable] = value;
    if (hold_at(all, variable, point) && !visit_from(all, variable + 1, point, visit)) return false;
  }
  return true;
}

}  // namespace

std::int64_t evaluate(const recurrence::Affine& form, const Point& point) {
  std::int64_t value = form.constant;
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) value += form.coefficients[v] * point[v];
  return value;
}

bool for_each_point(const recurrence::Region& region, std::size_t variables,
                    const std::function<void(const Point&)>& visit) {
  for (const auto& all : region) {
    Point point(variables, 0);
    if (hold_at(all, std::nullopt, point) && !visit_from(all, 0, point, visit)) return false;
  }
  return true;
}

std::vector<std::int64_t> values_after(const recurrence::Region& region, const Point& point,
                                       const Span& where) {
  std::vector<std::int64_t> result;
  Point inner = point;
  inner.push_back(0);
  const std::size_t variable = point.size();
  for (const auto& all : region) {
    inner.back() = 0;
    const bool outside = !std::ranges::all_of(all, [&](const recurrence::Constraint& constraint) {
      return last_variable(constraint.form) == variable || proof::holds(constraint, inner);
    });
    if (outside) continue;
    const Interval values = interval_of(all, variable, inner);
    if (values.empty()) continue;
    if (!values.first || !values.last) {
      throw LegalityError({.code = "CYC668",
                           .span = where,
                           .message = "the values of a reduction's index have no bound",
                           .notes = {},
                           .help = "give the index a range"});
    }
    for (std::int64_t value = *values.first; value <= *values.last; ++value) {
      inner.back() = value;
      if (hold_at(all, variable, inner)) result.push_back(value);
    }
  }
  if (region.size() > 1) {
    std::ranges::sort(result);
    const auto rest = std::ranges::unique(result);
    result.erase(rest.begin(), rest.end());
  }
  return result;
}

}  // namespace cyclotron::proof
