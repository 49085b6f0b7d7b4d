// Sets as plain constraints, and constraints as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/poly/set.hpp>

#include "detail.hpp"

namespace cyclotron::poly {

using detail::take_int;

namespace {

struct Collector {
  const Context* context;
  std::size_t dimensions;
  std::vector<Conjunction> conjunctions;
  bool representable = true;
};

isl_stat collect_constraint(isl_constraint* constraint, void* user) {
  auto& all = *static_cast<Collector*>(user);
  const auto& context = *all.context;
  Affine form = constant(all.dimensions, take_int(context, isl_constraint_get_constant_val(constraint)));
  for (std::size_t v = 0; v < all.dimensions; ++v) {
    form.coefficients[v] =
        take_int(context, isl_constraint_get_coefficient_val(constraint, isl_dim_set, static_cast<int>(v)));
  }
  std::int64_t modulus = 0;
  for (int d = 0; d < isl_constraint_dim(constraint, isl_dim_div); ++d) {
    const auto coefficient =
        take_int(context, isl_constraint_get_coefficient_val(constraint, isl_dim_div, d));
    if (coefficient == 0) continue;
    if (modulus != 0) all.representable = false;
    modulus = coefficient < 0 ? -coefficient : coefficient;
  }
  const bool equality = isl_constraint_is_equality(constraint) == isl_bool_true;
  isl_constraint_free(constraint);
  auto& last = all.conjunctions.back();
  if (modulus == 0) {
    last.constraints.push_back({std::move(form), equality});
  } else if (equality) {
    if (modulus > 1) last.divisible.emplace_back(std::move(form), modulus);
  } else {
    all.representable = false;
  }
  return isl_stat_ok;
}

isl_stat collect_basic_set(isl_basic_set* basic, void* user) {
  auto& all = *static_cast<Collector*>(user);
  all.conjunctions.emplace_back();
  const isl_stat status = isl_basic_set_foreach_constraint(basic, collect_constraint, user);
  isl_basic_set_free(basic);
  return status;
}

/// The last variable in terms of the others: `j = i+1`.
std::string equality_text(const Affine& form, const std::vector<std::size_t>& used,
                          const std::vector<std::string>& names) {
  CYC_CHECK(!used.empty());
  const auto subject = used.back();
  const auto factor = form.coefficients[subject];
  Affine left = constant(names.size(), 0);
  left.coefficients[subject] = std::abs(factor);
  Affine right = factor < 0 ? form : -1 * form;
  right.coefficients[subject] = 0;
  return to_string(left, names) + " = " + to_string(right, names);
}

/// Negative terms on the left, positive on the right: `j < i`.
std::string inequality_text(const Affine& form, const std::vector<std::string>& names) {
  Affine left = constant(names.size(), 0);
  Affine right = constant(names.size(), form.constant);
  for (std::size_t v = 0; v < names.size(); ++v) {
    (form.coefficients[v] < 0 ? left : right).coefficients[v] = std::abs(form.coefficients[v]);
  }
  const bool strict = right.constant == -1 && !is_constant(left) && !is_constant(right);
  if (strict) right.constant = 0;
  return to_string(left, names) + (strict ? " < " : " <= ") + to_string(right, names);
}

/// `0 <= i <= 3` where one variable has constant bounds, else `j < i`-like comparisons.
std::string conjunction_text(const Conjunction& conjunction, const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  const std::size_t dimensions = names.size();
  std::vector<std::optional<std::int64_t>> low(dimensions), high(dimensions);
  std::vector<std::string> others;
  for (const auto& [form, equality] : conjunction.constraints) {
    std::vector<std::size_t> used;
    for (std::size_t v = 0; v < dimensions; ++v) {
      if (form.coefficients[v] != 0) used.push_back(v);
    }
    if (!equality && used.size() == 1 && form.coefficients[used[0]] == 1) {
      low[used[0]] = -form.constant;
      continue;
    }
    if (!equality && used.size() == 1 && form.coefficients[used[0]] == -1) {
      high[used[0]] = form.constant;
      continue;
    }
    if (equality && used.size() == 1 && std::abs(form.coefficients[used[0]]) == 1) {
      low[used[0]] = high[used[0]] = -form.coefficients[used[0]] * form.constant;
      continue;
    }
    others.push_back(equality ? equality_text(form, used, names) : inequality_text(form, names));
  }
  for (std::size_t v = 0; v < dimensions; ++v) {
    if (low[v] && high[v]) {
      parts.push_back(*low[v] == *high[v] ? fmt::format("{} = {}", names[v], *low[v])
                                          : fmt::format("{} <= {} <= {}", *low[v], names[v], *high[v]));
    } else if (low[v]) {
      parts.push_back(fmt::format("{} >= {}", names[v], *low[v]));
    } else if (high[v]) {
      parts.push_back(fmt::format("{} <= {}", names[v], *high[v]));
    }
  }
  parts.insert(parts.end(), others.begin(), others.end());
  for (const auto& [form, modulus] : conjunction.divisible) {
    parts.push_back(fmt::format("({}) mod {} = 0", to_string(form, names), modulus));
  }
  return parts.empty() ? "true" : fmt::format("{}", fmt::join(parts, " and "));
}

/// isl's own text of the constraints, with `exists`, `floor` and `mod`.
std::string raw_text(const Set& set, const std::vector<std::string>& names) {
  // As parameters, so that equalities are among the constraints and not in the tuple.
  isl_set* named = isl_set_compute_divs(set.copy());
  named = isl_set_move_dims(named, isl_dim_param, 0, isl_dim_set, 0, static_cast<unsigned>(names.size()));
  for (std::size_t v = 0; v < names.size(); ++v) {
    named = isl_set_set_dim_name(named, isl_dim_param, static_cast<unsigned>(v), names[v].c_str());
  }
  char* raw = isl_set_to_str(named);
  isl_set_free(named);
  std::string text(raw == nullptr ? "" : raw);
  std::free(raw);
  const auto start = text.find(" : "), end = text.rfind(" }");
  CYC_CHECK(start != std::string::npos && end != std::string::npos && start + 3 <= end, text);
  return text.substr(start + 3, end - start - 3);
}

}  // namespace

std::optional<std::vector<Conjunction>> Set::conjunctions() const {
  Collector collector{&context_, dimensions(), {}, true};
  isl_set* known = isl_set_remove_redundancies(isl_set_compute_divs(isl_set_coalesce(copy())));
  const isl_stat status = isl_set_foreach_basic_set(known, collect_basic_set, &collector);
  isl_set_free(known);
  CYC_CHECK(status == isl_stat_ok);
  if (!collector.representable) return std::nullopt;
  return std::move(collector.conjunctions);
}

std::string Set::constraints_text(const std::vector<std::string>& names) const {
  if (is_empty()) return "false";
  const auto pieces = conjunctions();
  if (!pieces) return raw_text(*this, names);
  std::vector<std::string> texts;
  for (const auto& piece : *pieces) texts.push_back(conjunction_text(piece, names));
  if (texts.size() == 1) return texts.front();
  for (auto& text : texts) text = fmt::format("({})", text);
  return fmt::format("{}", fmt::join(texts, " or "));
}

}  // namespace cyclotron::poly
