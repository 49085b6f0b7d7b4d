#include <cyclotron/dataflow/share_links.hpp>

#include <algorithm>
#include <map>
#include <optional>

#include "lowering.hpp"

namespace cyclotron::dataflow {

namespace {

using Offset = std::vector<std::int64_t>;  ///< Over all dims, 0 along time.

/// Where the values that a rule takes over links from one flow come to: the user's PE, at the maker's time.
struct Arrival {
  std::size_t rule;
  Offset offset;     ///< From the maker's PE to the user's.
  poly::Set places;  ///< (PE, time) of each value that arrives.
  bool repeated;     ///< Some of them are used at several points.
  bool at_once;      ///< Some of them are used in the step in which they are made.
  bool too_early;    ///< Some of them are used in a step before that, of PEs that work one after the other.
};

/// The values of one flow in the PEs at one offset from their makers'.
struct Stop {
  poly::Set places;
  bool relayed;  ///< They are received there to be taken by several, PEs or points.
};

std::int64_t hops(const Offset& offset) {
  std::int64_t result = 0;
  for (const auto step : offset) result += std::abs(step);
  return result;
}

/// Farther ones first.
struct Farther {
  bool operator()(const Offset& a, const Offset& b) const {
    const auto far = hops(a), near = hops(b);
    return far != near ? far > near : a < b;
  }
};
using Stops = std::map<Offset, Stop, Farther>;

class Sharing {
 public:
  explicit Sharing(const Placed& placed) : result_(placed), graph_(result_.graph), rank_(graph_.dims.size()) {
    const auto dim = [this](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(graph_.dims, name) - graph_.dims.begin());
    };
    std::ranges::transform(placed.space, std::back_inserter(grid_), dim);
    std::ranges::transform(placed.time, std::back_inserter(time_), dim);
  }

  Placed run() {
    std::map<std::size_t, std::vector<Arrival>> arrivals;  // By source.
    const auto rules = graph_.rules.size();
    for (std::size_t r = 0; r < rules; ++r) {
      auto arrival = arrival_of(r);
      if (!arrival) continue;
      const auto source = std::get<Transfer>(graph_.rules[r].action).source;
      if (arrival->too_early) {
        relay_in_users_step(*arrival);
      } else {
        arrivals[source.index()].push_back(std::move(*arrival));
      }
    }
    for (auto& [source, of_one] : arrivals) {
      // Steps that neighbours go through one after the other: what others receive in that step holds them up.
      const auto next = [](const Arrival& arrival) { return hops(arrival.offset) == 1; };
      if (std::ranges::any_of(of_one, [&](const Arrival& a) { return a.at_once && next(a); }))
        std::erase_if(of_one, next);
      share(FlowId(source), of_one);
    }
    return std::move(result_);
  }

 private:
  std::optional<Arrival> arrival_of(std::size_t r) const {
    const auto& rule = graph_.rules[r];
    const auto* transfer = std::get_if<Transfer>(&rule.action);
    if (transfer == nullptr || transfer->broadcast || transfer->source == rule.flow ||
        !graph_.at(transfer->source).computed)
      return std::nullopt;
    const auto from = detail::as_shifts(rule.domain, transfer->from);
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    Offset offset(rank_, 0);
    auto place = from;
    for (const auto d : grid_) {
      const auto shift = poly::substitute(poly::variable(rank_, d) - from[d], tuple, rank_);
      if (!poly::is_constant(shift)) return std::nullopt;
      offset[d] = shift.constant;
      place[d] = poly::variable(rank_, d);
    }
    if (hops(offset) == 0 || hops(offset) > most_hops) return std::nullopt;
    const auto earliest = earliest_use(rule.domain, from, tuple);
    return Arrival{r,
                   std::move(offset),
                   rule.domain.image(place).coalesce(),
                   !poly::Map::function(rule.domain, place).is_injective(),
                   earliest == 0,
                   earliest < 0};
  }

  /// Whether the first user's step is before (-1), at (0) or after (1) the maker's. It is before it where PEs work one
  /// after the other, as where an index of time is space: what arrives at the maker's time would be too late.
  int earliest_use(poly::Set users, const std::vector<poly::Affine>& from,
                   const std::vector<poly::Affine>& tuple) const {
    const auto one = poly::constant(rank_, 1);
    for (const auto d : time_) {
      const auto later = poly::substitute(tuple[d] - from[d], tuple, rank_);
      if (!users.intersect({-1 * later - one, false}).is_empty()) return -1;
      users = users.intersect({later, true});
    }
    return users.is_empty() ? 1 : 0;
  }

  void share(FlowId source, const std::vector<Arrival>& arrivals) {
    Stops stops;
    for (const auto& arrival : arrivals) {
      const bool far = hops(arrival.offset) > 1;
      const auto [known, is_new] =
          stops.try_emplace(arrival.offset, Stop{arrival.places, far || arrival.repeated});
      if (is_new) continue;
      auto& stop = known->second;
      stop.relayed = stop.relayed || arrival.repeated || !stop.places.intersect(arrival.places).is_empty();
      stop.places = stop.places.unite(arrival.places).coalesce();
    }
    // Those nearer, which it makes larger and adds, come later in this order.
    for (const auto& [offset, stop] : stops) {
      if (hops(offset) == 1) continue;
      const auto nearer = nearer_stop(stops, offset, stop.places);
      const auto passing = stop.places.translate(step(offset, nearer));
      const auto [known, is_new] = stops.try_emplace(nearer, Stop{passing, true});
      if (is_new) continue;
      known->second = {known->second.places.unite(passing).coalesce(), true};
    }
    std::map<Offset, FlowId> relays;
    for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
      if (!stop->second.relayed) continue;
      const auto& [offset, values] = *stop;
      const auto relay = add_relay(source, Space(graph_.at(graph_.at(source).space)), offset, values.places);
      const bool first = hops(offset) == 1;
      const auto nearer = first ? Offset(rank_, 0) : nearer_stop(stops, offset, values.places);
      const auto& passed = graph_.at(graph_.at(relay).space);
      auto from = passed.tuple;
      for (const auto d : grid_) from[d].constant += nearer[d] - offset[d];
      graph_.rules.push_back({Transfer{first ? source : relays.at(nearer), std::move(from), false}, relay,
                              values.places, Origin::relay, graph_.at(source).span});
      relays.emplace(offset, relay);
    }
    for (const auto& arrival : arrivals) {
      const auto relay = relays.find(arrival.offset);
      if (relay != relays.end()) take_from(relay->second, arrival);
    }
  }

  /// One hop nearer to the maker: a PE that receives these values anyway, if there is one.
  Offset nearer_stop(const Stops& stops, const Offset& offset, const poly::Set& places) const {
    std::optional<Offset> result;
    for (const auto d : grid_) {
      if (offset[d] == 0) continue;
      auto nearer = offset;
      nearer[d] -= offset[d] > 0 ? 1 : -1;
      const auto known = stops.find(nearer);
      if (known != stops.end() && places.translate(step(offset, nearer)).is_subset(known->second.places))
        return nearer;
      if (!result) result = std::move(nearer);
    }
    return result.value();
  }

  [[nodiscard]] static Offset step(const Offset& from, const Offset& to) {
    auto result = to;
    for (std::size_t d = 0; d < to.size(); ++d) result[d] -= from[d];
    return result;
  }

  /// What arrives at the maker's time would be too late: the PEs between pass it on in the user's step.
  void relay_in_users_step(const Arrival& arrival) {
    const auto rule = graph_.rules[arrival.rule];
    const auto users = graph_.at(graph_.at(rule.flow).space);
    const Offset here(rank_, 0);
    auto transfer = std::get<Transfer>(rule.action);
    auto at = step(arrival.offset, here);  // From the user's PE.
    while (hops(at) > 1) {
      auto next = at;
      const auto d = *std::ranges::find_if(grid_, [&](std::size_t one) { return at[one] != 0; });
      next[d] += at[d] < 0 ? 1 : -1;
      const auto places = rule.domain.translate(next);
      const auto relay = add_relay(rule.flow, users, next, places);
      for (auto& form : transfer.from)
        form = poly::substitute(form, detail::shifted(rank_, step(next, here)), rank_);
      graph_.rules.push_back({transfer, relay, places, Origin::relay, graph_.at(rule.flow).span});
      transfer = {relay, users.tuple, false};
      for (const auto g : grid_) transfer.from[g].constant += next[g];
      at = std::move(next);
    }
    graph_.rules[arrival.rule].action = std::move(transfer);
    graph_.rules[arrival.rule].origin = Origin::relay;
  }

  /// A flow of the same elements in the PEs at that offset, at the same times: those of the space `there`.
  FlowId add_relay(FlowId source, const Space& there, const Offset& offset, const poly::Set& places) {
    auto home = detail::shifted(rank_, step(offset, Offset(rank_, 0)));
    Space space{detail::unused_name(graph_, "relay"), places, there.own, {}};
    for (std::size_t d = 0; d < rank_; ++d) {
      space.tuple.push_back(poly::substitute(there.tuple[d], home, rank_));
      space.tuple.back().constant += offset[d];
    }
    Flow flow = graph_.at(source);
    flow.space = SpaceId(graph_.spaces.size());
    flow.computed = false;
    for (auto& form : flow.element) form = poly::substitute(form, home, rank_);
    graph_.spaces.push_back(std::move(space));
    graph_.flows.push_back(std::move(flow));
    return FlowId(graph_.flows.size() - 1);
  }

  void take_from(FlowId relay, const Arrival& arrival) {
    auto& rule = graph_.rules[arrival.rule];
    auto& transfer = std::get<Transfer>(rule.action);
    transfer.source = relay;
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    for (const auto d : grid_) transfer.from[d] = tuple[d];
    rule.origin = Origin::relay;
  }

  Placed result_;
  Graph& graph_;
  std::size_t rank_;
  std::vector<std::size_t> grid_, time_;
};

}  // namespace

Placed share_links(const Placed& placed) { return Sharing(placed).run(); }

}  // namespace cyclotron::dataflow
