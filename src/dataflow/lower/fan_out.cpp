// Values made in the middle of a line of points that use them: they go both ways from there.
#include <utility>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

/// Makers at the same place are one, whatever made it look different.
void Router::add_root(Root root, std::vector<Root>& roots) {
  for (auto& known : roots) {
    const auto same = root.place - known.place;
    const bool fits = root.users.satisfies({same, true});
    if (!fits && !known.users.satisfies({same, true})) continue;
    known = {known.users.unite(root.users).coalesce(), fits ? known.place : root.place};
    return;
  }
  roots.push_back(std::move(root));
}

/// None where values need no PEs beside their users to pass them on; `apart`: also not these.
std::optional<std::vector<Router::Root>> Router::roots_between(const Flow& flow, const Axis& axis,
                                                               const poly::Set& starts, bool apart) const {
  const std::size_t dim = axis.dim;
  const auto rank = graph_.dims.size();
  std::vector<poly::Affine> others;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d != dim) others.push_back(poly::variable(rank, d));
  }
  std::vector<Root> result;
  for (const auto& holder : holders_) {
    if (holder.constant || graph_.at(holder.flow).tensor != flow.tensor || starts.is_empty()) continue;
    const auto wanted = poly::Map::function(starts, flow.element);
    const auto held = poly::Map::function(holder.domain, graph_.at(holder.flow).element);
    const auto pieces = wanted.then(held.reverse()).pieces();
    if (!pieces) return std::nullopt;
    for (const auto& piece : *pieces) {
      auto place = as_shifts(piece.domain, piece.forms).at(dim);
      if (place.coefficients[dim] != 0) return std::nullopt;  // a maker for each user
      add_root({piece.domain, std::move(place)}, result);
    }
  }
  if (apart) return result;
  // One neighbour after the other serves where each line begins next to the maker.
  std::vector<poly::Set> lines;
  for (const std::int64_t direction : {-1, 1}) {
    auto users = poly::Set::empty(graph_.context, rank);
    bool far = false;
    for (const auto& maker : result) {
      const auto distance = direction * (poly::variable(rank, dim) - maker.place) - poly::constant(rank, 1);
      const auto side = maker.users.intersect({distance, false});
      const auto first = side.subtract(side.translate(unit(rank, dim, direction)));
      far = far || !first.intersect({distance - poly::constant(rank, 1), false}).is_empty();
      users = users.unite(side);
    }
    if (far) return result;
    lines.push_back(users.image(others));
  }
  if (!lines[0].intersect(lines[1]).is_empty()) return result;
  if (lines[0].is_empty() || lines[1].is_empty()) return std::nullopt;
  // Lines with makers at different ends: one direction serves where its lines begin next to theirs all the same.
  for (const auto& maker : result) {
    const auto first = maker.users.subtract(maker.users.translate(unit(rank, dim, axis.direction)));
    const auto ahead = axis.direction * (maker.place - poly::variable(rank, dim));
    if (!first.intersect({ahead - poly::constant(rank, 2), false}).is_empty()) return result;
  }
  return std::nullopt;
}

FlowId Router::fan_out(FlowId id, const Axis& axis, const std::vector<Root>& makers, poly::Set& starts,
                       std::vector<Rule>& rules) {
  const auto rank = graph_.dims.size();
  const Flow flow = graph_.at(id);
  const std::vector<std::int64_t> none(rank, 0);
  constants(id, starts, rules);
  auto roots = poly::Set::empty(graph_.context, rank);
  for (const auto& maker : makers) {
    auto root = shifted(rank, none);
    root[axis.dim] = maker.place;
    roots = roots.unite(maker.users.image(root));
  }
  roots = roots.coalesce();
  const auto root = add_relay(flow, none, roots);
  routed_.push_back(root);
  const auto add = [&](FlowId source, std::vector<poly::Affine> from, bool broadcast, FlowId to,
                       const poly::Set& domain) {
    if (domain.is_empty()) return;
    rules.push_back(
        {Transfer{source, std::move(from), broadcast}, to, domain.coalesce(), Origin::relay, flow.span});
  };
  add(root, shifted(rank, none), false, id, starts.intersect(roots));
  if (axis.broadcast) {
    for (const auto& maker : makers) {
      auto from = shifted(rank, none);
      from[axis.dim] = maker.place;
      add(root, std::move(from), true, id, maker.users.subtract(roots));
    }
    starts = std::move(roots);
    return root;
  }
  for (const std::int64_t direction : {-1, 1}) {
    for (const auto& maker : makers) {
      const auto distance = direction * (poly::variable(rank, axis.dim) - maker.place);
      const auto side = maker.users.intersect({distance - poly::constant(rank, 1), false}).coalesce();
      if (side.is_empty()) continue;
      // Every PE between passes it on, whether it uses it or not.
      const auto back = unit(rank, axis.dim, -direction);
      const auto way = between(side, axis.dim, direction, maker.place);
      const auto passing = add_relay(flow, none, way);
      routed_.push_back(passing);
      add(passing, shifted(rank, none), false, id, side);
      const auto first = way.intersect({distance - poly::constant(rank, 1), true});
      add(passing, shifted(rank, back), false, passing, way.subtract(first));
      add(root, shifted(rank, back), false, passing, first);
    }
  }
  starts = std::move(roots);
  return root;
}

/// The points on the way from `place`, exclusive, to points of `users`, inclusive.
poly::Set Router::between(const poly::Set& users, std::size_t dim, std::int64_t direction,
                          const poly::Affine& place) {
  const auto rank = users.dimensions();
  // (p, x): x of the way to user p.
  std::vector<poly::Affine> user, passing;
  for (std::size_t d = 0; d < rank; ++d) {
    user.push_back(poly::variable(rank + 1, d));
    passing.push_back(poly::variable(rank + 1, d == dim ? rank : d));
  }
  auto pairs = users.preimage(user, rank + 1);
  const auto reached = direction * (user[dim] - passing[dim]);
  const auto gone = direction * (passing[dim] - poly::substitute(place, passing, rank + 1));
  pairs = pairs.intersect({reached, false}).intersect({gone - poly::constant(rank + 1, 1), false});
  return pairs.image(passing).coalesce();
}

}  // namespace cyclotron::dataflow::detail
