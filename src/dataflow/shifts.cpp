#include "shifts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace cyclotron::dataflow::detail {

std::vector<std::int64_t> unit(std::size_t rank, std::size_t dim, std::int64_t value) {
  std::vector<std::int64_t> offset(rank, 0);
  offset.at(dim) = value;
  return offset;
}

std::vector<std::int64_t> step_along(const Space& space, std::size_t dim, std::int64_t steps) {
  std::vector<std::int64_t> offset;
  for (const auto& form : space.tuple) offset.push_back(steps * form.coefficients.at(dim));
  return offset;
}

std::vector<poly::Affine> shifted(std::size_t rank, const std::vector<std::int64_t>& offset) {
  std::vector<poly::Affine> forms;
  for (std::size_t d = 0; d < rank; ++d) {
    forms.push_back(poly::variable(rank, d));
    forms.back().constant = offset.at(d);
  }
  return forms;
}

std::string unused_name(const Graph& graph, const std::string& base) {
  std::set<std::string_view> taken;
  for (const auto& space : graph.spaces) taken.insert(space.name);
  auto name = base;
  for (int n = 2; taken.contains(name); ++n) name = fmt::format("{}{}", base, n);
  return name;
}

void choose_free_coordinates(const std::vector<poly::Affine>& equalities, Space& space) {
  const auto rank = space.domain.dimensions();
  std::vector<bool> free(rank, true);
  for (std::size_t c = 0; c < rank; ++c) space.tuple.push_back(poly::variable(rank, c));
  for (const auto& equality : equalities) {
    const auto form = poly::substitute(equality, space.tuple, rank);
    for (auto c = rank; c-- > 0;) {
      const auto factor = form.coefficients[c];
      if (factor != 1 && factor != -1) continue;
      auto replace = shifted(rank, std::vector<std::int64_t>(rank, 0));
      replace[c] = poly::variable(rank, c) - factor * form;
      for (auto& entry : space.tuple) entry = poly::substitute(entry, replace, rank);
      free[c] = false;
      break;
    }
  }
  for (std::size_t c = 0; c < rank; ++c) {
    if (free[c]) space.own.push_back(c);
  }
}

std::pair<std::int64_t, std::int64_t> range_of(const Graph& graph, const poly::Affine& form) {
  std::optional<std::int64_t> low, high;
  for (const auto& space : graph.spaces) {
    const auto values = space.domain.image({form});
    if (values.is_empty()) continue;
    const auto least = values.minimum(0).value(), most = values.maximum(0).value();
    low = std::min(low.value_or(least), least);
    high = std::max(high.value_or(most), most);
  }
  return {low.value_or(0), high.value_or(0)};
}

std::vector<poly::Affine> as_shifts(const poly::Set& domain, std::vector<poly::Affine> forms) {
  std::optional<std::vector<std::int64_t>> sample;
  for (std::size_t d = 0; d < forms.size(); ++d) {
    auto shift = poly::variable(forms.size(), d);
    shift.constant = forms[d].constant;
    if (forms[d] == shift) continue;
    if (!sample) sample = domain.sample();
    if (!sample) return forms;
    shift.constant = poly::evaluate(forms[d], *sample) - (*sample)[d];
    if (domain.satisfies({forms[d] - shift, true})) forms[d] = std::move(shift);
  }
  return forms;
}

}  // namespace cyclotron::dataflow::detail
