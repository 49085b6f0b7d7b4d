#include <cyclotron/machine/machine.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/machine/link_map.hpp>
#include <cyclotron/support/error.hpp>

#include "parts.hpp"
#include "range.hpp"

namespace cyclotron::machine {
namespace {

// A product of the largest tiles takes at most 2^45 passes, and so less than 2^62 cycles.
constexpr std::int64_t pass_limit = std::int64_t{1} << 16;
constexpr std::int64_t most_dimensions = 8;
constexpr std::int64_t most_link_maps = 256;
constexpr std::int64_t most_channels = std::int64_t{1} << 20;
constexpr std::int64_t most_ports = 1024;

void require(std::string_view field, const Link& link) {
  require_range(fmt::format("{}.latency_cycles", field), link.latency_cycles, 0);
  require_range(fmt::format("{}.response_latency_cycles", field), link.response_latency_cycles, 0);
  require_range(fmt::format("{}.words_per_cycle", field), link.words_per_cycle, 1);
  require_range(fmt::format("{}.depth", field), link.depth, 1);
}

void require(std::string_view field, const std::optional<Unit>& unit,
             const std::vector<std::string_view>& sizes) {
  if (!unit) return;
  if (const auto given = unit->shape.size(); given != sizes.size())
    throw ShapeError({.code = "CYC402",
                      .span = {},
                      .message = fmt::format("machine `{}` has a shape of {} sizes instead of {}", field,
                                             given, sizes.size()),
                      .notes = {},
                      .help = fmt::format("give a cy.Unit(shape=({}{}), cycles=...)", fmt::join(sizes, ", "),
                                          sizes.size() == 1 ? "," : "")});
  for (std::size_t d = 0; d < unit->shape.size(); ++d)
    require_range(fmt::format("{}.shape[{}]", field, d), unit->shape[d], 1);
  require_range(fmt::format("{}.cycles", field), unit->cycles, 1, pass_limit);
  if (unit->latency_cycles)
    require_range(fmt::format("{}.latency_cycles", field), *unit->latency_cycles, unit->cycles, pass_limit);
}

void require_ports(const std::map<std::string, std::int64_t>& ports) {
  for (const auto& [kind, most] : ports) {
    if (std::ranges::find(port_kinds, kind) == port_kinds.end()) {
      throw ShapeError({.code = "CYC401",
                        .span = {},
                        .message = fmt::format("machine `pe.ports` limits `{}`", kind),
                        .notes = {},
                        .help = fmt::format("it limits: {}", fmt::join(port_kinds, ", "))});
    }
    require_range(fmt::format("pe.ports[{}]", kind), most, 1, most_ports);
  }
}

/// Tells whether PEs at this offset are neighbours.
bool is_hop(const Machine& machine, const std::vector<std::int64_t>& offset) {
  if (!std::ranges::all_of(offset, [](std::int64_t step) { return step >= -1 && step <= 1; })) return false;
  const auto steps = std::ranges::count_if(offset, [](std::int64_t step) { return step != 0; });
  const bool diagonal = machine.topology.front() == Topology::hexagonal && offset.size() == 2 && steps == 2 &&
                        offset[0] == offset[1];
  return steps == 1 || diagonal;
}

void require_links(const Machine& machine) {
  const auto refuse = [](std::string message) {
    throw ShapeError({.code = "CYC401",
                      .span = {},
                      .message = std::move(message),
                      .notes = {},
                      .help = "give the offset of a neighbour, receiver minus sender, for example (0, 1)"});
  };
  for (const auto& [offset, link] : machine.links) {
    const auto field = fmt::format("links[({})]", fmt::join(offset, ", "));
    if (offset.size() != dimensions(machine)) {
      refuse(fmt::format("machine `{}` has rank {}, and the grid rank {}", field, offset.size(),
                         *dimensions(machine)));
    }
    if (!is_hop(machine, offset))
      refuse(fmt::format("machine `{}` is no hop of a {}", field, topology_text(machine)));
    require(field, link);
  }
}

void require_link_maps(const Machine& machine) {
  const auto refuse = [](std::string message, std::string help) {
    throw ShapeError(
        {.code = "CYC401", .span = {}, .message = std::move(message), .notes = {}, .help = std::move(help)});
  };
  if (!machine.links.empty())
    refuse("machine `links` are given by direction, and `topology` by link maps",
           "give each link map its link");
  require_range("topology link maps", static_cast<std::int64_t>(machine.link_maps.size()), 1, most_link_maps);
  const auto rank = dimensions(machine).value_or(parse_link_map(machine.link_maps.front().map).names.size());
  for (const auto& [text, link] : machine.link_maps) {
    const auto own = parse_link_map(text).names.size();
    if (own != rank)
      refuse(fmt::format("link map `{}` has rank {}, and the grid rank {}", text, own, rank),
             "give the coordinates of a PE of the grid");
    if (link) require(fmt::format("link map `{}`: link", text), *link);
  }
}

void require_topology(const Machine& machine) {
  const auto refuse = [](std::string message, std::string help, std::string code = "CYC401") {
    throw ShapeError({.code = std::move(code),
                      .span = {},
                      .message = std::move(message),
                      .notes = {},
                      .help = std::move(help)});
  };
  const auto& topology = machine.topology;
  require_range("topology dimensions", static_cast<std::int64_t>(topology.size()), 1, most_dimensions);
  const bool custom = topology == std::vector{Topology::custom};
  if (custom == machine.link_maps.empty())
    refuse(fmt::format("machine `topology` is {}, with {} link maps", topology_text(machine),
                       machine.link_maps.size()),
           "a custom topology has link maps, and no other has");
  if (custom) return require_link_maps(machine);
  if (topology.size() == 1) {
    if (topology.front() == Topology::ring && machine.grid.size() > 1)
      refuse(fmt::format("machine `grid` has {} dimensions, and a ring has 1", machine.grid.size()),
             "give the PEs along it, for example grid=(8,), or topology=\"torus\"");
    return;
  }
  for (const auto each : topology) {
    if (each != Topology::mesh && each != Topology::torus)
      refuse(fmt::format("machine `topology` has '{}' along one dimension", name(each)),
             "along each dimension it is \"mesh\" or \"torus\"", "CYC402");
  }
  if (!machine.grid.empty() && machine.grid.size() != topology.size()) {
    refuse(fmt::format("machine `topology` has {} dimensions, and the grid {}", topology.size(),
                       machine.grid.size()),
           "give one for each dimension of the grid, or one for all");
  }
}

void require_chiplets(const Machine& machine) {
  if (!machine.chiplets) return;
  const auto& shape = machine.chiplets->shape;
  const auto rank = dimensions(machine).value_or(shape.size());
  if (shape.empty() || shape.size() != rank) {
    throw ShapeError({.code = "CYC401",
                      .span = {},
                      .message = fmt::format("machine `chiplets.shape` has rank {}, and the grid rank {}",
                                             shape.size(), rank),
                      .notes = {},
                      .help = "give the PEs of a chip along each dimension of the grid"});
  }
  for (std::size_t d = 0; d < shape.size(); ++d)
    require_range(fmt::format("chiplets.shape[{}]", d), shape[d], 1);
  require("chiplets.link", machine.chiplets->link);
}

void require_banks(const Pe& pe) {
  constexpr std::int64_t most_registers = std::int64_t{1} << 20;
  constexpr std::int64_t most_banks = 1024;
  if (pe.registers) require_range("pe.registers", *pe.registers, 0, most_registers);
  if (!pe.banks) return;
  require_range("pe.banks", *pe.banks, 1, most_banks);
  if (pe.memory_bytes % *pe.banks == 0) return;
  throw ShapeError({.code = "CYC401",
                    .span = {},
                    .message = fmt::format("machine `pe.memory` is {} bytes, which are no {} equal banks",
                                           pe.memory_bytes, *pe.banks),
                    .notes = {},
                    .help = fmt::format("give a memory of {} bytes",
                                        std::max<std::int64_t>(1, pe.memory_bytes / *pe.banks) * *pe.banks)});
}

void require_held(const std::vector<std::string>& holds) {
  for (const std::string& part : holds) {
    if (std::ranges::find(held_parts, part) == held_parts.end() || std::ranges::count(holds, part) > 1)
      throw ShapeError({.code = "CYC401",
                        .span = {},
                        .message = fmt::format("machine `pe.holds` has \"{}\"", part),
                        .notes = {},
                        .help = fmt::format("it has each of {} at most once", fmt::join(held_parts, ", "))});
  }
}

std::string parts_text(const Pe& pe) {
  std::string text;
  if (pe.banks) text += fmt::format(" in {} bank{}", *pe.banks, *pe.banks == 1 ? "" : "s");
  if (!pe.holds.empty()) text += fmt::format(" for {} too", fmt::join(pe.holds, ", "));
  if (pe.registers) text += fmt::format(", {} register{}", *pe.registers, *pe.registers == 1 ? "" : "s");
  if (pe.channels) text += fmt::format(", {} channel{}", *pe.channels, *pe.channels == 1 ? "" : "s");
  for (const auto& [kind, most] : pe.ports) text += fmt::format(", {} {} a cycle", most, kind);
  if (pe.overlap) text += ", units side by side";
  return text;
}

std::string depth_text(std::int64_t depth) {
  return depth >= unbounded_depth ? "unbounded" : fmt::format("{}", depth);
}

std::string link_text(const Link& link) {
  auto text = fmt::format(" latency {} depth {}", link.latency_cycles, depth_text(link.depth));
  if (link.words_per_cycle != 1) text += fmt::format(" width {}", link.words_per_cycle);
  if (link.response_latency_cycles != 1) text += fmt::format(" response {}", link.response_latency_cycles);
  return text;
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024;
  constexpr std::int64_t mib = kib * kib;
  if (bytes >= mib && bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  if (bytes >= kib && bytes % kib == 0) return fmt::format("{} KiB", bytes / kib);
  return fmt::format("{} bytes", bytes);
}

std::string control_text(const std::optional<Control>& control) {
  if (!control) return "";
  return fmt::format(", control latency {} hop {} setup {}{}", control->latency_cycles, control->hop_cycles,
                     control->setup_cycles, control->global_data ? " and global data" : "");
}

std::string unit_text(std::string_view kind, const std::optional<Unit>& unit) {
  if (!unit) return "";
  std::string text = fmt::format(", {} unit ", kind);
  if (!unit->shape.empty()) text += fmt::format("{} ", fmt::join(unit->shape, "x"));
  text += fmt::format("cycles {}", unit->cycles);
  if (unit->latency_cycles) text += fmt::format(" latency {}", *unit->latency_cycles);
  if (!unit->dtypes.empty()) text += fmt::format(" of {}", fmt::join(unit->dtypes, ", "));
  if (unit->accumulator) text += fmt::format(" in {}", *unit->accumulator);
  return text;
}

}  // namespace

bool is_pipelined(const Pe& pe) {
  return std::ranges::any_of(std::array{&pe.matrix, &pe.vector, &pe.scalar},
                             [](const auto* unit) { return *unit && pipeline_cycles(**unit) > 0; });
}

bool has_hazards(const Machine& machine) {
  const Pe& pe = machine.pe;
  const bool has_dram =
      std::ranges::any_of(machine.memories, [](const auto& entry) { return entry.second.dram.has_value(); });
  return machine.shared_links || is_pipelined(pe) || !pe.ports.empty() || pe.overlap || has_dram;
}

std::string_view name(Topology topology) {
  switch (topology) {
    case Topology::mesh: return "mesh";
    case Topology::torus: return "torus";
    case Topology::hexagonal: return "hexagonal";
    case Topology::ring: return "ring";
    case Topology::custom: return "custom";
  }
  return "";
}

std::optional<Topology> topology_from_name(std::string_view text) {
  for (const auto topology :
       {Topology::mesh, Topology::torus, Topology::hexagonal, Topology::ring, Topology::custom}) {
    if (name(topology) == text) return topology;
  }
  return std::nullopt;
}

bool wraps_around(const Machine& machine, std::size_t dimension) {
  const auto& topology = machine.topology;
  const auto along = topology.size() > 1 ? topology.at(dimension) : topology.front();
  return along == Topology::torus || along == Topology::ring;
}

bool wraps_around(const Machine& machine) {
  return std::ranges::any_of(machine.topology,
                             [](auto t) { return t == Topology::torus || t == Topology::ring; });
}

std::string_view name(Spread spread) {
  switch (spread) {
    case Spread::constant: return "constant";
    case Spread::distance: return "distance";
    case Spread::tree: return "tree";
  }
  return "";
}

const Link& broadcast_along(const Machine& machine, std::size_t dimension) {
  const auto own = machine.broadcasts.find(dimension);
  return own == machine.broadcasts.end() ? machine.broadcast : own->second;
}

std::int64_t broadcast_latency(const Machine& machine, const Link& network, std::int64_t distance) {
  switch (machine.spread) {
    case Spread::constant: return network.latency_cycles;
    case Spread::distance: return network.latency_cycles * distance;
    case Spread::tree:
      return network.latency_cycles *
             static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(distance)));
  }
  return 0;
}

bool is_between_chips(const Chiplets& chiplets, std::span<const std::int64_t> sender,
                      std::span<const std::int64_t> receiver) {
  for (std::size_t d = 0; d < chiplets.shape.size(); ++d) {
    if (sender[d] / chiplets.shape[d] != receiver[d] / chiplets.shape[d]) return true;
  }
  return false;
}

std::optional<std::size_t> dimensions(const Machine& machine) {
  if (!machine.grid.empty()) return machine.grid.size();
  if (machine.topology.size() > 1) return machine.topology.size();
  if (machine.topology.front() == Topology::ring) return 1;
  if (!machine.link_maps.empty()) return parse_link_map(machine.link_maps.front().map).names.size();
  if (!machine.links.empty()) return machine.links.begin()->first.size();
  if (machine.chiplets) return machine.chiplets->shape.size();
  for (const auto& [name, memory] : machine.memories) {
    if (!memory.serves.empty()) return memory.serves.front().size();
    if (!memory.shared_by.empty()) return memory.shared_by.size();
  }
  return std::nullopt;
}

std::int64_t hops(const Machine& machine, const std::vector<std::int64_t>& extents,
                  const std::vector<std::int64_t>& offset) {
  std::int64_t total = 0;
  for (std::size_t d = 0; d < offset.size(); ++d) {
    auto steps = std::abs(offset[d]);
    if (wraps_around(machine, d)) {
      const auto around = machine.grid.empty() ? extents[d] : machine.grid.at(d);
      steps = std::min(steps % around, around - steps % around);
    }
    total += steps;
  }
  const bool diagonal = machine.topology.front() == Topology::hexagonal && offset.size() == 2;
  // Each step that both coordinates take in one direction is a single link.
  if (diagonal && (offset[0] > 0) == (offset[1] > 0))
    total -= std::min(std::abs(offset[0]), std::abs(offset[1]));
  return total;
}

void verify(const Machine& machine) {
  require_range("grid dimensions", static_cast<std::int64_t>(machine.grid.size()), 0, most_dimensions);
  require_topology(machine);
  std::int64_t pes = 1;
  for (std::size_t d = 0; d < machine.grid.size(); ++d) {
    require_range(fmt::format("grid[{}]", d), machine.grid[d], 1);
    // Both factors are at most 2^40, so the check before the product keeps it below 2^62.
    require_range("grid size", pes, 1, (std::int64_t{1} << 62) / machine.grid[d]);
    pes *= machine.grid[d];
  }
  require("link", machine.link);
  require_links(machine);
  require_chiplets(machine);
  require("broadcast", machine.broadcast);
  for (const auto& [dimension, link] : machine.broadcasts) {
    const auto found = dimensions(machine);
    if (dimension >= found.value_or(most_dimensions)) {
      throw ShapeError(
          {.code = "CYC401",
           .span = {},
           .message = fmt::format("machine `broadcasts` has a network along dimension {}, and the "
                                  "grid has {}{} dimensions",
                                  dimension, found ? "" : "at most ", found.value_or(most_dimensions)),
           .notes = {},
           .help = "give a dimension of the grid, counted from 0"});
    }
    require(fmt::format("broadcasts[{}]", dimension), link);
  }
  require_range("pe.memory_bytes", machine.pe.memory_bytes, 1, std::int64_t{1} << 50);
  require_range("pe.flops_per_cycle", machine.pe.flops_per_cycle, 1);
  for (const auto& [op, cycles] : machine.pe.cycles)
    require_range(fmt::format("pe.cycles[{}]", op), cycles, 0);
  require_banks(machine.pe);
  if (machine.pe.channels) require_range("pe.channels", *machine.pe.channels, 1, most_channels);
  require_ports(machine.pe.ports);
  require_held(machine.pe.holds);
  if (machine.control) {
    require_range("control.latency_cycles", machine.control->latency_cycles, 0);
    require_range("control.hop_cycles", machine.control->hop_cycles, 0);
    require_range("control.setup_cycles", machine.control->setup_cycles, 0);
    require_range("control.pes", machine.control->pes, 4);
  }
  require("pe.matrix", machine.pe.matrix, {"m", "n", "k"});
  require("pe.vector", machine.pe.vector, {"lanes"});
  require("pe.scalar", machine.pe.scalar, {});
  verify_memories(machine.memories, dimensions(machine), machine.grid);
  if (machine.clock_hz && !(std::isfinite(*machine.clock_hz) && *machine.clock_hz > 0)) {
    throw ShapeError(
        {.code = "CYC401",
         .span = {},
         .message = fmt::format("machine `clock_hz` is {}, not a positive number", *machine.clock_hz),
         .notes = {},
         .help = "give cycles a second, for example 1.2e9"});
  }
}

std::string topology_text(const Machine& machine) {
  std::vector<std::string_view> names;
  for (const auto topology : machine.topology) names.push_back(name(topology));
  return fmt::format("{}", fmt::join(names, " x "));
}

namespace {

/// The first PE of a program on a part of the grid, whose memories are to serve it.
std::vector<std::int64_t> place_of(const Machine& machine, const std::vector<std::int64_t>& part) {
  std::vector<std::int64_t> origin(part.size(), 0);
  const auto there = on_part(machine.memories, origin, machine.grid, part).size();
  // Link maps join other PEs elsewhere.
  if (there == machine.memories.size() || (there > 0 && !machine.link_maps.empty())) return origin;
  std::vector<std::vector<std::int64_t>> blocks;
  if (machine.chiplets) blocks.push_back(machine.chiplets->shape);
  for (const auto& [name, memory] : machine.memories) {
    if (!memory.shared_by.empty()) blocks.push_back(memory.shared_by);
  }
  const auto found =
      machine.link_maps.empty() ? served_place(machine.memories, machine.grid, part, blocks) : std::nullopt;
  if (found) return *found;
  throw CapacityError({.code = "CYC506",
                       .span = {},
                       .message = fmt::format("no memory of the machine serves any of the program's {} PEs, "
                                              "wherever they lie in the grid of {}: {}",
                                              fmt::join(part, "x"), fmt::join(machine.grid, "x"),
                                              to_string(machine.memories).substr(2)),
                       .notes = {},
                       .help = "map it to the whole grid, or let a memory serve PE 0 and its neighbours, "
                               "with ports that fewer PEs share"});
}

}  // namespace

Machine on_part(Machine machine, const std::vector<std::int64_t>& grid) {
  if (machine.grid.empty()) {
    verify_memories(machine.memories, grid.size(), grid);
    verify_attachment(machine.memories, grid);
  } else if (machine.grid.size() == grid.size() && !machine.memories.empty()) {
    const auto place = place_of(machine, grid);
    machine.memories = on_part(std::move(machine.memories), place, machine.grid, grid);
  }
  machine.grid = grid;
  return machine;
}

std::optional<Machine> line_of(Machine machine) {
  if (machine.grid.size() != 2 || !machine.link_maps.empty()) return std::nullopt;
  for (const auto& [hop, link] : machine.links) machine.link.depth = std::min(machine.link.depth, link.depth);
  if (machine.chiplets) machine.link.depth = std::min(machine.link.depth, machine.chiplets->link.depth);
  machine.links.clear();
  machine.chiplets.reset();
  machine.grid = {machine.grid[0] * machine.grid[1]};
  machine.topology = {Topology::mesh};
  machine.memories.clear();
  machine.broadcasts.clear();
  return machine;
}

void verify_target(const Machine& machine) {
  verify(machine);
  if (!machine.grid.empty()) verify_attachment(machine.memories, machine.grid);
}

std::string to_string(const Machine& machine) {
  std::string text = topology_text(machine);
  if (machine.grid.empty()) text += " of any size";
  for (std::size_t d = 0; d < machine.grid.size(); ++d) {
    text += fmt::format("{}{}", d == 0 ? " " : "x", machine.grid[d]);
  }
  text += ", link" + link_text(machine.link);
  for (const auto& [map, link] : machine.link_maps)
    text += fmt::format(", {}{}", map, link ? link_text(*link) : "");
  for (const auto& [offset, link] : machine.links)
    text += fmt::format(", link ({}){}", fmt::join(offset, ", "), link_text(link));
  if (machine.chiplets) {
    text += fmt::format(", between chips of {} PEs{}", fmt::join(machine.chiplets->shape, "x"),
                        link_text(machine.chiplets->link));
  }
  if (machine.broadcast != machine.link) {
    text += fmt::format(", broadcast latency {} depth {}", machine.broadcast.latency_cycles,
                        depth_text(machine.broadcast.depth));
  }
  for (const auto& [dimension, link] : machine.broadcasts)
    text += fmt::format(", broadcast along {}{}", dimension, link_text(link));
  if (machine.spread != Spread::constant) text += fmt::format(", broadcasts by {}", name(machine.spread));
  if (machine.shared_links) text += ", links shared";
  text += fmt::format(", {} a PE{}", bytes_text(machine.pe.memory_bytes), parts_text(machine.pe));
  return text + unit_text("matrix", machine.pe.matrix) + unit_text("vector", machine.pe.vector) +
         unit_text("scalar", machine.pe.scalar) + to_string(machine.memories) +
         control_text(machine.control) +
         (machine.clock_hz ? fmt::format(", {:g} MHz", *machine.clock_hz / 1e6) : "");
}

}  // namespace cyclotron::machine
