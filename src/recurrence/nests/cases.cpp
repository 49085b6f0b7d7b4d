#include "cases.hpp"

#include <algorithm>

namespace cyclotron::recurrence::detail {

namespace {

constexpr std::size_t case_limit = 4;

struct Part {
  poly::Set points;
  const Source* source;
};

/// The points of the statement by the source of one of its readings; none where that is not one everywhere.
std::vector<Part> parts_of(const poly::Set& domain, const Read& read) {
  std::vector<Part> parts;
  if (read.sources.size() == 1) return {{domain, &read.sources.front()}};
  const auto outer = domain.dimensions();
  std::vector<std::size_t> keep(outer);
  for (std::size_t v = 0; v < outer; ++v) keep[v] = v;
  auto rest = domain;
  for (const auto& source : read.sources) {
    auto points = outer == read.scope.names.size() ? source.points : source.points.project(keep).coalesce();
    for (const auto& other : parts) {
      if (!other.points.intersect(points).is_empty()) return {};
    }
    rest = rest.subtract(points);
    parts.push_back({std::move(points), &source});
  }
  // Where a reduction is empty nothing is read.
  if (!parts.empty()) parts.front().points = parts.front().points.unite(rest).coalesce();
  return parts;
}

std::vector<Case> combined(const poly::Set& domain, const std::vector<Read>& reads, bool apart) {
  std::vector<Case> cases{{domain, {}}};
  for (const auto& read : reads) {
    const auto parts = apart && read.sources.size() > 1 ? std::vector<Part>{} : parts_of(domain, read);
    std::vector<Case> refined;
    for (auto& one : cases) {
      if (parts.empty()) {
        refined.push_back(std::move(one));
        refined.back().sources.push_back(nullptr);
        continue;
      }
      for (const auto& part : parts) {
        auto points = one.points.intersect(part.points);
        if (points.is_empty()) continue;
        refined.push_back({points.coalesce(), one.sources});
        refined.back().sources.push_back(part.source);
      }
    }
    cases = std::move(refined);
  }
  return cases;
}

}  // namespace

std::vector<Case> cases_of(const poly::Set& domain, const std::vector<Read>& reads) {
  auto cases = combined(domain, reads, false);
  if (cases.size() <= case_limit) return cases;
  return combined(domain, reads, true);
}

}  // namespace cyclotron::recurrence::detail
