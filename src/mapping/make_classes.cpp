#include <cyclotron/mapping/make_classes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "cells.hpp"

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

/// The PEs that lie in the same projections.
std::vector<PeClass> refine(const poly::Set& anywhere, const std::vector<Projection>& projections) {
  std::vector<poly::Set> sets;
  for (const auto& projection : projections) sets.push_back(projection.set);
  const Cells cells(sets);
  std::vector<PeClass> parts;
  const auto add = [&](std::vector<std::size_t>& statements, std::size_t projection) {
    const auto& more = projections[projection].statements;
    statements.insert(statements.end(), more.begin(), more.end());
  };
  for (auto& cell : cells.parts(anywhere)) {
    auto& part = parts.emplace_back(std::move(cell.region));
    for (const auto projection : cell.sets) add(part.statements, projection);
  }
  for (std::size_t p = 0; p < projections.size(); ++p) {
    if (cells.have(p)) continue;
    for (const auto& part : std::exchange(parts, {})) {
      const auto inside = part.region.intersect(sets[p]), outside = part.region.subtract(sets[p]);
      if (!inside.is_empty()) {
        parts.push_back({inside.plain(), part.statements});
        add(parts.back().statements, p);
      }
      if (!outside.is_empty()) parts.push_back({outside.plain(), part.statements});
    }
  }
  std::erase_if(parts, [](const PeClass& part) { return part.statements.empty(); });
  for (auto& part : parts) std::ranges::sort(part.statements);
  return parts;
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
  result.classes = in_order_of_grid(refine(anywhere, projections));
  result.proofs.push_back(fmt::format("the {} PE classes partition the active grid", result.classes.size()));
  return result;
}

}  // namespace cyclotron::mapping
