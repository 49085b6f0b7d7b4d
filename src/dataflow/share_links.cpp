#include <cyclotron/dataflow/share_links.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "lowering.hpp"

namespace cyclotron::dataflow {

namespace {

using Offset = std::vector<std::int64_t>;  ///< One a grid dimension.

/// Where the values that a rule takes over links from one flow come to: the user's PE, at the maker's time.
struct Arrival {
  std::size_t rule;
  Offset offset;     ///< From the maker's PE to the user's.
  poly::Set places;  ///< (PE, time) of each value that arrives.
  bool repeated;     ///< Some of them are used at several points.
};

/// The values of one flow in the PEs at one offset from their makers'.
struct Stop {
  poly::Set places;
  bool relayed;  ///< They are received there to be taken by several, PEs or points.
};

/// By (hops, offset), farthest first.
using Stops = std::map<std::pair<std::int64_t, Offset>, Stop, std::greater<>>;

/// Those of a mesh before the diagonal ones, which some machines have.
std::vector<Offset> steps_between_neighbours(std::size_t dimensions) {
  std::vector<Offset> result;
  for (std::size_t d = 0; d < dimensions; ++d) {
    for (const std::int64_t sign : {1, -1}) result.push_back(detail::unit(dimensions, d, sign));
  }
  if (dimensions == 2) result.insert(result.end(), {{1, 1}, {-1, -1}});
  return result;
}

Offset operator-(Offset a, const Offset& b) {
  for (std::size_t g = 0; g < a.size(); ++g) a[g] -= b[g];
  return a;
}

class Sharing {
 public:
  Sharing(const Placed& placed, const Hops& hops)
      : result_(placed), graph_(result_.graph), rank_(graph_.dims.size()), hops_between_(hops) {
    const auto dim = [this](const std::string& name) {
      return static_cast<std::size_t>(std::ranges::find(graph_.dims, name) - graph_.dims.begin());
    };
    std::ranges::transform(placed.space, std::back_inserter(grid_), dim);
    std::ranges::transform(placed.time, std::back_inserter(time_), dim);
    steps_ = steps_between_neighbours(grid_.size());
  }

  Shared run() {
    std::map<std::size_t, std::vector<Arrival>> arrivals;  // By source.
    std::set<std::size_t>
        at_once;  // Sources of which a neighbour uses values in the step in which they are made.
    const auto rules = graph_.rules.size();
    for (std::size_t r = 0; r < rules; ++r) {
      auto arrival = arrival_of(r);
      if (!arrival) continue;
      const auto source = std::get<Transfer>(graph_.rules[r].action).source.index();
      if (is_later(graph_.rules[r])) {
        arrivals[source].push_back(std::move(*arrival));
      } else if (hops(arrival->offset) == 1) {
        at_once.insert(source);
      }
    }
    for (auto& [source, of_one] : arrivals) {
      if (at_once.contains(source))
        std::erase_if(of_one, [&](const Arrival& arrival) { return hops(arrival.offset) == 1; });
      share(FlowId(source), of_one);
    }
    return {std::move(result_), adds_relays_ && !saves_};
  }

 private:
  [[nodiscard]] std::int64_t hops(const Offset& offset) const { return hops_between_(offset); }

  /// Of a rule that takes computed values from up to most_hops away.
  [[nodiscard]] std::optional<Arrival> arrival_of(std::size_t r) const {
    const auto& rule = graph_.rules[r];
    const auto* transfer = std::get_if<Transfer>(&rule.action);
    if (transfer == nullptr || transfer->broadcast || transfer->source == rule.flow ||
        !graph_.at(transfer->source).computed)
      return std::nullopt;
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    auto place = detail::as_shifts(rule.domain, transfer->from);
    Offset offset;
    for (const auto d : grid_) {
      const auto step = poly::substitute(poly::variable(rank_, d) - place[d], tuple, rank_);
      if (!poly::is_constant(step)) return std::nullopt;
      offset.push_back(step.constant);
      place[d] = poly::variable(rank_, d);
    }
    const auto far = hops(offset);
    if (far == 0 || far > most_hops) return std::nullopt;
    return Arrival{r, std::move(offset), rule.domain.image(place).coalesce(),
                   !poly::Map::function(rule.domain, place).is_injective()};
  }

  /// Whether the transfer's values are used in later steps than they are made in.
  [[nodiscard]] bool is_later(const Rule& rule) const {
    const auto& from = std::get<Transfer>(rule.action).from;
    const auto& tuple = graph_.at(graph_.at(rule.flow).space).tuple;
    auto users = rule.domain;
    for (const auto d : time_) {
      const auto later = tuple[d] - from[d];
      if (poly::is_constant(later) && later.constant != 0) return later.constant > 0 || users.is_empty();
      const auto one = poly::constant(rank_, 1);
      if (!users.intersect({-1 * later - one, false}).is_empty()) return false;
      users = users.intersect({later, true});
    }
    return users.is_empty();
  }

  void share(FlowId source, const std::vector<Arrival>& arrivals) {
    auto stops = stops_of(arrivals);
    saves_ = saves_ || saves(arrivals, stops);
    std::map<Offset, FlowId> relays;
    for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
      const auto& [distance, offset] = stop->first;
      const auto& places = stop->second.places;
      if (!stop->second.relayed) continue;
      const bool first = distance == 1;
      const auto nearer = first ? Offset(grid_.size(), 0) : nearer_stop(stops, offset, places);
      adds_relays_ = true;
      const auto relay = add_relay(source, offset, places);
      auto from = graph_.at(graph_.at(relay).space).tuple;
      move(from, nearer - offset);
      graph_.rules.push_back({Transfer{first ? source : relays.at(nearer), std::move(from), false}, relay,
                              places, Origin::relay, graph_.at(source).span});
      relays.emplace(offset, relay);
    }
    for (const auto& arrival : arrivals) {
      const auto relay = relays.find(arrival.offset);
      if (relay != relays.end()) take_from(relay->second, arrival);
    }
  }

  /// Whether values cross fewer links on the way to these stops than on ways of each arrival's own.
  [[nodiscard]] bool saves(const std::vector<Arrival>& arrivals, const Stops& stops) const {
    std::map<Offset, std::vector<const Arrival*>> alone;  // Those that no other brings the same values as.
    std::int64_t links = 0;
    for (const auto& arrival : arrivals) {
      if (arrival.repeated) return true;
      auto& others = alone[arrival.offset];
      if (std::ranges::any_of(others, [&](const Arrival* other) {
            return !other->places.intersect(arrival.places).is_empty();
          }))
        return true;
      if (others.empty()) links += hops(arrival.offset);
      others.push_back(&arrival);
    }
    return links > std::ssize(stops);
  }

  /// Where the values have to come, and to pass.
  [[nodiscard]] Stops stops_of(const std::vector<Arrival>& arrivals) const {
    Stops stops;
    for (const auto& arrival : arrivals) {
      const auto far = hops(arrival.offset);
      const auto [known, is_new] =
          stops.try_emplace({far, arrival.offset}, Stop{arrival.places, far > 1 || arrival.repeated});
      if (is_new) continue;
      auto& stop = known->second;
      stop.relayed = stop.relayed || arrival.repeated || !stop.places.intersect(arrival.places).is_empty();
      stop.places = stop.places.unite(arrival.places).coalesce();
    }
    // Those nearer, which it makes larger and adds, come later in this order.
    for (const auto& [key, stop] : stops) {
      const auto& [far, offset] = key;
      if (far == 1) continue;
      const auto nearer = nearer_stop(stops, offset, stop.places);
      const auto passing = stop.places.translate(over_grid(nearer - offset));
      const auto [known, is_new] = stops.try_emplace({far - 1, nearer}, Stop{passing, true});
      if (!is_new) known->second = {known->second.places.unite(passing).coalesce(), true};
    }
    return stops;
  }

  /// One hop nearer to the maker: a PE that receives these values anyway, if there is one.
  [[nodiscard]] Offset nearer_stop(const Stops& stops, const Offset& offset, const poly::Set& places) const {
    const auto far = hops(offset);
    std::optional<Offset> result;
    for (const auto& step : steps_) {
      auto nearer = offset - step;
      if (hops(nearer) != far - 1 || hops(step) != 1) continue;
      const auto known = stops.find({far - 1, nearer});
      if (known != stops.end() &&
          places.translate(over_grid(nearer - offset)).is_subset(known->second.places))
        return nearer;
      if (!result) result = std::move(nearer);
    }
    return result.value();
  }

  /// A step of the grid as one over all dims.
  [[nodiscard]] std::vector<std::int64_t> over_grid(const Offset& step) const {
    std::vector<std::int64_t> result(rank_, 0);
    for (std::size_t g = 0; g < grid_.size(); ++g) result[grid_[g]] = step[g];
    return result;
  }

  void move(std::vector<poly::Affine>& point, const Offset& step) const {
    for (std::size_t g = 0; g < grid_.size(); ++g) point[grid_[g]].constant += step[g];
  }

  /// A flow of the source's elements in the PEs at that offset, at the same times.
  FlowId add_relay(FlowId source, const Offset& offset, const poly::Set& places) {
    const auto made = Space(graph_.at(graph_.at(source).space));
    const auto home = detail::shifted(rank_, over_grid(Offset(grid_.size(), 0) - offset));
    Space space{detail::unused_name(graph_, "relay"), places, made.own, {}};
    for (const auto& form : made.tuple) space.tuple.push_back(poly::substitute(form, home, rank_));
    move(space.tuple, offset);
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
  const Hops& hops_between_;
  std::vector<std::size_t> grid_, time_;
  std::vector<Offset> steps_;
  bool adds_relays_ = false;
  bool saves_ = false;
};

}  // namespace

Shared share_links(const Placed& placed, const Hops& hops) { return Sharing(placed, hops).run(); }

}  // namespace cyclotron::dataflow
