// The order of spaces within one step of a PE.
#include <algorithm>
#include <optional>

#include <cyclotron/support/error.hpp>

#include "detail.hpp"

namespace cyclotron::mapping::detail {

namespace {

using Edges = std::vector<std::vector<bool>>;  ///< edges[a][b]: a before b.

/// Places by edges, otherwise in the order of the graph; none where they go round.
std::optional<std::vector<std::int64_t>> topological(const Edges& edges) {
  const auto count = edges.size();
  std::vector<std::int64_t> ranks(count, -1);
  for (std::int64_t next = 0; next < static_cast<std::int64_t>(count); ++next) {
    std::size_t chosen = count;
    for (std::size_t s = 0; s < count && chosen == count; ++s) {
      bool ready = ranks[s] < 0;
      for (std::size_t o = 0; o < count && ready; ++o) ready = !(edges[o][s] && ranks[o] < 0);
      if (ready) chosen = s;
    }
    if (chosen == count) return std::nullopt;
    ranks[chosen] = next;
  }
  return ranks;
}

/// Whether a value is used in a later step than that in which it is made, at every point.
bool advances_in_time(const Mapping& mapping, const std::vector<poly::Affine>& use,
                      const std::vector<poly::Affine>& made) {
  for (const auto d : mapping.grid.time) {
    const auto step = use[d] - made[d];
    if (!poly::is_constant(step)) return false;
    if (step.constant != 0) return step.constant > 0;
  }
  return false;
}

}  // namespace

void rank_spaces(Mapping& mapping) {
  const auto& graph = mapping.graph;
  const Edges none(graph.spaces.size(), std::vector<bool>(graph.spaces.size(), false));
  Edges in_place = none, in_step = none;
  for (const auto& rule : graph.rules) {
    if (!dataflow::crosses_spaces(graph, rule)) continue;
    const auto& transfer = std::get<dataflow::Transfer>(rule.action);
    const auto from = graph.at(transfer.source).space.index(), to = graph.at(rule.flow).space.index();
    const auto& space = graph.at(graph.at(rule.flow).space);
    if (!advances_in_time(mapping, space.tuple, transfer.from)) in_step[from][to] = true;
    const auto offset = dataflow::constant_offset(space, transfer.from);
    if (offset && std::ranges::all_of(*offset, [](std::int64_t step) { return step == 0; }))
      in_place[from][to] = true;
  }
  // If possible, one order of spaces for what passes between PEs within a step, too.
  auto ranks = topological(in_step);
  mapping.ranks_hold_between_pes = ranks.has_value();
  if (!ranks) ranks = topological(in_place);
  if (!ranks) {
    throw LegalityError({.code = "CYC221",
                         .span = graph.flows.front().span,
                         .message = "two computations of one step need each other's results",
                         .notes = {},
                         .help = "map one more index to time"});
  }
  mapping.ranks = std::move(*ranks);
}

}  // namespace cyclotron::mapping::detail
