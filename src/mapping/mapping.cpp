#include <cyclotron/mapping/mapping.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/support/error.hpp>

#include "detail.hpp"

namespace cyclotron::mapping {

std::vector<poly::Affine> Mapping::pe_forms() const {
  const auto rank = graph.dims.size();
  std::vector<poly::Affine> forms;
  for (std::size_t g = 0; g < grid.space.size(); ++g) {
    forms.push_back(poly::variable(rank, grid.space[g]));
    forms.back().constant = -grid.origin[g];
  }
  if (forms.empty()) forms.push_back(poly::constant(rank, 0));
  return forms;
}

std::vector<poly::Affine> Mapping::point_forms() const {
  const auto coordinates = grid.extents.size();
  const auto variables = coordinates + grid.time.size();
  std::vector<poly::Affine> forms(graph.dims.size());
  for (std::size_t g = 0; g < grid.space.size(); ++g) {
    forms[grid.space[g]] = poly::variable(variables, g);
    forms[grid.space[g]].constant = grid.origin[g];
  }
  for (std::size_t t = 0; t < grid.time.size(); ++t)
    forms[grid.time[t]] = poly::variable(variables, coordinates + t);
  return forms;
}

namespace detail {

Grid make_grid(const dataflow::Graph& graph, const schedule::Schedule& schedule,
               const machine::Machine& machine) {
  Grid grid;
  const auto dim = [&](const std::string& name) {
    const auto place = std::ranges::find(graph.dims, name);
    CYC_CHECK(place != graph.dims.end(), name);
    return static_cast<std::size_t>(place - graph.dims.begin());
  };
  for (const auto& name : schedule.space) grid.space.push_back(dim(name));
  for (const auto& name : schedule.time) grid.time.push_back(dim(name));
  grid.names = schedule.space;
  for (const auto d : grid.space) {
    std::optional<std::int64_t> low, high;
    for (const auto& space : graph.spaces) {
      if (space.domain.is_empty()) continue;
      const auto least = space.domain.minimum(d).value(), most = space.domain.maximum(d).value();
      low = low ? std::min(*low, least) : least;
      high = high ? std::max(*high, most) : most;
    }
    grid.origin.push_back(low.value_or(0));
    grid.extents.push_back(high.value_or(0) - low.value_or(0) + 1);
  }
  if (grid.extents.empty()) {
    grid.extents.push_back(1);
    grid.names.emplace_back("pe");
  }
  const auto dimensions = machine::dimensions(machine).value_or(grid.extents.size());
  const bool fits =
      dimensions == grid.extents.size() &&
      (machine.grid.empty() || std::ranges::equal(grid.extents, machine.grid, std::less_equal{}));
  if (!fits) {
    const auto there = machine.grid.empty()
                           ? fmt::format("{} dimension{}", dimensions, dimensions == 1 ? "" : "s")
                           : fmt::format("{}", fmt::join(machine.grid, "x"));
    throw CapacityError(
        {.code = "CYC502",
         .span = {},
         .message = fmt::format("the schedule needs a grid of {} PEs, and the machine has {}",
                                fmt::join(grid.extents, "x"), there),
         .notes = {},
         .help = fmt::format("map as many indices to space as the machine has dimensions ({})", dimensions)});
  }
  return grid;
}

std::optional<std::vector<std::int64_t>> grid_offset(const Mapping& mapping, FlowId flow,
                                                     const std::vector<poly::Affine>& from) {
  const auto& tuple = mapping.graph.at(mapping.graph.at(flow).space).tuple;
  std::vector<std::int64_t> offset;
  for (const auto d : mapping.grid.space) {
    const auto difference = from[d] - tuple[d];
    if (!poly::is_constant(difference)) return std::nullopt;
    offset.push_back(difference.constant);
  }
  if (offset.empty()) offset.push_back(0);
  return offset;
}

std::optional<Hop> grid_hop(const Mapping& mapping, FlowId flow, const std::vector<poly::Affine>& from) {
  const auto& tuple = mapping.graph.at(mapping.graph.at(flow).space).tuple;
  Hop hop;
  for (std::size_t g = 0; g < mapping.grid.space.size(); ++g) {
    const auto d = mapping.grid.space[g];
    const auto& own = tuple[d].coefficients;
    const auto varies = std::ranges::find_if(own, [](std::int64_t c) { return c != 0; });
    const std::int64_t scale =
        varies == own.end() ? 1
                            : from[d].coefficients[static_cast<std::size_t>(varies - own.begin())] / *varies;
    const auto rest = scale * tuple[d] - from[d];
    if (scale < 1 || !poly::is_constant(rest)) return std::nullopt;
    hop.scale.push_back(scale);
    // The forms count from the index's origin, PEs from theirs.
    hop.offset.push_back(rest.constant - (scale - 1) * mapping.grid.origin[g]);
  }
  return hop;
}

/// Projects every statement on the grid and intersects: each non-empty cell is a class.
void make_classes(Mapping& mapping) {
  const auto coordinates = mapping.grid.extents.size();
  const auto forms = mapping.pe_forms();
  struct Projection {
    poly::Set set;
    std::vector<std::size_t> statements;
  };
  std::vector<Projection> projections;
  poly::Set anywhere = poly::Set::empty(mapping.graph.context, coordinates);
  for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
    const auto set = mapping.statements[s].domain.image(forms).coalesce();
    anywhere = anywhere.unite(set).coalesce();
    const auto same = std::ranges::find_if(projections, [&](const Projection& p) { return p.set == set; });
    if (same != projections.end()) {
      same->statements.push_back(s);
    } else {
      projections.push_back({set, {s}});
    }
  }
  if (anywhere.is_empty()) return;
  mapping.classes.push_back({anywhere, {}});
  for (const auto& projection : projections) {
    std::vector<PeClass> refined;
    for (auto& cell : mapping.classes) {
      auto inside = cell.region.intersect(projection.set);
      auto outside = cell.region.subtract(projection.set);
      if (!inside.is_empty()) {
        refined.push_back({inside.plain(), cell.statements});
        auto& statements = refined.back().statements;
        statements.insert(statements.end(), projection.statements.begin(), projection.statements.end());
      }
      if (!outside.is_empty()) refined.push_back({outside.plain(), cell.statements});
    }
    mapping.classes = std::move(refined);
  }
  for (auto& cell : mapping.classes) std::ranges::sort(cell.statements);
  // In the order of the grid: by each region's first PE.
  std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> order;
  for (std::size_t c = 0; c < mapping.classes.size(); ++c)
    order.emplace_back(*mapping.classes[c].region.lexmin_point(), c);
  std::ranges::sort(order);
  std::vector<PeClass> sorted;
  for (const auto& [point, index] : order) sorted.push_back(mapping.classes[index]);
  mapping.classes = std::move(sorted);
  mapping.proofs.push_back(
      fmt::format("the {} PE classes partition the active grid", mapping.classes.size()));
}

}  // namespace detail

Mapping map_to_grid(dataflow::Graph graph, const schedule::Schedule& schedule,
                    const machine::Machine& machine) {
  auto grid = detail::make_grid(graph, schedule, machine);
  Mapping mapping{std::move(graph), std::move(grid), {}, {}, {}, {}, {}, {}, {}, {}};
  detail::rank_spaces(mapping);
  detail::make_statements(mapping, machine);
  detail::check_dependences(mapping);
  detail::send_late(mapping, machine);
  detail::check_steps(mapping);
  detail::check_channels(mapping);
  detail::separate_transients(mapping);
  detail::make_classes(mapping);
  return mapping;
}

}  // namespace cyclotron::mapping
