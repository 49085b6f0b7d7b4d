#include <cyclotron/dataflow/share_links.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "arrivals.hpp"
#include "../shifts.hpp"

namespace cyclotron::dataflow {

namespace {

using detail::Arrival;
using detail::Offset;

struct LaterArrival : Arrival {
  bool repeated;  ///< Some of its values are used at several points.
};

/// The values of one flow in the PEs at one offset from their makers'.
struct Stop {
  poly::Set places;
  bool relayed;  ///< They are received there to be taken by several, PEs or points.
};

/// By (hops, offset), farthest first.
using Stops = std::map<std::pair<std::int64_t, Offset>, Stop, std::greater<>>;

/// A flow of the values at a stop, so many steps after they are made.
struct Relay {
  FlowId flow;
  Offset steps;
};

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
  Sharing(const Placed& placed, const Links& links)
      : result_(placed),
        graph_(result_.graph),
        coordinates_(placed),
        links_(links),
        steps_(steps_between_neighbours(coordinates_.grid.size())) {}

  Shared run() {
    std::map<std::size_t, std::vector<LaterArrival>> arrivals;  // By source.
    // Sources of which a neighbour uses values in the step in which they are made.
    std::set<std::size_t> at_once;
    const auto rules = graph_.rules.size();
    for (std::size_t r = 0; r < rules; ++r) {
      auto arrival = detail::arrival_of(graph_, coordinates_, r);
      if (!arrival || hops(arrival->offset) > most_hops) continue;
      const auto& rule = graph_.rules[r];
      if (detail::is_later_than(graph_, coordinates_, rule, {})) {
        const bool repeated = !poly::Map::function(rule.domain, arrival->place).is_injective();
        arrivals[arrival->source.index()].push_back({std::move(*arrival), repeated});
      } else if (hops(arrival->offset) == 1) {
        at_once.insert(arrival->source.index());
      }
    }
    for (auto& [source, of_one] : arrivals) {
      if (at_once.contains(source))
        std::erase_if(of_one, [&](const LaterArrival& arrival) { return hops(arrival.offset) == 1; });
      share(FlowId(source), of_one);
    }
    return {std::move(result_), adds_relays_, adds_relays_ && !saves_};
  }

 private:
  [[nodiscard]] std::int64_t hops(const Offset& offset) const { return links_.hops(offset); }

  void share(FlowId source, const std::vector<LaterArrival>& arrivals) {
    auto stops = stops_of(arrivals);
    saves_ = saves_ || saves(arrivals, stops);
    const auto hidden = steps_that_hide(source, stops, arrivals);
    std::map<Offset, Relay> relays;
    for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
      const auto& [distance, offset] = stop->first;
      const auto& places = stop->second.places;
      if (!stop->second.relayed) continue;
      adds_relays_ = true;
      const bool first = distance == 1;
      const auto nearer = first ? Offset(coordinates_.grid.size(), 0) : nearer_stop(stops, offset, places);
      const auto before = first ? Relay{source, Offset(coordinates_.time.size(), 0)} : relays.at(nearer);
      const auto& steps = hidden.at(offset);
      const auto relay = detail::add_relay(graph_, coordinates_, source, offset, steps, places);
      const auto& space = graph_.at(graph_.at(relay).space);
      auto from = space.tuple;
      const auto way = coordinates_.together(nearer - offset, before.steps - steps);
      for (std::size_t d = 0; d < from.size(); ++d) from[d].constant += way[d];
      graph_.rules.push_back({Transfer{before.flow, std::move(from), false}, relay, space.domain,
                              Origin::relay, graph_.at(source).span});
      relays.emplace(offset, Relay{relay, steps});
    }
    for (const auto& arrival : arrivals) {
      const auto relay = relays.find(arrival.offset);
      if (relay == relays.end()) continue;
      detail::take_here(graph_, coordinates_, graph_.rules[arrival.rule], relay->second.flow,
                        relay->second.steps);
    }
  }

  /// True where values cross fewer links on the way to these stops than on ways of each arrival's own.
  [[nodiscard]] bool saves(const std::vector<LaterArrival>& arrivals, const Stops& stops) const {
    std::map<Offset, std::vector<const LaterArrival*>>
        alone;  // Those that no other brings the same values as.
    std::int64_t links = 0;
    for (const auto& arrival : arrivals) {
      if (arrival.repeated) return true;
      auto& others = alone[arrival.offset];
      if (std::ranges::any_of(others, [&](const LaterArrival* other) {
            return !other->places.intersect(arrival.places).is_empty();
          }))
        return true;
      if (others.empty()) links += hops(arrival.offset);
      others.push_back(&arrival);
    }
    return links > std::ssize(stops);
  }

  /// Points to which the values have to come, and that they pass.
  [[nodiscard]] Stops stops_of(const std::vector<LaterArrival>& arrivals) const {
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
      const auto passing = stop.places.translate(coordinates_.together(nearer - offset, {}));
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
          places.translate(coordinates_.together(nearer - offset, {})).is_subset(known->second.places))
        return nearer;
      if (!result) result = std::move(nearer);
    }
    return result.value();
  }

  /// Number of steps from the making of values to their receipt at each stop: so many that PEs do not wait for links on
  /// the way, as far as these hold the messages meanwhile. None where some value would come too late.
  [[nodiscard]] std::map<Offset, Offset> steps_that_hide(FlowId source, const Stops& stops,
                                                         const std::vector<LaterArrival>& arrivals) const {
    std::map<Offset, Offset> result;
    const auto in_time = [&](const Offset& offset, const Offset& steps) {
      return std::ranges::all_of(arrivals, [&](const LaterArrival& arrival) {
        return arrival.offset != offset ||
               detail::is_later_than(graph_, coordinates_, graph_.rules[arrival.rule], steps);
      });
    };
    bool all_in_time = true;
    for (auto stop = stops.rbegin(); stop != stops.rend(); ++stop) {
      const auto& [distance, offset] = stop->first;
      const auto& [places, relayed] = stop->second;
      auto& steps = result[offset] = Offset(coordinates_.time.size(), 0);
      if (!relayed || links_.latency_cycles <= 1) continue;
      if (distance > 1) steps = result.at(nearer_stop(stops, offset, places));
      for (const auto& [t, count] : delays_of_one_hop(source, places)) {
        auto more = steps;
        more[t] += count;
        if (!in_time(offset, more)) continue;
        steps = std::move(more);
        break;
      }
      all_in_time = all_in_time && in_time(offset, steps);
    }
    if (!all_in_time) {
      for (auto& [offset, steps] : result) std::ranges::fill(steps, 0);
    }
    return result;
  }

  /// By how many steps along which time dim (its place among them) a value may be received after it is sent: those
  /// during which most of the latency passes first. Links hold what is sent meanwhile.
  [[nodiscard]] std::vector<std::pair<std::size_t, std::int64_t>> delays_of_one_hop(
      FlowId source, const poly::Set& places) const {
    struct Delay {
      std::size_t dim;
      std::int64_t count, hidden;
    };
    std::vector<Delay> delays;
    const auto& made = graph_.at(graph_.at(source).space).domain;
    const auto extent = [](const poly::Set& points, std::size_t d) {
      return points.maximum(d).value() - points.minimum(d).value() + 1;
    };
    const auto latency = links_.latency_cycles;
    std::int64_t values = 1, cycles = operations_of(source);  // in one step along the dim
    for (auto t = coordinates_.time.size(); t-- > 0 && cycles < latency && values < links_.depth;) {
      const auto d = coordinates_.time[t];
      const auto there = extent(places, d);
      const auto count = std::min((latency + cycles - 1) / cycles, (links_.depth - 1) / values);
      if (there > 1) delays.push_back({t, count, std::min(count * cycles, latency)});
      values *= there;
      cycles *= extent(made, d);
    }
    std::ranges::stable_sort(delays, std::ranges::greater{}, &Delay::hidden);
    std::vector<std::pair<std::size_t, std::int64_t>> result;
    for (const auto& delay : delays) result.emplace_back(delay.dim, delay.count);
    return result;
  }

  /// That make one value, each a cycle or more.
  [[nodiscard]] std::int64_t operations_of(FlowId flow) const {
    std::int64_t result = 1;
    for (const auto& rule : graph_.rules) {
      const auto* compute = std::get_if<Compute>(&rule.action);
      if (compute == nullptr || rule.flow != flow) continue;
      result = std::max<std::int64_t>(result, std::ranges::count_if(compute->terms, [](const Term& term) {
                                        return std::holds_alternative<Apply>(term);
                                      }));
    }
    return result;
  }

  Placed result_;
  Graph& graph_;
  detail::Coordinates coordinates_;
  const Links& links_;
  std::vector<Offset> steps_;  ///< From a PE to its neighbours.
  bool adds_relays_ = false;
  bool saves_ = false;
};

}  // namespace

Shared share_links(const Placed& placed, const Links& links) { return Sharing(placed, links).run(); }

}  // namespace cyclotron::dataflow
