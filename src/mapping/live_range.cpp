#include <cyclotron/mapping/live_range.hpp>

#include <algorithm>

namespace cyclotron::mapping {

bool defines(const Statement& statement, FlowId flow) {
  const auto kind = statement.kind;
  return statement.target.flow == flow &&
         (kind == Kind::load || kind == Kind::receive || kind == Kind::move || kind == Kind::compute);
}

poly::Set points_defined(const Mapping& mapping, std::span<const FlowId> flows) {
  auto result = poly::Set::empty(mapping.graph.context, mapping.graph.dims.size());
  for (const auto& statement : mapping.statements) {
    if (std::ranges::any_of(flows, [&](FlowId flow) { return defines(statement, flow); }))
      result = result.unite(statement.domain);
  }
  return result.coalesce();
}

LiveRange live_across(const Mapping& mapping, std::span<const FlowId> flows) {
  LiveRange result;
  const auto& graph = mapping.graph;
  const auto& time = mapping.grid.time;
  result.steps.resize(time.size(), 0);
  constexpr auto unknown = INT64_MAX;
  const auto among = [&](FlowId flow) { return std::ranges::find(flows, flow) != flows.end(); };
  const auto note = [&](const std::vector<poly::Affine>& use, const std::vector<poly::Affine>& made,
                        const poly::Set& domain) {
    for (std::size_t t = 0; t < time.size(); ++t) {
      const auto d = time[t];
      if (use[d] == made[d]) continue;
      const auto distance = use[d] - made[d];
      // One of them may be written as the number that it is everywhere.
      if (!poly::is_constant(distance) && domain.satisfies({distance, true})) continue;
      result.steps[t] = std::max(result.steps[t], poly::is_constant(distance) ? distance.constant : unknown);
      result.outermost = std::min(result.outermost.value_or(t), t);
      result.innermost = std::max(result.innermost.value_or(t), t);
      return;
    }
  };
  for (const auto& statement : mapping.statements) {
    if (statement.prologue && among(statement.target.flow)) result.from_prologue = true;
    if (statement.target.point.empty()) continue;  // sends and stores at the value's own point
    for (const auto& source : statement.sources) {
      if (among(source.flow)) note(statement.target.point, source.point, statement.domain);
    }
  }
  for (const auto& rule : graph.rules) {
    const auto* transfer = std::get_if<dataflow::Transfer>(&rule.action);
    if (transfer != nullptr && transfer->source == rule.flow && among(rule.flow))
      note(graph.at(graph.at(rule.flow).space).tuple, transfer->from, rule.domain);
  }
  std::ranges::replace(result.steps, unknown, 0);
  return result;
}

std::vector<std::size_t> varying_dims(const Mapping& mapping, FlowId flow, std::size_t from) {
  const auto& definition = mapping.graph.at(flow);
  const auto& space = mapping.graph.at(definition.space);
  std::vector<std::size_t> dims;
  for (std::size_t t = from; t < mapping.grid.time.size(); ++t) {
    const auto d = mapping.grid.time[t];
    const bool own = std::ranges::find(space.own, d) != space.own.end();
    const bool in_element = std::ranges::any_of(
        definition.element, [d](const poly::Affine& form) { return form.coefficients[d] != 0; });
    if (definition.computed ? own : in_element) dims.push_back(d);
  }
  return dims;
}

poly::Set lex_positive(poly::Set points, const std::vector<poly::Affine>& forms) {
  auto result = poly::Set::empty(points.context(), points.dimensions());
  const auto one = poly::constant(points.dimensions(), 1);
  for (const auto& form : forms) {
    if (poly::is_constant(form)) {
      if (form.constant == 0) continue;
      return form.constant > 0 ? result.unite(points) : result;
    }
    result = result.unite(points.intersect({form - one, false}));
    points = points.intersect({form, true});
  }
  return result;
}

}  // namespace cyclotron::mapping
