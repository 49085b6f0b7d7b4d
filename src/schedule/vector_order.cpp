#include <cyclotron/schedule/vector_order.hpp>

#include <algorithm>
#include <optional>

#include <cyclotron/recurrence/dependences.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::schedule {

namespace {

using recurrence::Dependence;
using recurrence::Distance;

bool is_zero(const Distance& distance) { return distance.least == 0 && distance.greatest == 0; }

/// Tells whether an element is computed from the one before it along an index, all others the same.
bool goes_on(const Dependence& dependence, const std::string& index) {
  return dependence.kind == recurrence::DependenceKind::flow && dependence.source == dependence.target &&
         std::ranges::all_of(dependence.distances, [&](const Distance& distance) {
           return is_zero(distance) != (distance.index == index);
         });
}

/// Tells whether no element is computed from one elsewhere along an index.
bool stays(const Dependence& dependence, const std::string& index) {
  return dependence.kind != recurrence::DependenceKind::flow ||
         std::ranges::any_of(dependence.distances, [&](const Distance& distance) {
           return distance.index == index && is_zero(distance);
         });
}

}  // namespace

std::vector<std::string> vector_order(const recurrence::System& system, const std::set<std::string>& sums) {
  auto names = index_names(system);
  if (names.empty()) return {};
  std::optional<std::string> free;
  if (sums.contains(names.back())) {
    for (const auto& name : names) {
      if (!sums.contains(name)) free = name;
    }
  } else {
    const auto all = recurrence::dependences(system).dependences;
    if (std::ranges::none_of(all, [&](const auto& one) { return goes_on(one, names.back()); })) return {};
    for (const auto& name : names) {
      if (std::ranges::all_of(all, [&](const auto& one) { return stays(one, name); })) free = name;
    }
  }
  if (!free) return {};
  std::erase(names, *free);
  names.push_back(*free);
  return names;
}

}  // namespace cyclotron::schedule
