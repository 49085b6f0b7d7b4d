#include "arrivals.hpp"

#include <algorithm>

#include "../shifts.hpp"

namespace cyclotron::dataflow::detail {

Coordinates::Coordinates(const Placed& placed) : rank(placed.graph.dims.size()) {
  const auto dim = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(placed.graph.dims, name) - placed.graph.dims.begin());
  };
  std::ranges::transform(placed.space, std::back_inserter(grid), dim);
  std::ranges::transform(placed.time, std::back_inserter(time), dim);
}

std::vector<std::int64_t> Coordinates::together(const Offset& on_grid, const Offset& in_time) const {
  std::vector<std::int64_t> result(rank, 0);
  for (std::size_t g = 0; g < on_grid.size(); ++g) result[grid[g]] = on_grid[g];
  for (std::size_t t = 0; t < in_time.size(); ++t) result[time[t]] = in_time[t];
  return result;
}

std::optional<Arrival> arrival_of(const Graph& graph, const Coordinates& coordinates, std::size_t r) {
  const auto& rule = graph.rules[r];
  const auto* transfer = std::get_if<Transfer>(&rule.action);
  if (transfer == nullptr || transfer->broadcast || transfer->source == rule.flow ||
      !graph.at(transfer->source).computed)
    return std::nullopt;
  const auto& tuple = graph.at(graph.at(rule.flow).space).tuple;
  auto place = as_shifts(rule.domain, transfer->from);
  const auto step = [&](std::size_t d) -> std::optional<std::int64_t> {
    const auto form =
        poly::substitute(poly::variable(coordinates.rank, d) - place[d], tuple, coordinates.rank);
    return poly::is_constant(form) ? std::optional(form.constant) : std::nullopt;
  };
  std::optional<Offset> steps = Offset();
  for (const auto d : coordinates.time) {
    const auto one = step(d);
    if (!one) steps.reset();
    if (!steps) break;
    steps->push_back(*one);
  }
  Offset offset;
  for (const auto d : coordinates.grid) {
    const auto one = step(d);
    if (!one) return std::nullopt;
    offset.push_back(*one);
    place[d] = poly::variable(coordinates.rank, d);
  }
  if (std::ranges::all_of(offset, [](std::int64_t one) { return one == 0; })) return std::nullopt;
  auto places = rule.domain.image(place).coalesce();
  return Arrival{
      r, transfer->source, std::move(offset), std::move(place), std::move(places), std::move(steps)};
}

bool is_later_than(const Graph& graph, const Coordinates& coordinates, const Rule& rule,
                   const Offset& steps) {
  const auto& from = std::get<Transfer>(rule.action).from;
  const auto& tuple = graph.at(graph.at(rule.flow).space).tuple;
  auto users = rule.domain;
  for (std::size_t t = 0; t < coordinates.time.size(); ++t) {
    const auto d = coordinates.time[t];
    auto later = tuple[d] - from[d];
    if (t < steps.size()) later.constant -= steps[t];
    if (poly::is_constant(later) && later.constant != 0) return later.constant > 0 || users.is_empty();
    const auto one = poly::constant(coordinates.rank, 1);
    if (!users.intersect({-1 * later - one, false}).is_empty()) return false;
    users = users.intersect({later, true});
  }
  return users.is_empty();
}

FlowId add_relay(Graph& graph, const Coordinates& coordinates, FlowId source, const Offset& offset,
                 const Offset& steps, const poly::Set& places) {
  const auto rank = coordinates.rank;
  const auto made = Space(graph.at(graph.at(source).space));
  const auto away = coordinates.together(offset, steps);
  auto back = away;
  for (auto& step : back) step = -step;
  const auto home = shifted(rank, back);
  Space space{unused_name(graph, "relay"),
              places.translate(coordinates.together({}, steps)),
              made.own,
              {},
              SpaceKind::relay};
  for (std::size_t d = 0; d < rank; ++d) {
    space.tuple.push_back(poly::substitute(made.tuple[d], home, rank));
    space.tuple.back().constant += away[d];
  }
  Flow flow = graph.at(source);
  flow.space = SpaceId(graph.spaces.size());
  flow.computed = false;
  for (auto& form : flow.element) form = poly::substitute(form, home, rank);
  graph.spaces.push_back(std::move(space));
  graph.flows.push_back(std::move(flow));
  return FlowId(graph.flows.size() - 1);
}

void take_here(const Graph& graph, const Coordinates& coordinates, Rule& rule, FlowId holder,
               const Offset& steps) {
  auto& transfer = std::get<Transfer>(rule.action);
  transfer.source = holder;
  const auto& tuple = graph.at(graph.at(rule.flow).space).tuple;
  for (const auto d : coordinates.grid) transfer.from[d] = tuple[d];
  for (std::size_t t = 0; t < steps.size(); ++t) transfer.from[coordinates.time[t]].constant += steps[t];
  rule.origin = Origin::relay;
}

}  // namespace cyclotron::dataflow::detail
