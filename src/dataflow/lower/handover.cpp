// The ways of computed values to their users (rule 7 of section 8, turns of E12).
#include <fmt/format.h>

#include <algorithm>

#include <cyclotron/support/error.hpp>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

/// True unless coordinates or elements that are numbers tell that `source` holds no element of this flow at p + offset.
bool Router::may_hold(FlowId id, FlowId source, const std::vector<std::int64_t>& offset) const {
  const auto& flow = graph_.at(id);
  const auto& held = graph_.at(source);
  const auto& user = graph_.at(flow.space).tuple;
  const auto& maker = graph_.at(held.space).tuple;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    const auto distance = maker[d] - user[d];
    if (poly::is_constant(maker[d]) && poly::is_constant(user[d]) && distance.constant != offset[d])
      return false;
  }
  const auto from = shifted(offset.size(), offset);
  for (std::size_t f = 0; f < flow.element.size(); ++f) {
    const auto other = poly::substitute(held.element[f], from, offset.size()) - flow.element[f];
    if (poly::is_constant(other) && other.constant != 0) return false;
  }
  return true;
}

/// The part of `starts` whose element `source` holds at p + offset takes it from there.
bool Router::hand_over_from(FlowId id, FlowId source, const poly::Set& defined,
                            const std::vector<std::int64_t>& offset, Origin origin, poly::Set& starts,
                            std::vector<Rule>& rules) const {
  if (!may_hold(id, source, offset) || starts.is_empty()) return false;
  const auto rank = graph_.dims.size();
  std::vector<std::int64_t> back;
  for (const auto step : offset) back.push_back(-step);
  const auto from = shifted(rank, offset);
  auto domain = starts.intersect(defined.translate(back));
  const auto& wanted = graph_.at(id).element;
  const auto& held = graph_.at(source).element;
  for (std::size_t f = 0; f < wanted.size(); ++f) {
    domain = domain.intersect({poly::substitute(held[f], from, rank) - wanted[f], true});
  }
  if (domain.is_empty()) return false;
  starts = starts.subtract(domain).coalesce();
  rules.push_back({Transfer{source, from, false}, id, domain.coalesce(), origin, graph_.at(id).span});
  return true;
}

/// As many as coordinates that are numbers tell.
std::int64_t Router::fewest_hops(FlowId id, FlowId source) const {
  const auto& user = graph_.at(graph_.at(id).space).tuple;
  const auto& maker = graph_.at(graph_.at(source).space).tuple;
  std::int64_t result = 0;
  for (std::size_t d = 0; d < user.size(); ++d) {
    if (is_space(d) && poly::is_constant(user[d]) && poly::is_constant(maker[d]))
      result += std::abs(maker[d].constant - user[d].constant);
  }
  return result;
}

/// The starts that take their element from `holder` at one constant distance of `least` to `most` hops and
/// any time: { domain, offset }.
std::vector<std::pair<poly::Set, std::vector<std::int64_t>>> Router::at_distance(
    FlowId id, const Holder& holder, const poly::Set& starts, std::int64_t least, std::int64_t most) const {
  std::vector<std::pair<poly::Set, std::vector<std::int64_t>>> result;
  if (graph_.at(holder.flow).tensor != graph_.at(id).tensor || fewest_hops(id, holder.flow) > most ||
      starts.is_empty())
    return result;
  const auto wanted = poly::Map::function(starts, graph_.at(id).element);
  const auto held = poly::Map::function(holder.domain, graph_.at(holder.flow).element);
  const auto pieces = wanted.then(held.reverse()).pieces();
  if (!pieces) return result;
  for (const auto& piece : *pieces) {
    const auto from = as_shifts(piece.domain, piece.forms);
    std::vector<std::int64_t> offset;
    std::int64_t hops = 0;
    for (std::size_t d = 0; d < from.size(); ++d) {
      const auto step = from[d] - poly::variable(from.size(), d);
      if (!poly::is_constant(step)) break;
      offset.push_back(step.constant);
      if (is_space(d)) hops += std::abs(step.constant);
    }
    if (offset.size() == from.size() && hops >= least && hops <= most)
      result.emplace_back(piece.domain, offset);
  }
  return result;
}

/// From where it is computed, at a constant distance of one hop at most and any time (a stencil's U[t-1,
/// x+1]).
void Router::hand_over_one_hop(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const {
  for (const auto& holder : holders_) {
    for (const auto& [domain, offset] : at_distance(id, holder, starts, 0, 1))
      hand_over_from(id, holder.flow, holder.domain, offset, Origin::inner_send, starts, rules);
  }
}

/// From where it is computed in the next PE along a fold, where that holds the element that far away at every point.
void Router::hand_over_next(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  const auto& wanted = graph_.at(id);
  for (const auto& [dim, distance] : neighbours_) {
    for (const auto& holder : holders_) {
      const auto& held = graph_.at(holder.flow);
      if (held.tensor != wanted.tensor) continue;
      for (const auto step : {-distance, distance}) {
        const auto offset = unit(rank, dim, step);
        const auto from = shifted(rank, offset);
        const bool matches = std::ranges::equal(held.element, wanted.element, {}, [&](const auto& form) {
          return poly::substitute(form, from, rank);
        });
        if (matches)
          hand_over_from(id, holder.flow, holder.domain, offset, Origin::inner_send, starts, rules);
      }
    }
  }
}

/// Negative where the point at that offset is in an earlier step, positive where in a later one.
std::int64_t Router::time_step(const std::vector<std::int64_t>& offset) const {
  for (const auto& form : frame_.time) {
    const auto step = poly::evaluate(form, offset) - form.constant;
    if (step != 0) return step;
  }
  return 0;
}

/// A number that is known needs not travel: it is made where it is used.
void Router::constants(FlowId id, poly::Set& starts, std::vector<Rule>& rules) const {
  for (const auto& holder : holders_) {
    if (!holder.constant || graph_.at(holder.flow).tensor != graph_.at(id).tensor || starts.is_empty())
      continue;
    const auto wanted = poly::Map::function(starts, graph_.at(id).element);
    const auto held = poly::Map::function(holder.domain, graph_.at(holder.flow).element).range();
    const auto domain = wanted.restrict_range(held).domain().coalesce();
    if (domain.is_empty()) continue;
    rules.push_back({Compute{{*holder.constant}}, id, domain, Origin::inject, graph_.at(id).span});
    starts = starts.subtract(domain).coalesce();
  }
}

/// From where it is computed, whatever the distance, or only what the same PE computes.
void Router::hand_straight(FlowId id, bool in_place, poly::Set& starts, std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  for (const auto& holder : holders_) {
    if (graph_.at(holder.flow).tensor != graph_.at(id).tensor || starts.is_empty()) continue;
    const auto wanted = poly::Map::function(starts, graph_.at(id).element);
    const auto held = poly::Map::function(holder.domain, graph_.at(holder.flow).element);
    const auto pieces = wanted.then(held.reverse()).pieces();
    if (!pieces) return;
    for (const auto& piece : *pieces) {
      auto from = as_shifts(piece.domain, piece.forms);
      auto domain = piece.domain;
      for (std::size_t s = 0; in_place && s < frame_.space.size(); ++s)
        domain = domain.intersect({poly::substitute(frame_.space[s], from, rank) - frame_.space[s], true});
      if (domain.is_empty()) continue;
      starts = starts.subtract(domain).coalesce();
      rules.push_back({Transfer{holder.flow, std::move(from), false}, id, std::move(domain),
                       Origin::inner_send, graph_.at(id).span});
    }
  }
}

/// From the user one PE back in an earlier step whose element is the same, as y[i - k] of a filter that feeds back.
void Router::pass_obliquely(FlowId id, const poly::Set& users, poly::Set& starts,
                            std::vector<Rule>& rules) const {
  const auto& flow = graph_.at(id);
  for (const auto dim : graph_.at(flow.space).own) {
    const bool varies = std::ranges::any_of(
        flow.element, [dim](const poly::Affine& form) { return form.coefficients[dim] != 0; });
    if (!is_space(dim) || !varies) continue;
    for (const std::int64_t direction : {-1, 1}) {
      const auto step = oblique_step(flow, dim, direction);
      if (step && time_step(*step) > 0) propagate(id, *step, users, starts, rules);
    }
  }
}

/// InnerSend and turns: the starts of a computed operand's lines take it from the nearest point that holds
/// it: the same point, then a neighbour, in the space that computes it or in one it passes through.
void Router::hand_over(FlowId id, poly::Set starts, std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  const auto tensor = graph_.at(id).tensor;
  const auto users = starts;
  constants(id, starts, rules);
  std::vector<std::vector<std::int64_t>> offsets{std::vector<std::int64_t>(rank, 0)};
  for (const std::int64_t sign : {-1, 1}) {
    for (std::size_t d = 0; d < rank; ++d) {
      auto offset = unit(rank, d, sign);
      // What is later in time is not there yet.
      if (time_step(offset) <= 0) offsets.push_back(std::move(offset));
    }
  }
  for (const auto& offset : offsets) {
    for (const auto& holder : holders_) {
      if (graph_.at(holder.flow).tensor != tensor) continue;
      hand_over_from(id, holder.flow, holder.domain, offset, Origin::inner_send, starts, rules);
    }
  }
  hand_over_one_hop(id, starts, rules);
  hand_over_next(id, starts, rules);
  // A value of an earlier step rather travels in that step than from neighbour to neighbour in this one,
  // where others come the other way.
  hand_over_far(id, true, starts, rules);
  // So is one of the same PE, where an operand of another statement may have to wait for this one.
  hand_straight(id, true, starts, rules);
  for (const auto& offset : offsets) {
    // Routes lead there in the steps before; here, users would wait for each other.
    if (is_routed(relays_) && relays_ != Relays::routed_in_turns && time_step(offset) == 0 &&
        hops(offset) > 0)
      continue;
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) {
      const auto& other = graph_.flows[f];
      if (other.tensor != tensor || other.computed) continue;
      if (std::ranges::find(routed_, FlowId(f)) != routed_.end()) continue;
      if (routed_.size() > 1 && other.space == graph_.at(routed_.front()).space) continue;
      // At one point only from an operand that came before, or two could wait for each other.
      if (&offset == &offsets.front() && f > id.index()) continue;
      const auto demand = demands_.find(FlowId(f));
      const auto& defined = demand == demands_.end() ? graph_.at(other.space).domain : demand->second;
      hand_over_from(id, FlowId(f), defined, offset, Origin::turn, starts, rules);
    }
  }
  hand_over_far(id, false, starts, rules);
  pass_obliquely(id, users, starts, rules);
  // What no neighbour holds comes straight from where it is computed; the mapping decides whether the
  // machine can carry it.
  hand_straight(id, false, starts, rules);
  if (starts.is_empty()) return;
  throw LegalityError(
      {.code = "CYC211",
       .obstacle = Obstacle::access,
       .span = graph_.at(id).span,
       .message = fmt::format("no affine rule brings `{}` to {}", graph_.at(tensor).user_name(),
                              starts.constraints_text(graph_.dims)),
       .notes = {},
       .help = "write the access with affine subscripts of the indices it varies with"});
}

}  // namespace cyclotron::dataflow::detail
