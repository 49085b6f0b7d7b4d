// Sets as plain constraints, and constraints as text.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include <cyclotron/poly/set.hpp>

#include "detail.hpp"

namespace cyclotron::poly {

using detail::checked;
using detail::forgive;
using detail::own;
using detail::Owned;
using detail::take_int;

namespace {

/// floor(numerator / divisor)
struct Floor {
  Affine numerator;
  std::int64_t divisor = 1;
};

/// `form + sum of factors[f] * floor f`, at least or equal to 0.
struct Line {
  Affine form;
  std::vector<std::int64_t> factors;
  bool equality = false;
};

Line line_of(const Context& context, std::size_t dimensions, isl_constraint* constraint) {
  const auto factor = [&](isl_dim_type type, int position) {
    return take_int(context, isl_constraint_get_coefficient_val(constraint, type, position));
  };
  Line line{constant(dimensions, take_int(context, isl_constraint_get_constant_val(constraint))), {}, false};
  for (std::size_t v = 0; v < dimensions; ++v)
    line.form.coefficients[v] = factor(isl_dim_set, static_cast<int>(v));
  for (int d = 0; d < isl_constraint_dim(constraint, isl_dim_div); ++d)
    line.factors.push_back(factor(isl_dim_div, d));
  line.equality = checked(context, isl_constraint_is_equality(constraint));
  return line;
}

/// A basic set as it is in isl.
std::vector<Line> lines_of(const Context& context, std::size_t dimensions, isl_basic_set* basic) {
  std::vector<Line> lines;
  detail::visit<isl_constraint>(context, isl_basic_set_foreach_constraint, basic,
                                [&](const Owned<isl_constraint>& constraint) {
                                  lines.push_back(line_of(context, dimensions, constraint.get()));
                                });
  return lines;
}

/// The floors of a basic set; none where one is unknown or has another in its numerator.
std::optional<std::vector<Floor>> floors_of(const Context& context, std::size_t dimensions,
                                            isl_basic_set* basic) {
  std::vector<Floor> floors;
  const auto local = own(context, isl_basic_set_get_local_space(basic));
  for (int d = 0; d < isl_local_space_dim(local.get(), isl_dim_div); ++d) {
    Owned<isl_aff> aff(isl_local_space_get_div(local.get(), d));
    if (!aff) {
      forgive(context);
      return std::nullopt;
    }
    const auto factor = [&](isl_dim_type type, int position) {
      return take_int(context, isl_aff_get_coefficient_val(aff.get(), type, position));
    };
    Floor floor{constant(dimensions, 0), take_int(context, isl_aff_get_denominator_val(aff.get()))};
    aff = own(context, isl_aff_scale_val(aff.release(), isl_val_int_from_si(context.get(), floor.divisor)));
    floor.numerator.constant = take_int(context, isl_aff_get_constant_val(aff.get()));
    for (std::size_t v = 0; v < dimensions; ++v)
      floor.numerator.coefficients[v] = factor(isl_dim_in, static_cast<int>(v));
    for (int other = 0; other < isl_aff_dim(aff.get(), isl_dim_div); ++other) {
      if (factor(isl_dim_div, other) != 0) return std::nullopt;
    }
    floors.push_back(std::move(floor));
  }
  return floors;
}

/// One conjunction, if its floors only say what is divisible.
std::optional<Conjunction> plain(const std::vector<Line>& lines) {
  Conjunction result;
  for (const auto& line : lines) {
    const auto zeros = std::ranges::count(line.factors, 0);
    if (zeros == static_cast<std::ptrdiff_t>(line.factors.size())) {
      result.constraints.push_back({line.form, line.equality});
      continue;
    }
    if (!line.equality || zeros + 1 != static_cast<std::ptrdiff_t>(line.factors.size())) return std::nullopt;
    const auto factor = *std::ranges::find_if(line.factors, [](std::int64_t f) { return f != 0; });
    if (std::abs(factor) > 1) result.divisible.emplace_back(line.form, std::abs(factor));
  }
  return result;
}

/// For each remainder r of a floor's numerator, floor = (numerator - r) / divisor: a conjunction for each
/// combination. None where there are too many.
std::optional<std::vector<Conjunction>> by_remainders(const Context& context, std::size_t dimensions,
                                                      const std::vector<Line>& lines,
                                                      const std::vector<Floor>& floors) {
  constexpr std::int64_t limit = 64;
  std::int64_t combinations = 1, common = 1;
  for (const auto& floor : floors) {
    common = std::lcm(common, floor.divisor);
    combinations *= floor.divisor;
    if (combinations > limit) return std::nullopt;
  }
  std::vector<Conjunction> result;
  for (std::int64_t number = 0; number < combinations; ++number) {
    Conjunction one;
    std::vector<Affine> values;  // common * floor
    auto rest = number;
    for (const auto& [numerator, divisor] : floors) {
      const auto exact = numerator - constant(dimensions, rest % divisor);
      rest /= divisor;
      one.divisible.emplace_back(exact, divisor);
      values.push_back((common / divisor) * exact);
    }
    for (const auto& line : lines) {
      auto form = common * line.form;
      for (std::size_t f = 0; f < values.size(); ++f) form = form + line.factors[f] * values[f];
      one.constraints.push_back({std::move(form), line.equality});
    }
    // isl brings each to its least form.
    const auto part = Set::where(context, dimensions, one);
    if (part.is_empty()) continue;
    auto simple = part.conjunctions();
    if (!simple) return std::nullopt;
    result.insert(result.end(), simple->begin(), simple->end());
  }
  return result;
}

/// A basic set as conjunctions, if it has any.
std::optional<std::vector<Conjunction>> conjunctions_of(const Context& context, std::size_t dimensions,
                                                        isl_basic_set* basic) {
  const auto lines = lines_of(context, dimensions, basic);
  if (auto one = plain(lines)) return std::vector{std::move(*one)};
  const auto floors = floors_of(context, dimensions, basic);
  return floors ? by_remainders(context, dimensions, lines, *floors) : std::nullopt;
}

/// `i mod 3 = 1`, `(i + j) mod 2 = 0`: the first term positive.
std::string divisible_text(Affine form, std::int64_t modulus, const std::vector<std::string>& names) {
  const auto first = std::ranges::find_if(form.coefficients, [](std::int64_t c) { return c != 0; });
  if (first != form.coefficients.end() && *first < 0) form = -1 * form;
  const auto remainder = ((-form.constant % modulus) + modulus) % modulus;
  form.constant = 0;
  const auto text = to_string(form, names);
  const bool is_name = std::ranges::find(names, text) != names.end();
  return fmt::format("{} mod {} = {}", is_name ? text : "(" + text + ")", modulus, remainder);
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
    parts.push_back(divisible_text(form, modulus, names));
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
  const auto owned = own(set.context(), named);
  const auto text = detail::take_text(set.context(), isl_set_to_str(owned.get()));
  const auto start = text.find(" : "), end = text.rfind(" }");
  CYC_CHECK(start != std::string::npos && end != std::string::npos && start + 3 <= end, text);
  return text.substr(start + 3, end - start - 3);
}

}  // namespace

std::optional<std::vector<Conjunction>> Set::conjunctions() const {
  const auto known =
      own(context_, isl_set_remove_redundancies(isl_set_compute_divs(isl_set_coalesce(copy()))));
  auto result = std::optional<std::vector<Conjunction>>(std::in_place);
  detail::visit<isl_basic_set>(context_, isl_set_foreach_basic_set, known.get(),
                               [&](const Owned<isl_basic_set>& basic) {
                                 const auto some = conjunctions_of(context_, dimensions(), basic.get());
                                 if (!some) result.reset();
                                 if (result) result->insert(result->end(), some->begin(), some->end());
                               });
  return result;
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
