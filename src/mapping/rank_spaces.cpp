#include <cyclotron/mapping/rank_spaces.hpp>

#include <algorithm>
#include <optional>
#include <ranges>
#include <utility>

#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {

namespace {

using Edges = std::vector<std::vector<bool>>;  ///< edges[a][b]: a before b.

/// By space: the number of its round. Spaces that need values of each other share one, the others have their own.
std::vector<std::size_t> rounds_of(const Edges& edges) {
  const auto count = edges.size();
  auto reaches = edges;
  for (std::size_t by = 0; by < count; ++by) {
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; reaches[a][by] && b < count; ++b)
        reaches[a][b] = reaches[a][b] || reaches[by][b];
    }
  }
  std::vector<std::size_t> result(count);
  for (std::size_t s = 0; s < count; ++s) {
    result[s] = s;
    for (std::size_t o = 0; o < s && result[s] == s; ++o) {
      if (reaches[s][o] && reaches[o][s]) result[s] = result[o];
    }
  }
  return result;
}

/// An order of spaces in which rounds come after those that they need, whole, and spaces of one round after those of
/// which they need values in the same PE; otherwise that of the graph. None where these go round.
std::optional<std::vector<std::int64_t>> order_of_spaces(const std::vector<std::size_t>& rounds,
                                                         const Edges& in_step, const Edges& in_place) {
  const auto count = rounds.size();
  std::vector<std::int64_t> ranks(count, -1);
  const auto may_begin = [&](std::size_t round) {
    for (std::size_t s = 0; s < count; ++s) {
      for (std::size_t o = 0; rounds[s] == round && o < count; ++o) {
        if (in_step[o][s] && rounds[o] != round && ranks[o] < 0) return false;
      }
    }
    return true;
  };
  std::optional<std::size_t> round;
  for (std::int64_t next = 0; next < static_cast<std::int64_t>(count);) {
    std::size_t chosen = count;
    for (std::size_t s = 0; s < count && chosen == count; ++s) {
      bool ready = ranks[s] < 0 && (round ? rounds[s] == *round : may_begin(rounds[s]));
      for (std::size_t o = 0; o < count && ready; ++o) ready = !(in_place[o][s] && ranks[o] < 0);
      if (ready) chosen = s;
    }
    if (chosen < count) {
      ranks[chosen] = next++;
      round = rounds[chosen];
      continue;
    }
    const bool is_whole = round && std::ranges::none_of(std::views::iota(std::size_t{0}, count), [&](auto s) {
                            return rounds[s] == *round && ranks[s] < 0;
                          });
    if (!is_whole) return std::nullopt;
    round.reset();
  }
  return ranks;
}

/// True where a value is used in a later step than that in which it is made, at every point.
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

Mapping rank_spaces(const Mapping& mapping) {
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
  // One order of spaces for what passes between PEs within a step, too, but within rounds.
  Mapping result = mapping;
  result.rounds = rounds_of(in_step);
  auto ranks = order_of_spaces(result.rounds, in_step, in_place);
  if (!ranks) {
    throw LegalityError({.code = "CYC221",
                         .obstacle = Obstacle::late_value,
                         .span = graph.flows.front().span,
                         .message = "two computations of one step need each other's results",
                         .notes = {},
                         .help = "map one more index to time"});
  }
  result.ranks = *std::move(ranks);
  return result;
}

}  // namespace cyclotron::mapping
