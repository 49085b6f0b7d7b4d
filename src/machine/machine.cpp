#include <cyclotron/machine/machine.hpp>

#include <string_view>

#include <fmt/format.h>

#include <cyclotron/support/error.hpp>

namespace cyclotron::machine {
namespace {

// Far beyond any hardware, and small enough that sums of a few never overflow.
constexpr std::int64_t limit = std::int64_t{1} << 40;

void require(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most = limit) {
  if (value >= least && value <= most) return;
  throw ShapeError({.code = "CYC401",
                    .span = {},
                    .message = fmt::format("machine `{}` is {}, outside {} .. {}", field, value, least, most),
                    .notes = {},
                    .help = fmt::format("give `{}` a value of at least {}", field, least)});
}

void require(std::string_view field, const Link& link) {
  require(fmt::format("{}.latency_cycles", field), link.latency_cycles, 1);
  require(fmt::format("{}.response_latency_cycles", field), link.response_latency_cycles, 0);
  require(fmt::format("{}.words_per_cycle", field), link.words_per_cycle, 1);
  require(fmt::format("{}.depth", field), link.depth, 1);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr std::int64_t kib = 1024;
  constexpr std::int64_t mib = kib * kib;
  if (bytes >= mib && bytes % mib == 0) return fmt::format("{} MiB", bytes / mib);
  if (bytes >= kib && bytes % kib == 0) return fmt::format("{} KiB", bytes / kib);
  return fmt::format("{} bytes", bytes);
}

}  // namespace

void verify(const Machine& machine) {
  require("grid dimensions", static_cast<std::int64_t>(machine.grid.size()), 0, 8);
  std::int64_t pes = 1;
  for (std::size_t d = 0; d < machine.grid.size(); ++d) {
    require(fmt::format("grid[{}]", d), machine.grid[d], 1, limit);
    // Both factors are at most 2^40, so the check before the product keeps it below 2^62.
    require("grid size", pes, 1, (std::int64_t{1} << 62) / machine.grid[d]);
    pes *= machine.grid[d];
  }
  require("link", machine.link);
  require("broadcast", machine.broadcast);
  require("pe.memory_bytes", machine.pe.memory_bytes, 1, std::int64_t{1} << 50);
  require("pe.flops_per_cycle", machine.pe.flops_per_cycle, 1);
  for (const auto& [op, cycles] : machine.pe.cycles) require(fmt::format("pe.cycles[{}]", op), cycles, 0);
}

std::string to_string(const Machine& machine) {
  std::string text = machine.topology == Topology::mesh ? "mesh" : "torus";
  if (machine.grid.empty()) text += " of any size";
  for (std::size_t d = 0; d < machine.grid.size(); ++d) {
    text += fmt::format("{}{}", d == 0 ? " " : "x", machine.grid[d]);
  }
  const Link& link = machine.link;
  text += fmt::format(", link latency {} depth {}", link.latency_cycles, link.depth);
  if (link.words_per_cycle != 1) text += fmt::format(" width {}", link.words_per_cycle);
  if (link.response_latency_cycles != 1) text += fmt::format(" response {}", link.response_latency_cycles);
  if (machine.broadcast != link) {
    text += fmt::format(", broadcast latency {} depth {}", machine.broadcast.latency_cycles,
                        machine.broadcast.depth);
  }
  return text + fmt::format(", {} a PE", bytes_text(machine.pe.memory_bytes));
}

}  // namespace cyclotron::machine
