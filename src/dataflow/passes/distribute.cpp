#include <cyclotron/dataflow/distribute.hpp>

#include <algorithm>
#include <optional>

namespace cyclotron::dataflow {

namespace {

using Relation = std::vector<std::vector<bool>>;  ///< relation[a][b]: a before b.

void close(Relation& relation) {
  for (std::size_t middle = 0; middle < relation.size(); ++middle) {
    for (std::size_t a = 0; a < relation.size(); ++a) {
      for (std::size_t b = 0; b < relation.size(); ++b) {
        if (relation[a][middle] && relation[middle][b]) relation[a][b] = true;
      }
    }
  }
}

/// True where each value of a transfer is used in a later step of the loops before `level` than it is made in.
bool is_carried(const Placed& placed, std::size_t level, const Rule& rule, const Transfer& transfer) {
  const auto& graph = placed.graph;
  const auto& tuple = graph.at(graph.at(rule.flow).space).tuple;
  for (std::size_t t = 0; t < level; ++t) {
    const auto dim =
        static_cast<std::size_t>(std::ranges::find(graph.dims, placed.time[t]) - graph.dims.begin());
    const auto step = tuple[dim] - transfer.from[dim];
    if (!poly::is_constant(step)) return false;
    if (step.constant != 0) return step.constant > 0;
  }
  return false;
}

/// Pairs of spaces, the first of which hands values to the second within one step of the loops before `level`.
Relation transfers(const Placed& placed, std::size_t level) {
  const auto& graph = placed.graph;
  Relation result(graph.spaces.size(), std::vector<bool>(graph.spaces.size(), false));
  for (const auto& rule : graph.rules) {
    if (!crosses_spaces(graph, rule)) continue;
    const auto& transfer = std::get<Transfer>(rule.action);
    if (is_carried(placed, level, rule, transfer)) continue;
    result[graph.at(transfer.source).space.index()][graph.at(rule.flow).space.index()] = true;
  }
  return result;
}

/// The tensor that a space computes, of which only values that it passes on have none.
std::vector<std::optional<TensorId>> computed_tensors(const Graph& graph) {
  std::vector<std::optional<TensorId>> result(graph.spaces.size());
  for (const auto& flow : graph.flows) {
    if (flow.computed) result[flow.space.index()] = flow.tensor;
  }
  return result;
}

/// The longest chain of tensors before each, by a transitive relation.
std::vector<std::int64_t> longest_chains(const Relation& before) {
  std::vector<std::int64_t> result(before.size(), 0);
  for (std::size_t round = 0; round < before.size(); ++round) {
    for (std::size_t a = 0; a < before.size(); ++a) {
      for (std::size_t b = 0; b < before.size(); ++b) {
        if (before[a][b] && !before[b][a]) result[b] = std::max(result[b], result[a] + 1);
      }
    }
  }
  return result;
}

poly::Affine widened(poly::Affine form) {
  form.coefficients.push_back(0);
  return form;
}

}  // namespace

std::vector<std::int64_t> parts(const Placed& placed, std::size_t level, DistributionPolicy policy) {
  const auto& graph = placed.graph;
  const auto direct = transfers(placed, level);
  auto reaches = direct;
  close(reaches);
  const auto computed = computed_tensors(graph);
  Relation before(graph.tensors.size(), std::vector<bool>(graph.tensors.size(), false));
  for (std::size_t a = 0; a < computed.size(); ++a) {
    for (std::size_t b = 0; b < computed.size(); ++b) {
      if (computed[a] && computed[b] && reaches[a][b])
        before[computed[a]->index()][computed[b]->index()] = true;
    }
  }
  close(before);
  const auto chains = longest_chains(before);
  std::vector<std::int64_t> result(computed.size(), 0);
  for (std::size_t s = 0; s < result.size(); ++s) {
    if (computed[s]) result[s] = chains[computed[s]->index()];
  }
  for (std::size_t s = 0; s < result.size(); ++s) {
    if (computed[s]) continue;
    std::optional<std::int64_t> made, used;
    for (std::size_t other = 0; other < result.size(); ++other) {
      if (!computed[other]) continue;
      if (reaches[other][s]) made = std::max(made.value_or(0), result[other]);
      if (reaches[s][other]) used = std::min(used.value_or(result[other]), result[other]);
    }
    const bool early = made && (policy == DistributionPolicy::when_made || !used);
    result[s] = early ? *made : used.value_or(0);
  }
  return result;
}

std::vector<std::int64_t> finest_parts(const Placed& placed, std::size_t level) {
  auto before = transfers(placed, level);
  close(before);
  std::vector<std::int64_t> result(before.size(), -1);
  const auto is_ready = [&](std::size_t s) {
    for (std::size_t other = 0; other < before.size(); ++other) {
      if (before[other][s] && !before[s][other] && result[other] < 0) return false;
    }
    return result[s] < 0;
  };
  std::size_t next = 0;
  for (std::int64_t part = 0; next < before.size(); ++part) {
    next = 0;
    while (next < before.size() && !is_ready(next)) ++next;
    for (std::size_t other = 0; next < before.size() && other < before.size(); ++other) {
      if (other == next || (before[next][other] && before[other][next])) result[other] = part;
    }
  }
  return result;
}

std::vector<std::int64_t> inputs_first(const Graph& graph) {
  std::vector<std::int64_t> result(graph.spaces.size(), 0);
  for (const auto& flow : graph.flows) {
    if (flow.computed || graph.at(flow.tensor).role != Role::input) result[flow.space.index()] = 1;
  }
  return result;
}

std::vector<std::int64_t> input_stages(const Graph& graph) {
  const auto computes = inputs_first(graph);
  std::vector<std::int64_t> result(graph.spaces.size(), 0);
  std::int64_t most = -1;
  for (std::size_t round = 0; round < graph.spaces.size(); ++round) {
    for (const auto& rule : graph.rules) {
      if (!crosses_spaces(graph, rule)) continue;
      const auto from = graph.at(std::get<Transfer>(rule.action).source).space.index();
      const auto to = graph.at(rule.flow).space.index();
      if (computes[from] == 0 && computes[to] == 0) result[to] = std::max(result[to], result[from] + 1);
    }
  }
  for (std::size_t s = 0; s < result.size(); ++s) {
    if (computes[s] == 0) most = std::max(most, result[s]);
  }
  for (std::size_t s = 0; s < result.size(); ++s) {
    if (computes[s] != 0) result[s] = most + 1;
  }
  return result;
}

Placed distribute(const Placed& placed, std::size_t level, const std::vector<std::int64_t>& parts) {
  Placed result = placed;
  auto& graph = result.graph;
  const auto rank = graph.dims.size();
  std::string name = "part";
  while (std::ranges::find(graph.dims, name) != graph.dims.end()) name += "'";
  graph.dims.push_back(name);
  result.time.insert(result.time.begin() + static_cast<std::ptrdiff_t>(level), name);
  std::vector<poly::Affine> others;
  for (std::size_t d = 0; d < rank; ++d) others.push_back(poly::variable(rank + 1, d));
  const auto in_part = [&](SpaceId space, const poly::Set& points) {
    const auto part = poly::constant(rank + 1, parts[space.index()]);
    return points.preimage(others, rank + 1).intersect({poly::variable(rank + 1, rank) - part, true});
  };
  const auto widen = [&](std::vector<poly::Affine>& forms) {
    for (auto& form : forms) form = widened(std::move(form));
  };
  for (std::size_t s = 0; s < graph.spaces.size(); ++s) {
    auto& space = graph.spaces[s];
    space.domain = in_part(SpaceId(s), space.domain);
    widen(space.tuple);
    space.tuple.push_back(poly::constant(rank + 1, parts[s]));
  }
  for (auto& flow : graph.flows) widen(flow.element);
  for (auto& rule : graph.rules) {
    rule.domain = in_part(graph.at(rule.flow).space, rule.domain);
    if (auto* transfer = std::get_if<Transfer>(&rule.action)) {
      widen(transfer->from);
      const auto source = graph.at(transfer->source).space;
      transfer->from.push_back(poly::constant(rank + 1, parts[source.index()]));
    } else if (auto* compute = std::get_if<Compute>(&rule.action)) {
      for (auto& term : compute->terms) {
        if (auto* ref = std::get_if<FlowRef>(&term)) ref->offset.push_back(0);
        if (auto* index = std::get_if<Index>(&term)) index->form.coefficients.push_back(0);
      }
    }
  }
  return result;
}

}  // namespace cyclotron::dataflow
