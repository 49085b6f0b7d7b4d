#include <cyclotron/mapping/local_order.hpp>

#include <algorithm>
#include <optional>

#include <cyclotron/mapping/dependences.hpp>

namespace cyclotron::mapping {

namespace {

/// From making to use, by loop, the part of the step among them; none where they may be in different PEs.
std::optional<std::vector<poly::Affine>> steps_in_pe(const dataflow::Placed& points,
                                                     const Dependence& dependence, std::size_t level,
                                                     const std::vector<std::int64_t>& parts) {
  const auto& graph = points.graph;
  const auto user = graph.at(dependence.rule->flow).space, maker = graph.at(dependence.source).space;
  const auto step = [&](const std::string& name) {
    const auto d = static_cast<std::size_t>(std::ranges::find(graph.dims, name) - graph.dims.begin());
    return graph.at(user).tuple[d] - dependence.from[d];
  };
  const auto rank = graph.dims.size();
  if (!std::ranges::all_of(points.space,
                           [&](const auto& name) { return step(name) == poly::constant(rank, 0); }))
    return std::nullopt;
  std::vector<poly::Affine> result;
  std::ranges::transform(points.time, std::back_inserter(result), step);
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(level),
                poly::constant(rank, parts[user.index()] - parts[maker.index()]));
  return result;
}

bool is_negative_somewhere(poly::Set points, const std::vector<poly::Affine>& steps) {
  for (const auto& step : steps) {
    if (poly::is_constant(step)) {
      if (step.constant != 0) return step.constant < 0 && !points.is_empty();
      continue;
    }
    const auto one = poly::constant(points.dimensions(), 1);
    if (!points.intersect({-1 * step - one, false}).is_empty()) return true;
    points = points.intersect({step, true});
  }
  return false;
}

/// True where spaces hand each other values round in a circle.
bool has_circle(std::vector<std::vector<bool>> edges) {
  const auto count = edges.size();
  for (std::size_t by = 0; by < count; ++by) {
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; edges[a][by] && b < count; ++b) edges[a][b] = edges[a][b] || edges[by][b];
    }
  }
  for (std::size_t s = 0; s < count; ++s) {
    if (edges[s][s]) return true;
  }
  return false;
}

}  // namespace

bool is_locally_ordered(const dataflow::Placed& points, std::size_t level,
                        const std::vector<std::int64_t>& parts) {
  const auto& graph = points.graph;
  std::vector<std::vector<bool>> in_step(graph.spaces.size(), std::vector<bool>(graph.spaces.size(), false));
  const auto is_none = [](const poly::Affine& step) { return poly::is_constant(step) && step.constant == 0; };
  for (const auto& dependence : dependences(graph)) {
    const auto steps = steps_in_pe(points, dependence, level, parts);
    if (!steps) continue;
    if (is_negative_somewhere(dependence.rule->domain, *steps)) return false;
    if (dataflow::crosses_spaces(graph, *dependence.rule) && std::ranges::all_of(*steps, is_none))
      in_step[graph.at(dependence.source).space.index()][graph.at(dependence.rule->flow).space.index()] =
          true;
  }
  return !has_circle(std::move(in_step));
}

}  // namespace cyclotron::mapping
