#include <cyclotron/dataflow/route.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <utility>

#include <cyclotron/poly/inverse.hpp>
#include <cyclotron/support/error.hpp>

#include "../shifts.hpp"

namespace cyclotron::dataflow {

namespace {

using Forms = std::vector<poly::Affine>;

/// A part of a way along one grid dimension, in one direction.
struct Leg {
  std::size_t axis;             ///< Of the grid.
  std::int64_t direction;       ///< 1 or -1.
  std::int64_t ring;            ///< PEs round which it leads over the border; 0: it does not.
  poly::Affine start;           ///< The coordinate from which it leads, over the user's own coordinates.
  poly::Affine length;          ///< Its hops, the same.
  poly::Affine departure = {};  ///< Step in which a value on it had no hops behind it, the same.
  /// By how many steps of which dims of time it comes before the use.
  std::vector<std::pair<std::size_t, std::int64_t>> early = {};
};

/// The users of one rule whose values go in the same directions.
struct Way {
  poly::Set users;  ///< Over their own coordinates.
  std::vector<Leg> legs;
  std::vector<std::size_t> destinations =
      {};  ///< Grid dimensions whose coordinates tell values apart that else meet.
};

/// Points of a leg on one side of a ring's border, beyond it or before.
struct Side {
  std::size_t leg;
  bool beyond;
};

class WayBuilder;

class Routing {
 public:
  Routing(const Placed& placed, const Neighbours& neighbours, Pace pace)
      : placed_(placed), joined_(neighbours.joined), pace_(pace), together_(pace == Pace::together) {
    for (const auto& name : placed.space) space_.push_back(dim_of(name));
    for (const auto d : space_) {
      std::optional<std::int64_t> low, high;
      for (const auto& space : placed.graph.spaces) {
        if (space.domain.is_empty()) continue;
        low = std::min(*space.domain.minimum(d), low.value_or(*space.domain.minimum(d)));
        high = std::max(*space.domain.maximum(d), high.value_or(*space.domain.maximum(d)));
      }
      origin_.push_back(low.value_or(0));
      const auto extent = high.value_or(0) - origin_.back() + 1;
      const auto g = origin_.size() - 1;
      const auto ring = g < neighbours.rings.size() ? neighbours.rings[g].value_or(extent) : 0;
      rings_.push_back(ring > 2 ? ring : 0);
    }
  }

  std::optional<Placed> run();

 private:
  [[nodiscard]] std::size_t dim_of(const std::string& name) const {
    const auto& dims = placed_.graph.dims;
    return static_cast<std::size_t>(std::ranges::find(dims, name) - dims.begin());
  }

  [[nodiscard]] const Space& space_of(const Rule& rule) const {
    return placed_.graph.at(placed_.graph.at(rule.flow).space);
  }

  [[nodiscard]] bool is_joined(const Rule& rule, const Transfer& transfer) const {
    std::vector<std::int64_t> offset;
    for (const auto d : space_) {
      const auto step = space_of(rule).tuple[d] - transfer.from[d];
      if (!poly::is_constant(step)) return false;
      offset.push_back(step.constant);
    }
    return joined_(offset);
  }

  /// A value that is on its way in the step of its use has to be made in one before. Returns whether it is in one of the
  /// loops around the points of a folded PE.
  [[nodiscard]] bool is_earlier(const Rule& rule, const Transfer& transfer) const {
    auto alike = rule.domain;
    for (std::size_t t = 0; t < placed_.time.size(); ++t) {
      const auto d = dim_of(placed_.time[t]);
      const auto later = space_of(rule).tuple[d] - transfer.from[d];
      if (!alike.satisfies({later, false})) break;
      alike = alike.intersect({later, true});
      if (alike.is_empty()) return t + placed_.within < placed_.time.size();
    }
    throw LegalityError(
        {.code = "CYC221",
         .obstacle = Obstacle::late_value,
         .span = rule.span,
         .message = fmt::format("`{}` is made in the step in which PEs far away need it",
                                placed_.graph.at(placed_.graph.at(rule.flow).tensor).user_name()),
         .notes = {},
         .help = "map one more index to time"});
  }

  /// Forms that name only a space's own coordinates, over these and `more` variables.
  [[nodiscard]] Forms over_own(const Space& space, const Forms& forms, std::size_t more = 0) const {
    const auto count = space.own.size() + more;
    Forms replace(placed_.graph.dims.size(), poly::constant(count, 0));
    for (std::size_t n = 0; n < space.own.size(); ++n) replace[space.own[n]] = poly::variable(count, n);
    Forms result;
    for (const auto& form : forms) result.push_back(poly::substitute(form, replace, count));
    return result;
  }

  /// Users of a rule, over their own coordinates, by the directions from which their values come: along the grid's last
  /// dimension first, or along its first.
  [[nodiscard]] std::vector<Way> ways_of(const Rule& rule, const poly::Set& all, bool last_first) const {
    const auto& space = space_of(rule);
    const auto count = space.own.size();
    const auto user = over_own(space, space.tuple);
    const auto maker = over_own(space, std::get<Transfer>(rule.action).from);
    std::vector<Way> ways{{all, {}}};
    for (std::size_t n = 0; n < space_.size(); ++n) {
      const auto g = last_first ? space_.size() - 1 - n : n;
      const auto& start = maker[space_[g]];
      const auto distance = user[space_[g]] - start;
      std::vector<Way> split;
      const auto add = [&](const Way& way, const poly::Set& users, std::optional<Leg> leg) {
        if (users.is_empty()) return;
        split.push_back({users.coalesce(), way.legs});
        if (leg) split.back().legs.push_back(std::move(*leg));
      };
      for (const auto& way : ways) {
        add(way, way.users.intersect({distance, true}), std::nullopt);
        for (const std::int64_t direction : {1, -1}) {
          const auto length = direction * distance, ring = poly::constant(count, rings_[g]);
          const auto ahead = way.users.intersect({length - poly::constant(count, 1), false});
          const auto near = rings_[g] == 0 ? ahead : ahead.intersect({ring - 2 * length, false});
          add(way, near, Leg{g, direction, 0, start, length});
          if (rings_[g] > 0)
            add(way, ahead.subtract(near), Leg{g, -direction, rings_[g], start, ring - length});
        }
      }
      ways = std::move(split);
    }
    return ways;
  }

  /// The grid's coordinates of a value at coordinate `at` of a leg's axis, and its step, over the variables of `at`: the
  /// user's own coordinates, and others.
  [[nodiscard]] Forms way_point(const Rule& rule, const Way& way, const Side& side,
                                const poly::Affine& at) const {
    const auto& space = space_of(rule);
    const auto count = at.coefficients.size(), more = count - space.own.size();
    const auto user = over_own(space, space.tuple, more);
    const auto maker = over_own(space, std::get<Transfer>(rule.action).from, more);
    Forms result;
    for (const auto d : space_) result.push_back(maker[d]);
    auto hops = poly::constant(count, side.beyond ? way.legs[side.leg].ring : 0);
    const auto wide = [&](poly::Affine form) {
      form.coefficients.resize(count, 0);
      return form;
    };
    for (std::size_t n = 0; n < side.leg; ++n) {
      result[way.legs[n].axis] = user[space_[way.legs[n].axis]];
      hops = hops + wide(way.legs[n].length);
    }
    const auto& leg = way.legs[side.leg];
    result[leg.axis] = at;
    result.push_back(wide(leg.departure) + hops + leg.direction * (at - wide(leg.start)));
    return result;
  }

  /// Forms that vanish for all users of a way.
  [[nodiscard]] static Forms fixed(const Way& way, std::size_t count) {
    Forms result;
    for (std::size_t n = 0; n < way.users.dimensions(); ++n) {
      const auto place = way.users.equality_for(n);
      if (!place) continue;
      result.push_back(poly::variable(way.users.dimensions(), n) - *place);
      result.back().coefficients.resize(count, 0);
    }
    return result;
  }

  /// True where on a leg no two values to the same destination are in one PE in the same step.
  [[nodiscard]] bool are_told_apart(const Rule& rule, const Way& way, std::size_t leg) const {
    const auto& space = space_of(rule);
    const auto count = space.own.size() + 1;
    const auto user = over_own(space, space.tuple, 1);
    auto forms = way_point(rule, way, {leg, false}, poly::variable(count, count - 1));
    for (const auto d : time_dims()) forms.push_back(user[d]);
    for (const auto g : way.destinations) forms.push_back(user[space_[g]]);
    for (auto& form : fixed(way, count)) forms.push_back(std::move(form));
    return poly::left_inverse(forms, count).has_value();
  }

  /// As few as can be with which a condition holds for each leg.
  template <typename Condition>
  void find_destinations(Way& way, const Condition& holds) const {
    const auto legs = std::views::iota(std::size_t{0}, way.legs.size());
    for (std::size_t choice = 0; choice < std::size_t{1} << space_.size(); ++choice) {
      way.destinations.clear();
      for (std::size_t g = 0; g < space_.size(); ++g) {
        if (((choice >> g) & 1U) != 0) way.destinations.push_back(g);
      }
      if (std::ranges::all_of(legs, holds)) return;
    }
  }

  /// One more than the hops of a way's first legs.
  [[nodiscard]] static poly::Affine steps_after(const Way& way, std::size_t legs) {
    auto result = poly::constant(way.users.dimensions(), 1);
    for (const auto& leg : way.legs | std::views::take(legs)) result = result + leg.length;
    return result;
  }

  /// Lets all values set out at once and go without a stop.
  void go_straight(const Rule& rule, Way& way) const {
    const auto most = *way.users.image({steps_after(way, way.legs.size())}).maximum(0);
    for (auto& leg : way.legs) leg.departure = poly::constant(way.users.dimensions(), -most);
    find_destinations(way, [&](std::size_t leg) { return are_told_apart(rule, way, leg); });
  }

  /// Lets values go one leg in each step of the last of some loops, so many steps before the use: all set out at once, or
  /// where they so would meet, arrive at once.
  void go_in_stages(const Rule& rule, Way& way,
                    const std::vector<std::pair<std::size_t, std::int64_t>>& early) const {
    find_destinations(way, [&](std::size_t n) {
      auto& leg = way.legs[n];
      const auto most = poly::constant(way.users.dimensions(), *way.users.image({leg.length}).maximum(0));
      leg.early = early;
      leg.early.back().second += static_cast<std::int64_t>(way.legs.size() - n) - 1;
      return std::ranges::any_of(std::vector{most, leg.length}, [&](const poly::Affine& hops) {
        leg.departure = -1 * (hops + steps_after(way, n));
        return are_told_apart(rule, way, n);
      });
    });
  }

  /// Ways in stages for the points of a folded PE; none where it has one point.
  [[nodiscard]] std::vector<Way> stages(const Rule& rule, const poly::Set& users) const {
    const auto& space = space_of(rule);
    const auto user = over_own(space, space.tuple);
    std::vector<std::pair<std::size_t, std::int64_t>> loops;  // with the users' first steps
    for (const auto& name : placed_.time | std::views::drop(placed_.time.size() - placed_.within)) {
      const auto steps = users.image({user[dim_of(name)]});
      if (steps.minimum(0) < steps.maximum(0)) loops.emplace_back(dim_of(name), *steps.minimum(0));
    }
    if (loops.empty()) return {};
    const auto [outer, low] = loops.front();
    const auto half = (*users.image({user[outer]}).maximum(0) - low + 2) / 2;
    const auto others = users.intersect({user[outer] - poly::constant(space.own.size(), low + half), false});
    const auto most_destinations = [](const std::vector<Way>& ways) {
      return std::ranges::max(ways, {}, [](const Way& way) { return way.destinations.size(); })
          .destinations.size();
    };
    std::vector<Way> result;
    for (const bool first : {true, false}) {
      auto early = loops;
      early.front().second += first ? half : 2 * half;
      const auto in_order = [&](bool last_first) {
        auto ways = ways_of(rule, first ? users.subtract(others) : others, last_first);
        for (auto& way : ways) go_in_stages(rule, way, early);
        return ways;
      };
      auto ways = in_order(first);
      if (most_destinations(ways) > 0) {
        auto turned = in_order(!first);
        if (most_destinations(turned) < most_destinations(ways)) ways = std::move(turned);
      }
      std::ranges::move(ways, std::back_inserter(result));
    }
    return result;
  }

  [[nodiscard]] std::vector<std::size_t> time_dims() const {
    std::vector<std::size_t> result;
    for (std::size_t d = 0; d < placed_.graph.dims.size(); ++d) {
      if (std::ranges::find(space_, d) == space_.end()) result.push_back(d);
    }
    return result;
  }

  /// Gives the graph the new coordinates, which are 0 everywhere so far.
  void widen() {
    result_ = placed_;
    auto& graph = result_.graph;
    const auto old = graph.dims.size();
    auto loop = result_.time.end() - static_cast<std::ptrdiff_t>(together_ ? result_.within : 0);
    const auto add = [&](std::string name) {
      while (std::ranges::find(graph.dims, name) != graph.dims.end()) name += "'";
      graph.dims.push_back(name);
      loop = result_.time.insert(loop, std::move(name)) + 1;
    };
    for (const auto g : destinations_) add("to_" + placed_.space[g]);
    add(in_stages_ ? "stage_hop" : "hop");
    const auto rank = graph.dims.size();
    if (result_.within > 0 && !together_) result_.within += rank - old;
    Forms others;
    for (std::size_t d = 0; d < old; ++d) others.push_back(poly::variable(rank, d));
    const auto widen_set = [&](poly::Set& set) {
      set = set.preimage(others, rank);
      for (auto d = old; d < rank; ++d) set = set.intersect({poly::variable(rank, d), true});
    };
    const auto widen_form = [&](poly::Affine& form) { form.coefficients.resize(rank, 0); };
    const auto widen_point = [&](Forms& forms) {
      std::ranges::for_each(forms, widen_form);
      forms.resize(rank, poly::constant(rank, 0));
    };
    for (auto& space : graph.spaces) {
      widen_set(space.domain);
      widen_point(space.tuple);
    }
    for (auto& flow : graph.flows) std::ranges::for_each(flow.element, widen_form);
    for (auto& rule : graph.rules) {
      widen_set(rule.domain);
      if (auto* transfer = std::get_if<Transfer>(&rule.action)) widen_point(transfer->from);
      auto* compute = std::get_if<Compute>(&rule.action);
      for (std::size_t n = 0; compute != nullptr && n < compute->terms.size(); ++n) {
        if (auto* ref = std::get_if<FlowRef>(&compute->terms[n])) ref->offset.resize(rank, 0);
        if (auto* index = std::get_if<Index>(&compute->terms[n])) widen_form(index->form);
      }
    }
  }

  friend class WayBuilder;

  const Placed& placed_;
  const std::function<bool(const std::vector<std::int64_t>&)>& joined_;
  Pace pace_;
  bool in_stages_ = false;          ///< Some values go in stages.
  bool together_;                   ///< Hops come before the points of a folded PE.
  std::vector<std::size_t> space_;  ///< Dims of the graph.
  std::vector<std::int64_t> origin_,
      rings_;                           ///< Least coordinate and PEs of a ring, or 0, by grid dimension.
  std::set<std::size_t> destinations_;  ///< Grid dimensions that some way names.
  Placed result_;
};

/// Adds the spaces of one way, and the rules that lead along it. Points on a leg are given over the user's own coordinates
/// and the one along the leg.
class WayBuilder {
 public:
  WayBuilder(Routing& routing, const Rule& rule, const Way& way)
      : routing_(routing),
        graph_(routing.result_.graph),
        rule_(rule),
        way_(way),
        user_(routing.space_of(rule)),
        own_(user_.own.size()) {
    const auto user = routing.over_own(user_, user_.tuple);
    for (const auto d : routing.space_) last_.push_back(way.users.image({user[d]}).maximum(0).value());
    for (std::size_t n = 0; n < own_; ++n) users_.push_back(poly::variable(own_ + 1, n));
  }

  void run() {
    const auto& transfer = std::get<Transfer>(rule_.action);
    const Points here{way_.users.preimage(users_, own_ + 1), point(user_.tuple)};
    Source source{transfer.source, point(transfer.from)};
    auto maker = routing_.over_own(user_, transfer.from);
    std::ranges::move(Routing::fixed(way_, own_), std::back_inserter(maker));
    starts_at_maker_ =
        !poly::left_inverse(maker, own_) && !poly::Map::function(way_.users, maker).is_injective();
    for (std::size_t leg = 0; leg < way_.legs.size(); ++leg) source = follow(leg, here.set, source);
    Forms home;
    for (const auto d : user_.own) home.push_back(poly::variable(graph_.dims.size(), d));
    home.push_back(poly::constant(graph_.dims.size(), 0));
    add_rule({rule_.flow, home}, here, source, rule_.origin);
  }

 private:
  struct Points {
    poly::Set set;
    Forms coordinates;
  };
  struct Source {
    FlowId flow;
    Forms point;
  };
  /// A flow, and a point on the leg over its coordinates.
  struct Target {
    FlowId flow;
    Forms home;
  };

  /// A point without hops, given over the old coordinates.
  [[nodiscard]] Forms point(const Forms& forms) const {
    auto result = routing_.over_own(user_, forms, 1);
    result.resize(graph_.dims.size(), poly::constant(own_ + 1, 0));
    return result;
  }

  [[nodiscard]] Forms point_on(const Side& side, const poly::Affine& at) const {
    auto result = point(user_.tuple);
    const auto user = result;
    const auto forms = routing_.way_point(rule_, way_, side, at);
    for (std::size_t g = 0; g < routing_.space_.size(); ++g) result[routing_.space_[g]] = forms[g];
    auto next = user_.tuple.size();
    for (const auto g : routing_.destinations_) {
      if (std::ranges::find(way_.destinations, g) != way_.destinations.end())
        result[next] = user[routing_.space_[g]] - poly::constant(own_ + 1, last_[g] + 1);
      ++next;
    }
    result.back() = forms.back();
    for (const auto& [d, steps] : way_.legs[side.leg].early) result[d].constant -= steps;
    return result;
  }

  [[nodiscard]] poly::Affine wide(poly::Affine form) const {
    form.coefficients.resize(own_ + 1, 0);
    return form;
  }

  /// Adds what passes along a leg and what comes to its end, which it returns.
  Source follow(std::size_t number, const poly::Set& users, const Source& source) {
    const auto& leg = way_.legs[number];
    const auto before = poly::constant(own_ + 1, starts_at_maker_ && number == 0 ? 0 : 1);
    const auto one = poly::constant(own_ + 1, 1);
    const auto at = poly::variable(own_ + 1, own_);
    const auto low = poly::constant(own_ + 1, routing_.origin_[leg.axis]);
    const auto high = low + poly::constant(own_ + 1, leg.ring - 1);
    const auto &last = leg.direction > 0 ? high : low, &first = leg.direction > 0 ? low : high;
    std::vector<FlowId> sides;  // before the border and beyond it
    const auto connect = [&](const Target& target, bool beyond, const poly::Affine& place,
                             const Points& points) {
      const auto gone = leg.direction * (place - wide(leg.start)) +
                        poly::constant(own_ + 1, beyond ? leg.ring : 0) - before;
      add_rule(target, {points.set.intersect({gone, true}), points.coordinates}, source, Origin::relay);
      auto further = points.set.intersect({gone - one, false});
      if (beyond) {
        const auto crossing = further.intersect({place - first, true});
        add_rule(target, {crossing, points.coordinates}, {sides[0], point_on({number, false}, last)},
                 Origin::relay);
        further = further.subtract(crossing);
      }
      if (further.is_empty()) return;
      add_rule(target, {further, points.coordinates},
               {sides[beyond ? 1 : 0], point_on({number, beyond}, place - leg.direction * one)},
               Origin::relay);
    };
    for (const bool beyond : {false, true}) {
      if (beyond && leg.ring == 0) break;
      const Side side{number, beyond};
      const auto gone =
          leg.direction * (at - wide(leg.start)) + poly::constant(own_ + 1, beyond ? leg.ring : 0);
      auto set = users.intersect({gone - before, false}).intersect({wide(leg.length) - gone - one, false});
      if (leg.ring > 0)
        set = set.intersect({beyond ? leg.direction * (at - first) : leg.direction * (last - at), false});
      const Points points{set.coalesce(), point_on(side, at)};
      sides.emplace_back();
      if (set.is_empty()) continue;
      const auto target = add_flow(points, points.coordinates);
      sides.back() = target.flow;
      connect(target, beyond, at, points);
    }
    const bool beyond = leg.ring > 0;
    const auto end = wide(leg.start) + leg.direction * wide(leg.length) -
                     poly::constant(own_ + 1, beyond ? leg.direction * leg.ring : 0);
    const Points points{users, point_on({number, beyond}, end)};
    const auto target = add_flow(points, point_on({number, beyond}, at));
    connect(target, beyond, end, points);
    return {target.flow, points.coordinates};
  }

  /// Adds a space of these points, and a flow of what their users need; `told` tells them from its coordinates.
  Target add_flow(const Points& points, const Forms& told) {
    const auto rank = graph_.dims.size();
    auto all = told;
    for (auto& form : Routing::fixed(way_, own_ + 1)) all.push_back(std::move(form));
    auto home = poly::left_inverse(all, own_ + 1);
    CYC_CHECK(home.has_value(), "destinations tell values apart");
    for (auto& form : *home) form.coefficients.resize(rank);
    Space space{detail::unused_name(graph_, "relay"),
                points.set.image(points.coordinates).coalesce(),
                {},
                {},
                SpaceKind::relay};
    Forms equalities;
    for (std::size_t d = 0; d < rank; ++d)
      equalities.push_back(poly::variable(rank, d) - poly::substitute(points.coordinates[d], *home, rank));
    detail::choose_free_coordinates(equalities, space);
    Flow flow = graph_.at(rule_.flow);
    for (auto& form : flow.element) {
      form.coefficients.resize(user_.tuple.size());
      form = poly::substitute(poly::substitute(routing_.over_own(user_, {form}, 1)[0], *home, rank),
                              space.tuple, rank);
    }
    flow.computed = flow.prefetched = false;
    graph_.spaces.push_back(std::move(space));
    flow.space = SpaceId(graph_.spaces.size() - 1);
    graph_.flows.push_back(std::move(flow));
    return {FlowId(graph_.flows.size() - 1), *home};
  }

  void add_rule(const Target& target, const Points& points, const Source& source, Origin origin) {
    const auto rank = graph_.dims.size();
    const auto domain = points.set.image(points.coordinates).coalesce();
    if (domain.is_empty()) return;
    Forms from;
    for (const auto& form : source.point) from.push_back(poly::substitute(form, target.home, rank));
    from = detail::as_shifts(domain, std::move(from));
    const auto& tuple = graph_.at(graph_.at(target.flow).space).tuple;
    for (auto& form : from) form = poly::substitute(form, tuple, rank);
    graph_.rules.push_back(
        {Transfer{source.flow, std::move(from), false}, target.flow, domain, origin, rule_.span});
  }

  Routing& routing_;
  Graph& graph_;
  const Rule& rule_;
  const Way& way_;
  const Space& user_;
  std::size_t own_;
  std::vector<std::int64_t> last_;  ///< The users' greatest coordinate, by grid dimension.
  Forms users_;                     ///< The user of a point on the leg.
  bool starts_at_maker_ = false;    ///< It sends a value several times: each begins as a copy in its PE.
};

std::optional<Placed> Routing::run() {
  const auto& rules = placed_.graph.rules;
  std::vector<std::vector<Way>> ways(rules.size());
  bool all_earlier = true;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const auto* transfer = std::get_if<Transfer>(&rules[r].action);
    if (transfer == nullptr || transfer->broadcast || is_joined(rules[r], *transfer)) continue;
    const bool earlier = is_earlier(rules[r], *transfer);
    all_earlier = all_earlier && earlier;
    const auto& space = space_of(rules[r]);
    const auto users = rules[r].domain.preimage(over_own(space, space.tuple), space.own.size());
    ways[r] = ways_of(rules[r], users, true);
    const bool turns = std::ranges::any_of(ways[r], [](const Way& way) { return way.legs.size() > 1; });
    auto staged = turns && earlier && pace_ == Pace::in_stages ? stages(rules[r], users) : std::vector<Way>{};
    if (staged.empty()) {
      for (auto& way : ways[r]) go_straight(rules[r], way);
    } else {
      ways[r] = std::move(staged);
      in_stages_ = true;
    }
    for (const auto& way : ways[r]) destinations_.insert(way.destinations.begin(), way.destinations.end());
  }
  together_ = together_ && all_earlier;
  if (std::ranges::all_of(ways, [](const auto& way) { return way.empty(); })) return std::nullopt;
  widen();
  auto given = std::exchange(result_.graph.rules, {});
  for (std::size_t r = 0; r < rules.size(); ++r) {
    if (ways[r].empty()) result_.graph.rules.push_back(std::move(given[r]));
    for (const auto& way : ways[r]) WayBuilder(*this, rules[r], way).run();
  }
  return std::move(result_);
}

}  // namespace

Placed move_operands(const Placed& placed, const Neighbours& neighbours) {
  Placed result = placed;
  auto& graph = result.graph;
  const auto is_joined = [&](const FlowRef& operand) {
    std::vector<std::int64_t> offset;
    for (const auto& name : placed.space)
      offset.push_back(
          -operand
               .offset[static_cast<std::size_t>(std::ranges::find(graph.dims, name) - graph.dims.begin())]);
    return neighbours.joined(offset);
  };
  for (std::size_t r = 0; r < placed.graph.rules.size(); ++r) {
    const auto* given = std::get_if<Compute>(&placed.graph.rules[r].action);
    for (std::size_t n = 0; given != nullptr && n < given->terms.size(); ++n) {
      const auto* operand = std::get_if<FlowRef>(&given->terms[n]);
      if (operand == nullptr || is_joined(*operand)) continue;
      auto& rule = graph.rules[r];
      auto space = graph.at(graph.at(rule.flow).space);
      space.name = detail::unused_name(graph, "relay");
      space.domain = rule.domain;
      space.kind = SpaceKind::relay;
      auto from = space.tuple;
      for (std::size_t d = 0; d < from.size(); ++d) from[d].constant += operand->offset[d];
      auto flow = graph.at(operand->flow);
      for (auto& form : flow.element) form = poly::substitute(form, from, graph.dims.size());
      flow.computed = flow.prefetched = false;
      flow.space = SpaceId(graph.spaces.size());
      const FlowId moved(graph.flows.size());
      std::get<Compute>(rule.action).terms[n] = FlowRef{moved, std::vector<std::int64_t>(from.size(), 0)};
      Rule move{Transfer{operand->flow, std::move(from), false}, moved, rule.domain, Origin::relay,
                rule.span};
      graph.spaces.push_back(std::move(space));
      graph.flows.push_back(std::move(flow));
      graph.rules.push_back(std::move(move));
    }
  }
  return result;
}

std::optional<Placed> route(const Placed& placed, const Neighbours& neighbours, Pace pace) {
  return Routing(placed, neighbours, pace).run();
}

}  // namespace cyclotron::dataflow
