// The ways of computed values to users several hops away: the PEs between pass them on.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include <cyclotron/dataflow/share_links.hpp>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

/// From where it is computed, a constant distance of several hops away, in the step in which it is made
/// (H[i-1, j-1], or a stencil's U[t-1, x-2]). What is not of this step share_links may pass on, to all who use it.
void Router::hand_over_far(FlowId id, bool earlier, poly::Set& starts, std::vector<Rule>& rules) const {
  const bool plain = std::ranges::all_of(frame_.space, [](const poly::Affine& form) {
    return std::ranges::count(form.coefficients, 0) + 1 >= std::ssize(form.coefficients);
  });
  const bool straight = relays_ == Relays::none || is_routed(relays_);
  if (!plain || (straight && !earlier)) return;
  for (const auto& holder : holders_) {
    constexpr auto any = std::numeric_limits<std::int64_t>::max();
    for (const auto& [domain, offset] : at_distance(id, holder, starts, 2, any)) {
      if (earlier && time_step(offset) >= 0) continue;
      if (earlier && (straight || (relays_ == Relays::shared && hops(offset) <= most_hops))) {
        rules.push_back({Transfer{holder.flow, shifted(offset.size(), offset), false}, id, domain,
                         Origin::inner_send, graph_.at(id).span});
      } else if (!relay_for_one(id, holder.flow, domain, offset, rules) &&
                 !relay_for_each(id, holder.flow, domain, offset, rules) &&
                 !relay_for_few(id, holder.flow, domain, offset, rules)) {
        continue;
      }
      starts = starts.subtract(domain).coalesce();
    }
  }
}

/// Finds one relay, where on each line one point alone uses such a value: for each axis that the value travels, however
/// far. Along other axes it goes first, a relay for each hop, where that alone would be too far (a roll along the
/// diagonal, back over the grid). Returns whether that is so.
bool Router::relay_for_one(FlowId id, FlowId source, const poly::Set& domain,
                           const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  const Flow flow = graph_.at(id);
  std::vector<std::size_t> axes, others;
  std::vector<poly::Affine> places;
  std::int64_t other_hops = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (!is_space(d) || offset[d] == 0) continue;
    if (const auto place = domain.equality_for(d)) {
      axes.push_back(d);
      places.push_back(*place);
    } else {
      others.push_back(d);
      other_hops += std::abs(offset[d]);
    }
  }
  if (axes.empty() || other_hops > most_hops || (other_hops > 0 && hops(offset) <= most_hops)) return false;
  auto at = offset;  // Where the value is, from its user.
  for (const auto axis : others) {
    while (at[axis] != 0) {
      const std::int64_t back = at[axis] > 0 ? 1 : -1;
      at[axis] -= back;
      const auto passing = add_relay(flow, at, domain);
      rules.push_back({Transfer{source, shifted(rank, unit(rank, axis, back)), false}, passing,
                       domain.translate(at), Origin::relay, flow.span});
      source = passing;
    }
  }
  for (std::size_t n = 0; n < axes.size(); ++n) {
    const std::size_t axis = axes[n];
    const std::int64_t direction = at[axis] > 0 ? -1 : 1;
    const std::int64_t stop = n + 1 == axes.size() ? -direction : 0;  // The last is next to the user.
    if (at[axis] == stop) break;
    std::vector<poly::Affine> user;  // From a point on the way.
    for (std::size_t d = 0; d < rank; ++d) {
      user.push_back(poly::variable(rank, d));
      user.back().constant -= d == axis ? 0 : at[d];
    }
    user[axis] = poly::substitute(places[n], user, rank);
    const auto position = poly::variable(rank, axis);
    auto maker = user[axis];
    maker.constant += at[axis];
    auto end = user[axis];
    end.constant += stop;
    const auto gone = direction * (position - maker);
    const auto way = domain.preimage(user, rank)
                         .intersect({gone - poly::constant(rank, 1), false})
                         .intersect({direction * (end - position), false})
                         .coalesce();
    const auto passing = add_passing(flow, way, user, at, axis);
    const auto first = way.intersect({gone - poly::constant(rank, 1), true});
    const auto back = shifted(rank, unit(rank, axis, -direction));
    rules.push_back({Transfer{source, back, false}, passing, first, Origin::relay, flow.span});
    const auto further = way.subtract(first).coalesce();
    if (!further.is_empty())
      rules.push_back({Transfer{passing, back, false}, passing, further, Origin::relay, flow.span});
    source = passing;
    at[axis] = stop;
  }
  rules.push_back({Transfer{source, shifted(rank, at), false}, id, domain, Origin::relay, flow.span});
  return true;
}

/// A relay for each hop, since every point passes values of several users. Returns false where it is too far.
bool Router::relay_for_each(FlowId id, FlowId source, const poly::Set& domain,
                            const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  const Flow flow = graph_.at(id);
  if (hops(offset) > most_hops) return false;
  auto place = offset;
  for (auto next = nearer(place); next != place;) {
    std::vector<std::int64_t> step;
    for (std::size_t d = 0; d < rank; ++d) step.push_back(place[d] - next[d]);
    const auto passing = add_relay(flow, next, domain);
    rules.push_back({Transfer{source, shifted(rank, step), false}, passing, domain.translate(next),
                     Origin::relay, flow.span});
    source = passing;
    place = next;
    next = nearer(place);
  }
  rules.push_back({Transfer{source, shifted(rank, place), false}, id, domain, Origin::relay, flow.span});
  return true;
}

/// Relays for a few points next to each other on each line (a roll by several, back over the grid), for each as if it
/// were alone. Returns false where they are many.
bool Router::relay_for_few(FlowId id, FlowId source, const poly::Set& domain,
                           const std::vector<std::int64_t>& offset, std::vector<Rule>& rules) const {
  for (std::size_t d = 0; d < offset.size(); ++d) {
    if (!is_space(d) || offset[d] == 0 || domain.equality_for(d)) continue;
    const auto low = domain.minimum(d), high = domain.maximum(d);
    if (!low || !high || *high - *low >= most_hops) continue;
    for (auto place = *low; place <= *high; ++place) {
      const auto line = poly::variable(offset.size(), d) - poly::constant(offset.size(), place);
      const auto part = domain.intersect({line, true}).coalesce();
      // Which of them can does not depend on the place: the first tells.
      if (!part.is_empty() && !relay_for_one(id, source, part, offset, rules) &&
          !relay_for_few(id, source, part, offset, rules))
        return false;
    }
    return true;
  }
  return false;
}

/// The offset one hop less far, or itself where it is one hop.
std::vector<std::int64_t> Router::nearer(const std::vector<std::int64_t>& offset) const {
  auto result = offset;
  for (std::size_t d = 0; d < offset.size() && hops(offset) > 1; ++d) {
    if (!is_space(d) || offset[d] == 0) continue;
    result[d] -= offset[d] > 0 ? 1 : -1;
    break;
  }
  return result;
}

std::int64_t Router::hops(const std::vector<std::int64_t>& offset) const {
  std::int64_t result = 0;
  for (std::size_t d = 0; d < offset.size(); ++d) result += is_space(d) ? std::abs(offset[d]) : 0;
  return result;
}

/// A flow of the same elements at p + offset, for p in domain.
FlowId Router::add_relay(const Flow& flow, const std::vector<std::int64_t>& offset, const poly::Set& domain,
                         SpaceKind kind) const {
  const auto rank = graph_.dims.size();
  std::vector<std::int64_t> back;
  for (const auto step : offset) back.push_back(-step);
  const auto home = shifted(rank, back);
  const auto& user = graph_.at(flow.space);
  const auto* name = kind == SpaceKind::panel ? "panel" : "relay";
  Space space{unused_name(graph_, name), domain.translate(offset), user.own, {}, kind};
  for (std::size_t d = 0; d < rank; ++d) {
    space.tuple.push_back(poly::substitute(user.tuple[d], home, rank));
    space.tuple.back().constant += offset[d];
  }
  graph_.spaces.push_back(std::move(space));
  Flow passing = flow;
  passing.space = SpaceId(graph_.spaces.size() - 1);
  for (auto& form : passing.element) form = poly::substitute(form, home, rank);
  graph_.flows.push_back(std::move(passing));
  return FlowId(graph_.flows.size() - 1);
}

/// A flow of what `flow` needs at the point that `home` tells from a point of `way`, which lies `offset` from it but
/// anywhere along the axis.
FlowId Router::add_passing(const Flow& flow, const poly::Set& way, const std::vector<poly::Affine>& home,
                           const std::vector<std::int64_t>& offset, std::size_t axis) const {
  const auto rank = graph_.dims.size();
  const auto& user = graph_.at(flow.space);
  Space space{unused_name(graph_, "relay"), way, {}, {}, SpaceKind::relay};
  for (std::size_t d = 0; d < rank; ++d) {
    space.tuple.push_back(d == axis ? poly::variable(rank, d) : poly::substitute(user.tuple[d], home, rank));
    if (d != axis) space.tuple.back().constant += offset[d];
    if (space.tuple.back() == poly::variable(rank, d)) space.own.push_back(d);
  }
  graph_.spaces.push_back(std::move(space));
  Flow passing = flow;
  passing.space = SpaceId(graph_.spaces.size() - 1);
  for (auto& form : passing.element) form = poly::substitute(form, home, rank);
  graph_.flows.push_back(std::move(passing));
  return FlowId(graph_.flows.size() - 1);
}

}  // namespace cyclotron::dataflow::detail
