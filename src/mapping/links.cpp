#include <cyclotron/mapping/links.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/machine/link_map.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {
namespace {

/// The pairs of one map whose sender is in the grid.
poly::Map pairs_of(const poly::Context& context, const machine::LinkFunction& map,
                   const std::vector<std::int64_t>& extents) {
  std::vector<std::string> sender, all, constraints;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    sender.push_back(fmt::format("s{}", d));
    constraints.push_back(fmt::format("0 <= s{} < {}", d, extents[d]));
  }
  all = sender;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    all.push_back(fmt::format("r{}", d));
    constraints.push_back(fmt::format("r{} = {}", d, map.isl_text(map.receiver[d], sender)));
  }
  for (const auto& [left, right, relation] : map.where) {
    constraints.push_back(fmt::format("{} {} {}", map.isl_text(left, sender),
                                      relation == "==" ? "=" : relation, map.isl_text(right, sender)));
  }
  const auto pairs = poly::Set::parse(context, all, fmt::format("{}", fmt::join(constraints, " and ")));
  CYC_CHECK(pairs.has_value(), "isl reads what a link map says");
  return poly::Map::from_pairs(*pairs, extents.size());
}

poly::Set point(const poly::Context& context, const std::vector<std::int64_t>& at) {
  std::vector<poly::Constraint> all;
  for (std::size_t d = 0; d < at.size(); ++d)
    all.push_back({poly::variable(at.size(), d) - poly::constant(at.size(), at[d]), true});
  return poly::Set::where(context, at.size(), all);
}

poly::Set box(const poly::Context& context, const std::vector<std::int64_t>& extents) {
  std::vector<poly::Constraint> all;
  for (std::size_t d = 0; d < extents.size(); ++d) {
    const auto x = poly::variable(extents.size(), d);
    all.push_back({x, false});
    all.push_back({poly::constant(extents.size(), extents[d] - 1) - x, false});
  }
  return poly::Set::where(context, extents.size(), all);
}

std::string pe_text(const std::vector<std::int64_t>& at) {
  return fmt::format("PE ({})", fmt::join(at, ", "));
}

void check(const machine::LinkMap& map, const poly::Map& pairs, const poly::Set& grid, bool any_size) {
  if (const auto out = pairs.subtract(pairs.restrict_range(grid)).sample(); out && !any_size) {
    throw ShapeError(
        {.code = "CYC404",
         .span = {},
         .message = fmt::format("link map `{}` leads from {} to {}, outside of the grid", map.map,
                                pe_text(out->first), pe_text(out->second)),
         .notes = {},
         .help = "wrap it around, as in \"(j + 1) % 8\", or leave those PEs out, as in \"if j < 7\""});
  }
  const auto inside = pairs.restrict_range(grid);
  if (inside.is_injective()) return;
  // Another sender than the first of each receiver.
  const auto senders = inside.reverse();
  const auto [receiver, second] = senders.subtract(senders.lexmin()).sample().value();
  const auto first =
      senders.lexmin().restrict_domain(point(grid.context(), receiver)).sample().value().second;
  throw ShapeError({.code = "CYC405",
                    .span = {},
                    .message = fmt::format("link map `{}` leads from {} and from {} to {}, over one link",
                                           map.map, pe_text(first), pe_text(second), pe_text(receiver)),
                    .notes = {},
                    .help = "give each sender a link map of its own, told apart by \"if\""});
}

}  // namespace

poly::Map links_between(const poly::Context& context, const machine::Machine& machine,
                        const std::vector<std::int64_t>& extents) {
  const auto& size = machine.grid.empty() ? extents : machine.grid;
  const auto grid = box(context, size);
  auto all = poly::Map::from_pairs(poly::Set::empty(context, 2 * size.size()), size.size());
  for (const auto& map : machine.link_maps) {
    const auto pairs = pairs_of(context, machine::parse_link_map(map.map), size);
    check(map, pairs, grid, machine.grid.empty());
    all = all.unite(pairs.restrict_range(grid));
  }
  return all;
}

void verify_link_maps(const machine::Machine& machine) {
  if (!machine.link_maps.empty() && !machine.grid.empty())
    (void)links_between(poly::Context(), machine, machine.grid);
}

}  // namespace cyclotron::mapping
