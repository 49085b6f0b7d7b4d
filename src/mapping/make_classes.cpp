#include <cyclotron/mapping/make_classes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace cyclotron::mapping {

namespace {

/// The PEs that run some statements.
struct Projection {
  poly::Set set;
  std::vector<std::size_t> statements;
};

/// Of all statements, those of the same PEs together; adds them all to `anywhere`. Sets with another first PE, which is
/// found sooner than whether they are equal, are not compared.
std::vector<Projection> projections_of(const Mapping& mapping, poly::Set& anywhere) {
  const auto forms = mapping.pe_forms();
  std::vector<Projection> result;
  std::map<std::optional<std::vector<std::int64_t>>, std::vector<std::size_t>> by_first;
  for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
    const auto set = mapping.statements[s].domain.image(forms).coalesce();
    auto& alike = by_first[set.lexmin_point()];
    const auto same = std::ranges::find_if(alike, [&](std::size_t p) { return result[p].set == set; });
    if (same != alike.end()) {
      result[*same].statements.push_back(s);
      continue;
    }
    anywhere = anywhere.unite(set).coalesce();
    alike.push_back(result.size());
    result.push_back({set, {s}});
  }
  return result;
}

/// The parts of a class that lie in the same projections.
std::vector<PeClass> refine(PeClass all, const std::vector<Projection>& projections) {
  std::vector<PeClass> result{std::move(all)};
  for (const auto& projection : projections) {
    std::vector<PeClass> refined;
    for (auto& cell : result) {
      auto inside = cell.region.intersect(projection.set);
      if (inside.is_empty()) {
        refined.push_back(std::move(cell));
        continue;
      }
      auto statements = cell.statements;
      statements.insert(statements.end(), projection.statements.begin(), projection.statements.end());
      auto outside = cell.region.subtract(projection.set);
      if (outside.is_empty()) {
        refined.push_back({std::move(cell.region), std::move(statements)});
        continue;
      }
      refined.push_back({inside.plain(), std::move(statements)});
      refined.push_back({outside.plain(), std::move(cell.statements)});
    }
    result = std::move(refined);
  }
  for (auto& cell : result) std::ranges::sort(cell.statements);
  return result;
}

/// By each region's first PE.
std::vector<PeClass> in_order_of_grid(const std::vector<PeClass>& classes) {
  std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> order;
  for (std::size_t c = 0; c < classes.size(); ++c) order.emplace_back(*classes[c].region.lexmin_point(), c);
  std::ranges::sort(order);
  std::vector<PeClass> result;
  for (const auto& [point, index] : order) result.push_back(classes[index]);
  return result;
}

}  // namespace

Mapping make_classes(const Mapping& mapping) {
  auto anywhere = poly::Set::empty(mapping.graph.context, mapping.grid.extents.size());
  const auto projections = projections_of(mapping, anywhere);
  Mapping result = mapping;
  if (anywhere.is_empty()) return result;
  result.classes = in_order_of_grid(refine({anywhere, {}}, projections));
  result.proofs.push_back(fmt::format("the {} PE classes partition the active grid", result.classes.size()));
  return result;
}

}  // namespace cyclotron::mapping
