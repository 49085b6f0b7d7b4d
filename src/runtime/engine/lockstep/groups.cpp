#include "groups.hpp"

#include <algorithm>
#include <utility>

#include <cyclotron/machine/machine.hpp>

namespace cyclotron::runtime {
namespace {

std::int64_t value(const std::vector<std::int64_t>& coefficients, const std::int64_t* at) {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < coefficients.size(); ++d) result += coefficients[d] * at[d];
  return result;
}

}  // namespace

bool exchanges(const machine::Machine& machine, std::span<const program::Channel* const> channels) {
  return std::ranges::any_of(channels, [&](const program::Channel* channel) {
    std::vector<std::int64_t> back = channel->offset;
    for (std::size_t d = 0; d < back.size(); ++d) {
      if (back[d] != 0 && machine::wraps_around(machine, d)) return true;
      back[d] = -back[d];
    }
    return std::ranges::any_of(channels, [&](const auto* other) { return other->offset == back; });
  });
}

std::vector<std::vector<std::int64_t>> lockstep_lines(std::size_t dimensions) {
  std::vector<std::vector<std::int64_t>> result(1, std::vector<std::int64_t>(dimensions, 0));
  for (std::size_t d = 0; d < dimensions && dimensions > 1; ++d) result.emplace_back(dimensions, 0)[d] = 1;
  for (const std::int64_t other : {1, -1}) {
    if (dimensions == 2) result.push_back({1, other});
  }
  return result;
}

LockstepGrouping::LockstepGrouping(std::span<const Code> codes, bool slots, std::vector<std::int64_t> line)
    : codes_(codes), line_(std::move(line)) {
  for (const Code& code : codes) alike_.push_back(alike(code, slots));
}

LockstepGrouping::Alike LockstepGrouping::alike(const Code& code, bool slots) {
  Alike result;
  const auto add = [&](const Form& form) {
    Coefficients all;
    for (std::uint32_t d = 0; d < code.dimensions; ++d) all.push_back(coefficient(code, form, d));
    if (std::ranges::count(all, 0) < std::ssize(all)) result.values.push_back(std::move(all));
  };
  for (const Limit& limit : code.limits) add(limit.numerator);
  for (std::uint32_t t = 0; t < code.tests.size(); ++t) {
    const auto terms = std::span(code.terms).subspan(code.tests[t].form.first, code.tests[t].form.count);
    const auto is_coordinate = [&](const Term& term) { return term.variable < code.dimensions; };
    if (std::ranges::all_of(terms, is_coordinate)) {
      result.tests.push_back(t);
    } else {
      add(code.tests[t].form);
    }
  }
  if (slots) {
    for (const SlotAccess& access : code.accesses) add(access.index);
    for (const Wrapped& wrap : code.wraps) add(wrap.form);
  }
  std::ranges::sort(result.values);
  result.values.erase(std::ranges::unique(result.values).begin(), result.values.end());
  return result;
}

void LockstepGrouping::add(std::uint32_t ordinal, std::uint32_t pe_class, const std::int64_t* coordinates,
                           std::size_t most) {
  key_ = {pe_class, value(line_, coordinates)};
  for (const auto& coefficients : alike_[pe_class].values) key_.push_back(value(coefficients, coordinates));
  for (const std::uint32_t test : alike_[pe_class].tests)
    key_.push_back(holds(codes_[pe_class], codes_[pe_class].tests[test], coordinates) ? 1 : 0);
  const auto [found, added] = group_of_.try_emplace(key_, groups_.size());
  if (!added && groups_[found->second].size() >= most) found->second = groups_.size();
  if (found->second == groups_.size()) groups_.emplace_back();
  groups_[found->second].push_back(ordinal);
}

}  // namespace cyclotron::runtime
