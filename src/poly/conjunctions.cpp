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
std::optional<Conjunction> plainly(const std::vector<Line>& lines) {
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

/// Form that is divisible by the length of a coordinate's steps, if it goes in steps.
std::optional<std::pair<Affine, std::int64_t>> steps_along(const Context& context, std::size_t dimensions,
                                                           isl_set* set, std::size_t coordinate) {
  const auto info = own(context, isl_set_get_stride_info(set, static_cast<int>(coordinate)));
  const auto stride = take_int(context, isl_stride_info_get_stride(info.get()));
  const auto offset = own(context, isl_stride_info_get_offset(info.get()));
  if (stride <= 1 || isl_aff_dim(offset.get(), isl_dim_div) > 0 ||
      take_int(context, isl_aff_get_denominator_val(offset.get())) != 1)
    return std::nullopt;
  auto form = variable(dimensions, coordinate);
  form.constant -= take_int(context, isl_aff_get_constant_val(offset.get()));
  for (std::size_t v = 0; v < dimensions; ++v) {
    const auto factor = isl_aff_get_coefficient_val(offset.get(), isl_dim_in, static_cast<int>(v));
    form.coefficients[v] -= take_int(context, factor);
  }
  return std::pair{std::move(form), stride};
}

/// A basic set's bounds without its floors, and the steps in which its coordinates go.
std::optional<Conjunction> outline(const Context& context, std::size_t dimensions, isl_basic_set* basic) {
  const auto bounds = own(context, isl_basic_set_remove_divs(isl_basic_set_copy(basic)));
  auto result = plainly(lines_of(context, dimensions, bounds.get()));
  if (!result) return std::nullopt;
  const auto set = own(context, isl_set_from_basic_set(isl_basic_set_copy(basic)));
  const Set points(context, isl_set_copy(set.get()));
  for (std::size_t v = 0; v < dimensions; ++v) {
    const auto low = points.minimum(v);
    if (low && points.maximum(v) == low) {
      auto only = variable(dimensions, v);
      only.constant = -*low;
      result->constraints.push_back({std::move(only), true});
    } else if (auto steps = steps_along(context, dimensions, set.get(), v)) {
      result->divisible.push_back(std::move(*steps));
    }
  }
  return result;
}

/// A basic set's outline, if that is the set.
std::optional<Conjunction> by_outline(const Context& context, std::size_t dimensions, isl_basic_set* basic) {
  auto result = outline(context, dimensions, basic);
  const Set points(context, isl_set_from_basic_set(isl_basic_set_copy(basic)));
  if (result && !Set::where(context, dimensions, *result).is_subset(points)) result.reset();
  return result;
}

/// Remainders of floors' numerators that go together.
struct Remainders {
  std::vector<std::vector<std::int64_t>> combinations;  ///< One of each floor.
  std::int64_t common = 1;                              ///< Of the divisors, the least multiple.
};

/// The steps in which a form goes that is a coordinate or its negative: a value of it, and their length.
std::pair<std::int64_t, std::int64_t> steps_of(const Context& context, const Affine& form,
                                               isl_basic_set* basic) {
  const auto dimensions = form.coefficients.size();
  const auto set = own(context, isl_set_from_basic_set(isl_basic_set_copy(basic)));
  for (std::size_t v = 0; v < dimensions; ++v) {
    const auto coordinate = variable(dimensions, v);
    if (!(form == coordinate || form == -1 * coordinate)) continue;
    const auto steps = steps_along(context, dimensions, set.get(), v);
    if (steps && is_constant(steps->first - coordinate))
      return {(form == coordinate ? -1 : 1) * steps->first.constant, steps->second};
  }
  return {0, 1};
}

/// All that may be; where the numerators are one form but for signs and constants, those that its values leave. None
/// where there are too many.
std::optional<Remainders> remainders_of(const Context& context, std::size_t dimensions,
                                        const std::vector<Floor>& floors, isl_basic_set* basic) {
  constexpr std::int64_t limit = 64;
  Remainders result;
  const auto linear = [&](const Floor& floor) {
    return floor.numerator - constant(dimensions, floor.numerator.constant);
  };
  bool one_form = !floors.empty();
  std::int64_t product = 1;
  for (const auto& floor : floors) {
    result.common = std::lcm(result.common, floor.divisor);
    product = std::min(product * std::min(floor.divisor, limit + 1), limit + 1);
    const auto form = linear(floor), first = linear(floors.front());
    one_form = one_form && (form == first || form == -1 * first);
  }
  const auto [first, step] = one_form ? steps_of(context, linear(floors.front()), basic)
                                      : std::pair<std::int64_t, std::int64_t>{0, 1};
  const auto count = one_form ? result.common / std::gcd(result.common, step) : product;
  if (count > limit) return std::nullopt;
  for (std::int64_t number = 0; number < count; ++number) {
    auto& one = result.combinations.emplace_back();
    auto rest = number;
    for (const auto& floor : floors) {
      const auto sign = linear(floor) == linear(floors.front()) ? 1 : -1;
      const auto value = one_form ? sign * (first + step * number) + floor.numerator.constant : rest;
      one.push_back((value % floor.divisor + floor.divisor) % floor.divisor);
      rest /= floor.divisor;
    }
  }
  return result;
}

/// For each remainder r of a floor's numerator, floor = (numerator - r) / divisor: a conjunction for each
/// combination. None where there are too many.
std::optional<std::vector<Conjunction>> by_remainders(const Context& context, std::size_t dimensions,
                                                      const std::vector<Line>& lines,
                                                      const std::vector<Floor>& floors,
                                                      isl_basic_set* basic) {
  const auto remainders = remainders_of(context, dimensions, floors, basic);
  if (!remainders) return std::nullopt;
  const auto common = remainders->common;
  std::vector<Conjunction> result;
  for (const auto& combination : remainders->combinations) {
    Conjunction one;
    std::vector<Affine> values;  // common * floor
    for (std::size_t f = 0; f < floors.size(); ++f) {
      const auto& [numerator, divisor] = floors[f];
      const auto exact = numerator - constant(dimensions, combination[f]);
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
  if (auto one = plainly(lines)) return std::vector{std::move(*one)};
  const auto floors = floors_of(context, dimensions, basic);
  if (auto some = floors ? by_remainders(context, dimensions, lines, *floors, basic) : std::nullopt)
    return some;
  auto one = by_outline(context, dimensions, basic);
  return one ? std::optional(std::vector{std::move(*one)}) : std::nullopt;
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

bool is_product(const Conjunction& all, const std::vector<std::size_t>& group_of_variable) {
  const auto is_of_one = [&](const Affine& form) {
    std::optional<std::size_t> group;
    for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
      if (form.coefficients[v] == 0) continue;
      if (group && *group != group_of_variable[v]) return false;
      group = group_of_variable[v];
    }
    return true;
  };
  return std::ranges::all_of(all.constraints, [&](const auto& one) { return is_of_one(one.form); }) &&
         std::ranges::all_of(all.divisible, [&](const auto& one) { return is_of_one(one.first); });
}

std::optional<std::vector<Conjunction>> Set::conjunctions() const {
  const auto known = own(context_, isl_set_remove_redundancies(isl_set_compute_divs(coalesce().copy())));
  auto result = std::optional<std::vector<Conjunction>>(std::in_place);
  detail::visit<isl_basic_set>(context_, isl_set_foreach_basic_set, known.get(),
                               [&](const Owned<isl_basic_set>& basic) {
                                 const auto some = conjunctions_of(context_, dimensions(), basic.get());
                                 if (!some) result.reset();
                                 if (result) result->insert(result->end(), some->begin(), some->end());
                               });
  return result;
}

Set Set::box() const {
  Conjunction result;
  for (std::size_t v = 0; v < dimensions(); ++v) {
    const auto low = minimum(v), high = maximum(v);
    if (!low || !high) continue;
    const auto value = variable(dimensions(), v) - constant(dimensions(), *low);
    result.constraints.push_back({value, false});
    result.constraints.push_back({constant(dimensions(), *high - *low) - value, false});
    const auto line = project({v});
    std::int64_t step = 0;
    detail::visit<isl_basic_set>(
        context_, isl_set_foreach_basic_set, line.get(), [&](const Owned<isl_basic_set>& basic) {
          const Set part(context_, isl_set_from_basic_set(isl_basic_set_copy(basic.get())));
          const auto first = *part.minimum(0);
          step = std::gcd(step, first - *low);
          if (first == *part.maximum(0)) return;
          const auto steps = steps_along(context_, 1, part.get(), 0);
          step = std::gcd(step, steps ? steps->second : 1);
        });
    if (step > 1) result.divisible.emplace_back(value, step);
  }
  return where(context_, dimensions(), result);
}

Set Set::plain() const {
  const auto known = own(context_, isl_set_compute_divs(coalesce().copy()));
  auto result = empty(context_, dimensions());
  const auto add = [&](const Owned<isl_basic_set>& basic) {
    const Set points(context_, isl_set_from_basic_set(isl_basic_set_copy(basic.get())));
    // One floor is as good as the steps that it makes.
    const bool has_several = isl_basic_set_dim(basic.get(), isl_dim_div) > 1;
    const auto around = has_several ? outline(context_, dimensions(), basic.get()) : std::nullopt;
    if (!around) {
      result = result.unite(points);
      return;
    }
    const auto hull = where(context_, dimensions(), *around);
    result = result.unite(hull.is_subset(points) ? hull : points.gist(hull).intersect(hull));
  };
  detail::visit<isl_basic_set>(context_, isl_set_foreach_basic_set, known.get(), add);
  return result.coalesce();
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
