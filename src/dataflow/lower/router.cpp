// The ways of operands to the points that use them (rules 2 to 5 and 7 of section 8, E12, E13, E16).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include <cyclotron/support/error.hpp>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

using schedule::MovementKind;

const schedule::Movement* Router::move_of(const Flow& flow) const {
  const auto& name = graph_.at(flow.tensor).name;
  const auto place = std::ranges::find(schedule_.movements, name, &schedule::Movement::tensor);
  return place == schedule_.movements.end() ? nullptr : &*place;
}

/// True where a step along the dim leads to another PE.
bool Router::is_space(std::size_t dim) const {
  return std::ranges::any_of(frame_.space,
                             [dim](const poly::Affine& form) { return form.coefficients[dim] != 0; });
}

std::vector<Router::Neighbour> Router::neighbours(const std::vector<std::int64_t>& grid) const {
  std::vector<Neighbour> result;
  for (std::size_t s = 0; s < frame_.space.size(); ++s) {
    const auto& form = frame_.space[s];
    const auto limit = s < grid.size() ? grid[s] : 0;
    if (limit == 0 && schedule_.folds.empty()) continue;
    for (std::size_t dim = 0; dim < graph_.dims.size(); ++dim) {
      if (form != poly::variable(graph_.dims.size(), dim)) continue;
      const auto [low, high] = range_of(graph_, form);
      const auto folding = schedule::folding(schedule_, s, high - low + 1, limit);
      if (folding && folding->kind == schedule::FoldKind::block && folding->divisor > 1)
        result.push_back({dim, folding->divisor});
    }
  }
  return result;
}

namespace {

/// An axis as the schedule names it: `j`, or `-j` for a value that travels towards smaller j.
std::string_view axis_name(std::string_view text) { return text.starts_with('-') ? text.substr(1) : text; }

}  // namespace

/// Dims in the order in which a value takes them: space axes as the movement lists them, then the other
/// space axes, then time outermost first.
std::vector<std::size_t> Router::order_of_dims(const schedule::Movement* move) const {
  std::vector<std::size_t> order;
  const auto add = [&](std::size_t dim) {
    if (std::ranges::find(order, dim) == order.end()) order.push_back(dim);
  };
  if (move != nullptr) {
    for (const auto& text : move->along) {
      const auto place = std::ranges::find(graph_.dims, axis_name(text));
      const auto dim = static_cast<std::size_t>(place - graph_.dims.begin());
      if (is_space(dim)) add(dim);
    }
  }
  for (const bool space : {true, false}) {
    for (const auto& form : space ? frame_.space : frame_.time) {
      for (std::size_t dim = 0; dim < graph_.dims.size(); ++dim) {
        if (form.coefficients[dim] != 0 && (space || !is_space(dim))) add(dim);
      }
    }
  }
  return order;
}

/// The direction that the schedule or the order of time gives, if any.
std::optional<std::int64_t> Router::given_direction(const schedule::Movement* move, std::size_t dim) const {
  bool listed = false;
  if (move != nullptr && is_space(dim)) {
    for (const auto& text : move->along) {
      if (axis_name(text) != graph_.dims[dim]) continue;
      if (text.starts_with('-')) return -1;
      listed = true;
    }
  }
  for (const auto& form : frame_.time) {
    if (form.coefficients[dim] != 0) return form.coefficients[dim] < 0 && !listed ? -1 : 1;
  }
  return std::nullopt;
}

/// Forwards, unless the schedule or time says otherwise, or the value is made at the far end.
std::int64_t Router::direction_of(const Flow& flow, const schedule::Movement* move, std::size_t dim) const {
  if (const auto given = given_direction(move, dim)) return *given;
  const bool listed =
      move != nullptr && std::ranges::find(move->along, graph_.dims[dim]) != move->along.end();
  return !listed && is_held(flow) && made_beyond(flow, dim) ? -1 : 1;
}

/// True where values come from their makers rather than from outside.
bool Router::is_held(const Flow& flow) const {
  const auto holds = [&](const Holder& holder) { return graph_.at(holder.flow).tensor == flow.tensor; };
  return graph_.at(flow.tensor).role != Role::input || std::ranges::any_of(holders_, holds);
}

/// True where the element that the first point of a line needs is made behind the line's last point.
bool Router::made_beyond(const Flow& flow, std::size_t dim) const {
  const auto rank = graph_.dims.size();
  const auto& points = graph_.at(flow.space).domain;
  const auto starts = points.subtract(points.translate(unit(rank, dim, 1)));
  for (const auto& holder : holders_) {
    if (holder.constant || graph_.at(holder.flow).tensor != flow.tensor) continue;
    const auto pair = poly::Map::function(starts, flow.element)
                          .then(poly::Map::function(holder.domain, graph_.at(holder.flow).element).reverse())
                          .sample();
    if (pair) return pair->second[dim] > pair->first[dim];
  }
  return false;
}

/// ChooseStream: the directions along which all points share one element. Every use along a time axis is a
/// kept value.
std::vector<Router::Axis> Router::axes_of(const Flow& flow, const schedule::Movement* move) const {
  const auto& space = graph_.at(flow.space);
  const auto ignored = [&](std::size_t dim) {
    const auto depends = [dim](const poly::Affine& form) { return form.coefficients[dim] != 0; };
    if (std::ranges::find(space.own, dim) == space.own.end()) return false;
    if (std::ranges::any_of(flow.element, depends)) return false;
    // Moving along dim must move no fixed coordinate.
    for (std::size_t d = 0; d < space.tuple.size(); ++d) {
      if (d != dim && depends(space.tuple[d])) return false;
    }
    return true;
  };
  std::vector<Axis> axes;
  for (const auto dim : order_of_dims(move)) {
    if (!ignored(dim)) continue;
    const bool space_axis = is_space(dim);
    if (space_axis && move != nullptr && move->kind == MovementKind::prefetch) continue;
    const auto is_listed = [&](const std::string& text) { return axis_name(text) == graph_.dims[dim]; };
    const bool listed =
        move != nullptr && (move->along.empty() || std::ranges::any_of(move->along, is_listed));
    const bool both_ways = space_axis && is_held(flow) && !given_direction(move, dim);
    axes.push_back({dim, space_axis && listed && move->kind == MovementKind::broadcast,
                    direction_of(flow, move, dim), both_ways});
  }
  return axes;
}

/// True where an operand before it goes from user to user the other way: two users would wait for each other.
bool Router::meets_another(FlowId id, const Axis& axis) const {
  for (const auto& other : std::span(graph_.flows).first(id.index())) {
    if (other.space != graph_.at(id).space || other.computed) continue;
    const auto axes = axes_of(other, move_of(other));
    if (std::ranges::any_of(axes, [&](const Axis& way) {
          return way.dim == axis.dim && !way.broadcast && way.direction != axis.direction;
        }))
      return true;
  }
  return false;
}

/// An axis of the operand's own index that the schedule asks it to travel (E13's relay), if any.
std::optional<std::size_t> Router::relay_axis(const Flow& flow, const schedule::Movement* move) const {
  if (move == nullptr || move->kind == MovementKind::prefetch) return std::nullopt;
  const auto& space = graph_.at(flow.space);
  for (const auto& text : move->along) {
    const auto dim =
        static_cast<std::size_t>(std::ranges::find(graph_.dims, axis_name(text)) - graph_.dims.begin());
    if (!is_space(dim) || std::ranges::find(space.own, dim) == space.own.end()) continue;
    const bool own_index =
        std::ranges::any_of(flow.element, [dim](const poly::Affine& f) { return f.coefficients[dim] != 0; });
    if (own_index) return dim;
  }
  return std::nullopt;
}

/// A step along `dim` in that direction and along one time dim that together leave the element the same: x[i + k] is the
/// same one PE on and one step back. The lines of Kung's systolic convolutions (1982).
std::optional<std::vector<std::int64_t>> Router::oblique_step(const Flow& flow, std::size_t dim,
                                                              std::int64_t direction) const {
  const auto rank = graph_.dims.size();
  const auto& space = graph_.at(flow.space);
  for (std::size_t time = 0; time < rank; ++time) {
    if (is_space(time) || std::ranges::find(space.own, time) == space.own.end()) continue;
    const auto by_time = std::ranges::find_if(
        flow.element, [time](const poly::Affine& form) { return form.coefficients[time] != 0; });
    if (by_time == flow.element.end()) continue;
    const std::int64_t along = by_time->coefficients[dim], each = by_time->coefficients[time];
    if (along == 0 || along % each != 0) continue;
    auto step = unit(rank, dim, direction);
    step[time] = -direction * along / each;
    const auto moves = [&](const poly::Affine& form) {
      return form.coefficients[dim] * step[dim] + form.coefficients[time] * step[time] != 0;
    };
    if (std::ranges::any_of(flow.element, moves)) continue;
    // The step must move no fixed coordinate either.
    bool fixed = false;
    for (std::size_t d = 0; d < rank; ++d) fixed = fixed || (d != dim && d != time && moves(space.tuple[d]));
    if (!fixed) return step;
  }
  return std::nullopt;
}

/// True for an input that travels and varies with an index cut into panels.
bool Router::comes_in_panels(const Flow& flow, const std::vector<Axis>& axes) const {
  const auto travels = [&](const Axis& axis) { return is_space(axis.dim); };
  if (graph_.at(flow.tensor).role != Role::input || std::ranges::none_of(axes, travels)) return false;
  const auto& domain = graph_.at(flow.space).domain;
  return std::ranges::any_of(schedule_.panel_counts, [&](const schedule::PanelCount& panels) {
    const auto dim =
        static_cast<std::size_t>(std::ranges::find(graph_.dims, panels.index) - graph_.dims.begin());
    return !domain.is_empty() && std::ranges::any_of(flow.element, [&](const poly::Affine& form) {
      return form.coefficients[dim] != 0;
    });
  });
}

std::vector<Rule> Router::route(FlowId id) {
  const auto flow = graph_.at(id);
  const auto* move = move_of(flow);
  const auto relayed = relay_axis(flow, move);
  graph_.flows[id.index()].prefetched = move != nullptr && move->kind == MovementKind::prefetch;

  std::vector<Rule> rules;
  const auto demand = demands_.find(id);
  poly::Set starts = demand == demands_.end() ? graph_.at(flow.space).domain : demand->second;
  const auto axes = axes_of(flow, move);
  routed_ = {id};
  auto root = id;
  if (comes_in_panels(flow, axes)) {
    const auto rank = graph_.dims.size();
    const std::vector<std::int64_t> none(rank, 0);
    root = add_relay(flow, none, starts, SpaceKind::panel);
    routed_.push_back(root);
    rules.push_back({Transfer{root, shifted(rank, none), false}, id, starts, Origin::relay, flow.span});
  }
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) root = follow(root, *axis, starts, rules);
  std::ranges::reverse(rules);
  std::vector<Rule> first;
  if (is_held(flow)) {
    hand_over(root, starts, first);
  } else if (const auto step = relayed && move->kind == MovementKind::stream && !starts.equality_for(*relayed)
                                   ? oblique_step(flow, *relayed, given_direction(move, *relayed).value_or(1))
                                   : std::nullopt) {
    std::vector<Rule> passing;
    propagate(root, *step, starts, starts, passing);
    inject(root, starts, first);
    first.insert(first.end(), passing.begin(), passing.end());
  } else if (relayed) {
    relay(root, *relayed, move->kind == MovementKind::broadcast, starts, first);
  } else {
    inject(root, starts, first);
  }
  first.insert(first.end(), rules.begin(), rules.end());
  return first;
}

/// The starts that have a predecessor one step back, among `users`, take the value from it; the others remain.
void Router::propagate(FlowId id, const std::vector<std::int64_t>& step, const poly::Set& users,
                       poly::Set& starts, std::vector<Rule>& rules) const {
  const auto domain = starts.intersect(users.translate(step)).coalesce();
  if (domain.is_empty()) return;
  starts = starts.subtract(domain).coalesce();
  auto back = step;
  for (auto& component : back) component = -component;
  rules.push_back({Transfer{id, shifted(graph_.dims.size(), back), false}, id, domain, Origin::propagate,
                   graph_.at(id).span});
}

/// Propagate: the points that have a predecessor along the axis take the value from it; the others remain
/// as starts, of the flow that is returned.
FlowId Router::follow(FlowId id, const Axis& axis, poly::Set& starts, std::vector<Rule>& rules) {
  const auto rank = graph_.dims.size();
  if (axis.both_ways) {
    if (const auto makers = roots_between(graph_.at(id), axis, starts, meets_another(id, axis)))
      return fan_out(id, axis, *makers, starts, rules);
  }
  const auto& flow = graph_.at(id);
  if (const auto rotation = is_space(axis.dim) ? operand_rotation(flow, axis.dim) : std::nullopt) {
    follow_rotation(id, axis, *rotation, starts, rules);
    return id;
  }
  if (!axis.broadcast) {
    propagate(id, unit(rank, axis.dim, axis.direction), starts, starts, rules);
    return id;
  }
  // { p -> q : same line along the axis, q its first point }
  std::vector<poly::Affine> rest;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != axis.dim) rest.push_back(poly::variable(rank, d));
  }
  const auto line = poly::Map::function(starts, rest);
  const auto shared = line.then(line.reverse());
  const auto first = axis.direction > 0 ? shared.lexmin() : shared.lexmax();
  const auto itself = poly::Map::function(starts, shifted(rank, std::vector<std::int64_t>(rank, 0)));
  const auto pieces = first.subtract(itself).pieces();
  if (!pieces) {
    throw LegalityError({.code = "CYC224",
                         .span = flow.span,
                         .message = fmt::format(
                             "no affine rule tells where on a line along `{}` the broadcast of `{}` starts",
                             graph_.dims[axis.dim], graph_.at(flow.tensor).user_name()),
                         .notes = {},
                         .help = "stream it instead of broadcasting it"});
  }
  for (const auto& piece : *pieces) {
    auto source = shifted(rank, std::vector<std::int64_t>(rank, 0));
    source[axis.dim] = piece.forms[axis.dim];
    rules.push_back({Transfer{id, source, true}, id, piece.domain.coalesce(), Origin::propagate, flow.span});
  }
  starts = first.intersect(itself).domain().coalesce();
  return id;
}

void Router::inject(FlowId id, const poly::Set& starts, std::vector<Rule>& rules) const {
  if (!starts.is_empty()) rules.push_back({Inject{}, id, starts, Origin::inject, graph_.at(id).span});
}

/// E13: the operand travels its own axis; each PE keeps its part and passes the rest on, or gets it
/// straight from the feeder. A passing value has the time of the point that will use it.
void Router::relay(FlowId id, std::size_t axis, bool broadcast, const poly::Set& starts,
                   std::vector<Rule>& rules) {
  if (starts.is_empty()) return;
  const auto rank = graph_.dims.size();
  const Flow flow = graph_.at(id);
  const auto own_place = starts.equality_for(axis);
  if (!own_place) {
    throw ScheduleError(
        {.code = "CYC313",
         .span = flow.span,
         .message = fmt::format(
             "`{}` cannot travel along `{}`: several of its elements would pass one PE in the same step",
             graph_.at(flow.tensor).user_name(), graph_.dims[axis]),
         .notes = {},
         .help = fmt::format(
             "use prefetch(\"{0}\"), or stream(\"{0}\") without an axis so that each PE's own port feeds it",
             graph_.at(flow.tensor).user_name())});
  }
  const auto low = starts.minimum(axis).value();
  auto user = shifted(rank, std::vector<std::int64_t>(rank, 0));  // the using point, from a passing point
  user[axis] = *own_place;
  const auto position = poly::variable(rank, axis);
  auto passing = starts.preimage(user, rank).intersect({position - poly::constant(rank, low), false});
  passing = passing.intersect(
      {broadcast ? poly::constant(rank, low) - position : *own_place - position, broadcast});

  Space space{unused_name(graph_, "relay"), passing.coalesce(), {}, {}, SpaceKind::relay};
  const auto hull = broadcast ? poly::constant(rank, low) : position;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto fixed =
        d == axis ? (broadcast ? std::optional(hull) : std::nullopt) : space.domain.equality_for(d);
    const bool involves_axis = fixed && !broadcast && fixed->coefficients[axis] != 0;
    if (fixed && !involves_axis && d != axis &&
        std::ranges::find(graph_.at(flow.space).own, d) == graph_.at(flow.space).own.end() &&
        own_place->coefficients[d] == 0) {
      space.tuple.push_back(*fixed);
    } else if (d == axis && broadcast) {
      space.tuple.push_back(hull);
    } else {
      space.tuple.push_back(poly::variable(rank, d));
      space.own.push_back(d);
    }
  }
  graph_.spaces.push_back(space);
  Flow passed = flow;
  passed.space = SpaceId(graph_.spaces.size() - 1);
  for (auto& form : passed.element) form = poly::substitute(form, user, rank);
  graph_.flows.push_back(passed);
  const FlowId relay_id(graph_.flows.size() - 1);

  const auto feeder = space.domain.intersect({position - poly::constant(rank, low), true});
  rules.push_back({Inject{}, relay_id, feeder, Origin::relay, flow.span});
  const auto others = space.domain.subtract(feeder).coalesce();
  if (!others.is_empty()) {
    rules.push_back({Transfer{relay_id, shifted(rank, unit(rank, axis, -1)), false}, relay_id, others,
                     Origin::relay, flow.span});
  }
  auto source = shifted(rank, std::vector<std::int64_t>(rank, 0));
  if (!broadcast) {
    rules.push_back({Transfer{relay_id, source, false}, id, starts, Origin::relay, flow.span});
    return;
  }
  const auto at_feeder = starts.intersect({position - poly::constant(rank, low), true});
  rules.push_back({Transfer{relay_id, source, false}, id, at_feeder, Origin::relay, flow.span});
  source[axis] = poly::constant(rank, low);
  const auto away = starts.subtract(at_feeder).coalesce();
  if (!away.is_empty())
    rules.push_back({Transfer{relay_id, source, true}, id, away, Origin::relay, flow.span});
}

}  // namespace cyclotron::dataflow::detail
