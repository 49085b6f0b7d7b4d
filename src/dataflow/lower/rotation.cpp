// Reduction indices that start elsewhere in each PE and wrap round: Cannon's algorithm on a torus (E21).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include <cyclotron/support/error.hpp>

#include "lowering.hpp"

namespace cyclotron::dataflow::detail {

poly::Affine Rotation::form(std::size_t rank) const {
  auto result = poly::variable(rank, dim);
  result.constant = -low;
  for (const auto d : by) {
    result = result - poly::variable(rank, d);
    result.constant += low;
  }
  return result;
}

std::optional<Rotation> rotation_of(const schedule::Schedule& schedule, const std::vector<std::string>& dims,
                                    std::size_t dim, const poly::Set& domain) {
  const auto place = std::ranges::find(schedule.rotations, dims[dim], &schedule::Rotation::index);
  if (place == schedule.rotations.end() || domain.is_empty()) return std::nullopt;
  Rotation result{dim, {}, domain.minimum(dim).value(), 0};
  result.extent = domain.maximum(dim).value() - result.low + 1;
  for (const auto& name : place->by)
    result.by.push_back(static_cast<std::size_t>(std::ranges::find(dims, name) - dims.begin()));
  auto all = result.by;
  all.push_back(dim);
  const bool same = std::ranges::all_of(all, [&](std::size_t d) {
    return domain.minimum(d) == result.low && domain.maximum(d) == result.low + result.extent - 1;
  });
  std::vector<poly::Affine> line;
  for (std::size_t d = 0; d < dims.size(); ++d) line.push_back(poly::variable(dims.size(), d));
  line[dim] = poly::constant(dims.size(), result.low);
  const auto at_low = domain.preimage(line, dims.size());
  line[dim] = poly::constant(dims.size(), result.low + result.extent - 1);
  const bool full = domain.is_subset(at_low) && domain.is_subset(domain.preimage(line, dims.size()));
  if (same && full) return result;
  throw ScheduleError(
      {.code = "CYC317",
       .span = {},
       .message = fmt::format("the schedule rotates `{}` by ({}), and they do not all run over one range",
                              dims[dim], fmt::join(place->by, ", ")),
       .notes = {},
       .help = "rotate only where the reduction and the grid have the same extents, for example square tiles "
               "of square matrices on a square grid"});
}

poly::Set rotation_starts(const Rotation& rotation, const poly::Set& domain) {
  const auto rank = domain.dimensions();
  auto result = poly::Set::empty(domain.context(), rank);
  // One start for each time the sum of the coordinates has gone round.
  for (std::int64_t turns = 0; turns <= static_cast<std::int64_t>(rotation.by.size()); ++turns) {
    const auto form = rotation.form(rank) + poly::constant(rank, turns * rotation.extent);
    result = result.unite(domain.intersect({form, true}));
  }
  return result.coalesce();
}

/// Movement of an operand that varies with a rotated index along one of the axes that it turns by.
std::optional<Rotation> Router::operand_rotation(const Flow& flow, std::size_t axis) const {
  for (std::size_t dim = 0; dim < graph_.dims.size(); ++dim) {
    const auto& space = graph_.at(flow.space);
    const bool varies = std::ranges::any_of(
        flow.element, [dim](const poly::Affine& form) { return form.coefficients[dim] != 0; });
    if (!varies || std::ranges::find(space.own, dim) == space.own.end()) continue;
    auto found = rotation_of(schedule_, graph_.dims, dim, space.domain);
    if (found && std::ranges::find(found->by, axis) != found->by.end()) return found;
  }
  return std::nullopt;
}

/// From the next PE of the ring, a step earlier; each PE starts with an element of its own.
void Router::follow_rotation(FlowId id, const Axis& axis, const Rotation& rotation, poly::Set& starts,
                             std::vector<Rule>& rules) const {
  const auto rank = graph_.dims.size();
  const auto first = rotation_starts(rotation, starts);
  const auto others = starts.subtract(first).coalesce();
  auto from = shifted(rank, unit(rank, axis.dim, 1));
  const auto end = poly::constant(rank, rotation.low + rotation.extent - 1);
  const auto wrapped = others.intersect({poly::variable(rank, axis.dim) - end, true});
  const auto plain = others.subtract(wrapped).coalesce();
  const auto add = [&](const poly::Set& domain) {
    if (!domain.is_empty())
      rules.push_back(
          {Transfer{id, from, false}, id, domain.coalesce(), Origin::propagate, graph_.at(id).span});
  };
  add(plain);
  from[axis.dim].constant -= rotation.extent;
  add(wrapped);
  starts = first;
}

}  // namespace cyclotron::dataflow::detail
