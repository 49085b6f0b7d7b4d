#include "mapping_search.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <utility>

#include <cyclotron/codegen/hold_global_data.hpp>
#include <cyclotron/dataflow/distribute.hpp>
#include <cyclotron/dataflow/route.hpp>
#include <cyclotron/dataflow/share_arrivals.hpp>
#include <cyclotron/mapping/local_order.hpp>
#include <cyclotron/mapping/map_to_grid.hpp>
#include <cyclotron/mapping/share_channels.hpp>
#include <cyclotron/memory/channels.hpp>
#include <cyclotron/program/roles.hpp>

namespace cyclotron::driver {

namespace {

/// Of all links of a machine.
dataflow::Links links_of(const machine::Machine& machine) {
  dataflow::Links result;
  result.hops = [&machine](const std::vector<std::int64_t>& offset) {
    if (!machine::wraps_around(machine)) return machine::hops(machine, {}, offset);
    std::int64_t straight = 0;
    for (const auto steps : offset) straight += std::abs(steps);
    const bool around = machine::hops(machine, machine.grid, offset) < straight;
    return around ? dataflow::most_hops + 1 : straight;  // what comes round goes its own way
  };
  result.latency_cycles = machine.link.latency_cycles;
  result.depth = machine.link.depth;
  const auto add = [&](const machine::Link& link) {
    result.latency_cycles = std::max(result.latency_cycles, link.latency_cycles);
    result.depth = std::min(result.depth, link.depth);
  };
  for (const auto& [hop, link] : machine.links) add(link);
  if (machine.chiplets) add(machine.chiplets->link);
  return result;
}

dataflow::Neighbours neighbours_of(const machine::Machine& machine, std::size_t dimensions) {
  dataflow::Neighbours result;
  // Where links lead round, offsets on a grid of any size tell too little.
  result.joined = [&machine](const std::vector<std::int64_t>& offset) {
    std::int64_t straight = 0;
    for (const auto steps : offset) straight += std::abs(steps);
    const bool of_any_size = machine.grid.empty() && machine::wraps_around(machine);
    return straight <= 1 || (!of_any_size && machine::hops(machine, machine.grid, offset) <= 1);
  };
  for (std::size_t g = 0; g < dimensions; ++g) {
    result.rings.emplace_back(0);
    if (machine::wraps_around(machine, g))
      result.rings[g] = machine.grid.empty() ? std::nullopt : std::optional(machine.grid.at(g));
  }
  return result;
}

/// Verifies, where it is to, only what maps.
Expected<Mapped, Refusal> map(dataflow::Placed placed, const machine::Machine& machine, bool verify) {
  return attempt([&] {
    auto mapping = mapping::map_to_grid(placed.graph, {placed.space, placed.time, {}}, machine);
    if (verify) dataflow::verify(placed.graph);
    return Mapped{std::move(placed), std::move(mapping), verify};
  });
}

/// True of a rule that chooses by a number with a coordinate: it looks for an element of a table.
bool searches_along(const dataflow::Rule& rule, std::size_t dim) {
  const auto* compute = std::get_if<dataflow::Compute>(&rule.action);
  return compute != nullptr && rule.origin == dataflow::Origin::lower_sum &&
         std::ranges::any_of(compute->terms, [&](const dataflow::Term& term) {
           const auto* equal = std::get_if<dataflow::Apply>(&term);
           if (equal == nullptr || equal->op != recurrence::Op::equal) return false;
           const auto* number = std::get_if<dataflow::Index>(&compute->terms[equal->operands[1]]);
           return number != nullptr && number->form.coefficients[dim] != 0;
         });
}

/// The level of the first of the innermost loops, those within a folded PE left out, that go through tables.
std::size_t level_of_tables(const dataflow::Placed& placed) {
  auto level = placed.time.size() - placed.within;
  const auto searches = [&](const std::string& name) {
    const auto dim = std::ranges::find(placed.graph.dims, name) - placed.graph.dims.begin();
    return std::ranges::any_of(placed.graph.rules, [&](const dataflow::Rule& rule) {
      return searches_along(rule, static_cast<std::size_t>(dim));
    });
  };
  while (level > 0 && searches(placed.time[level - 1])) --level;
  return level;
}

/// The distributions of a step's loops, in turn.
class DistributionSearch {
 public:
  DistributionSearch(const dataflow::Placed& placed, const machine::Machine& machine, dataflow::Relays relays,
                     bool operands)
      : placed_(placed), machine_(machine), relays_(relays), operands_(operands) {}

  /// The first that maps.
  std::optional<Mapped> run() {
    // Tables come before PEs look for their elements.
    if (const auto level = level_of_tables(placed_); level + placed_.within < placed_.time.size()) {
      if (auto mapped = map_parts(placed_, level, dataflow::finest_parts(placed_, level))) return mapped;
    }
    // Values that pass other PEs have steps within those of all loops.
    const std::size_t innermost = dataflow::is_routed(relays_) ? 1 : 0;
    for (auto level = placed_.time.size() + innermost; level-- > 0;) {
      using enum dataflow::DistributionPolicy;
      const auto early = dataflow::parts(placed_, level, when_made);
      if (auto mapped = map_parts(placed_, level, early)) return mapped;
      if (const auto late = dataflow::parts(placed_, level, when_needed); late != early) {
        if (auto mapped = map_parts(placed_, level, late)) return mapped;
      }
      if (auto mapped = map_parts(placed_, level, dataflow::input_stages(placed_.graph))) return mapped;
    }
    // Of what is left to the compiler, the points of a folded PE in one step: in as many parts as can be.
    if (auto mapped = map_finest(placed_)) return mapped;
    for (auto level = placed_.within == 0 ? 0 : placed_.time.size() - placed_.within; level-- > 0;) {
      const auto parts = dataflow::parts(placed_, level, dataflow::DistributionPolicy::when_needed);
      if (is_whole(parts)) continue;
      if (auto mapped = map_finest(dataflow::distribute(placed_, level, parts))) return mapped;
    }
    return std::nullopt;
  }

  /// Of one that might map with more operations of integer sets.
  [[nodiscard]] const std::optional<Refusal>& lack_of_effort() const { return lack_of_effort_; }

 private:
  static bool is_whole(const std::vector<std::int64_t>& parts) {
    return std::ranges::all_of(parts, [](std::int64_t part) { return part == 0; });
  }

  /// None where this distribution does not map; further out, or in more parts, another may.
  std::optional<Mapped> map_parts(const dataflow::Placed& points, std::size_t level,
                                  const std::vector<std::int64_t>& parts) {
    if (is_whole(parts) || !mapping::is_locally_ordered(points, level, parts)) return std::nullopt;
    auto shared = attempt([&] {
      return share_links(dataflow::distribute(points, level, parts), machine_, relays_, operands_);
    });
    auto mapped =
        shared ? map(std::move(shared->placed), machine_, true) : Expected<Mapped, Refusal>(shared.error());
    if (mapped) return std::move(*mapped);
    if (mapped.error().obstacle() == Obstacle::effort) lack_of_effort_ = mapped.error();
    return std::nullopt;
  }

  std::optional<Mapped> map_finest(const dataflow::Placed& points) {
    for (auto inner = placed_.within; inner-- > 0;) {
      const auto level = points.time.size() - placed_.within + inner;
      if (auto mapped = map_parts(points, level, dataflow::finest_parts(points, level))) return mapped;
    }
    return std::nullopt;
  }

  const dataflow::Placed& placed_;
  const machine::Machine& machine_;
  dataflow::Relays relays_;
  bool operands_;
  std::optional<Refusal> lack_of_effort_;
};

}  // namespace

dataflow::Shared share_links(const dataflow::Placed& placed, const machine::Machine& machine,
                             dataflow::Relays relays, bool operands) {
  const auto dimensions = placed.space.size();
  const bool known_links =
      machine.link_maps.empty() && (!machine.grid.empty() || !machine::wraps_around(machine));
  const bool along_trees = relays != dataflow::Relays::between_neighbours && known_links &&
                           machine::dimensions(machine).value_or(dimensions) == dimensions;
  const auto merged = dataflow::share_arrivals(placed, !along_trees);
  dataflow::Shared result{merged.value_or(placed)};
  if (along_trees) result = dataflow::share_links(result.placed, links_of(machine));
  result.changed = result.changed || merged;
  if (dataflow::is_routed(relays) && machine.link_maps.empty()) {
    const auto pace = relays == dataflow::Relays::routed_together ? dataflow::Pace::together
                      : relays == dataflow::Relays::routed_singly ? dataflow::Pace::singly
                                                                  : dataflow::Pace::in_stages;
    const auto neighbours = neighbours_of(machine, dimensions);
    if (operands) result.placed = dataflow::move_operands(result.placed, neighbours);
    auto routed = dataflow::route(result.placed, neighbours, pace);
    if (routed) result = {std::move(*routed), true};
  }
  return result;
}

Expected<Mapped, Refusal> map_in_parts(const dataflow::Placed& placed,
                                       Expected<dataflow::Shared, Refusal> shared,
                                       const machine::Machine& machine, dataflow::Relays relays,
                                       bool operands) {
  auto whole = shared ? map(std::move(shared->placed), machine, shared->changed)
                      : Expected<Mapped, Refusal>(shared.error());
  if (whole) return whole;
  const auto obstacle = whole.error().obstacle();
  if (obstacle != Obstacle::late_value && obstacle != Obstacle::overtaking) return whole;
  DistributionSearch search(placed, machine, relays, operands);
  auto distributed = attempt([&] { return search.run(); });
  if (!distributed) return distributed.error();
  if (*distributed) {
    (*distributed)->distributed = true;
    return std::move(**distributed);
  }
  if (search.lack_of_effort()) return *search.lack_of_effort();
  return whole;
}

program::Program generate_within_channels(mapping::Mapping& mapping, const machine::Machine& machine,
                                          const std::vector<codegen::ExitFlag>& flags, bool holds_data) {
  const auto generate = [&](const mapping::Mapping& of) {
    auto program = codegen::generate(of, machine, flags);
    return holds_data ? codegen::hold_global_data(program) : program;
  };
  if (!machine.pe.channels) return generate(mapping);
  const auto given = *machine.pe.channels;
  const auto shared = [&](std::int64_t most) {
    return mapping::share_channels(mapping, static_cast<std::size_t>(std::max<std::int64_t>(most, 1)));
  };
  auto most = given;
  auto last = shared(most);
  auto program = generate(last);
  // The controller, the executive and flags have channels, too.
  while (const auto more = std::max<std::int64_t>(memory::most_channels(program) - given, 0)) {
    most -= more;
    auto next = shared(most);
    if (next.channels.size() >= last.channels.size()) break;
    last = std::move(next);
    program = generate(last);
  }
  if (program::executive_of(program) != nullptr && memory::most_channels(program) > given)
    return generate_within_channels(mapping, machine, flags, false);
  mapping = std::move(last);
  return program;
}

}  // namespace cyclotron::driver
