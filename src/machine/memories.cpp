#include <cyclotron/machine/memories.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/support/error.hpp>

#include "parts.hpp"
#include "range.hpp"

namespace cyclotron::machine {
namespace {

using Extents = std::vector<std::int64_t>;
using Box = std::vector<Slice>;

constexpr std::int64_t element_bytes = 1;  // of the smallest element

[[noreturn]] void refuse(std::string message, std::string help) {
  throw ShapeError(
      {.code = "CYC401", .span = {}, .message = std::move(message), .notes = {}, .help = std::move(help)});
}

bool holds(const Slice& slice, std::int64_t at) {
  return at >= slice.first && at < *slice.last && (at - slice.first) % slice.step == 0;
}

bool holds(const Box& box, const Extents& at) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (!holds(box[d], at[d])) return false;
  }
  return true;
}

/// On this grid; one box of everything where none is given.
std::vector<Box> boxes_on(const Memory& memory, const Extents& grid) {
  std::vector<Box> result = memory.serves;
  if (result.empty()) result.emplace_back(grid.size());
  for (Box& box : result) {
    for (std::size_t d = 0; d < box.size(); ++d) box[d] = on_axis(box[d], grid[d]);
  }
  return result;
}

bool is_empty(const Box& box) {
  return std::ranges::any_of(box, [](const Slice& slice) { return slice.first >= *slice.last; });
}

/// As a part of the axis sees it that begins at `place`.
Slice moved(Slice slice, std::int64_t place) {
  slice.first -= place;
  if (slice.last) *slice.last = std::max<std::int64_t>(0, *slice.last - place);
  if (slice.first < 0) slice.first += (-slice.first + slice.step - 1) / slice.step * slice.step;
  return slice;
}

/// The first place from `place` on where blocks that are counted from 0 cut a part as they do at 0; beyond `limit`, some.
std::int64_t cut_alike(std::int64_t place, std::int64_t extent, const Extents& blocks, std::int64_t limit) {
  for (bool again = true; again && place <= limit;) {
    again = false;
    for (const auto block : blocks) {
      const auto inside = place % block;
      if (inside == 0 || inside + extent <= block) continue;
      place += block - inside;
      again = true;
    }
  }
  return place;
}

/// The first place of a part with a PE of a box; none where blocks would cut it otherwise than at PE 0.
std::optional<Extents> first_with(const Box& box, const Extents& grid, const Extents& part,
                                  const std::vector<Extents>& blocks) {
  Extents result;
  for (std::size_t d = 0; d < grid.size(); ++d) {
    Extents along;
    for (const auto& one : blocks) along.push_back(one[d]);
    const auto first = std::max<std::int64_t>(0, box[d].first - part[d] + 1);
    const auto last = std::min(box[d].first, grid[d] - part[d]);
    result.push_back(cut_alike(first, part[d], along, last));
    if (result.back() > last) return std::nullopt;
  }
  return result;
}

/// A coordinate in both, or nullopt.
std::optional<std::int64_t> common(const Slice& a, const Slice& b) {
  const Slice& coarse = a.step > b.step ? a : b;
  const Slice& other = a.step > b.step ? b : a;
  std::int64_t at = coarse.first;
  if (other.first > at) at += (other.first - at + coarse.step - 1) / coarse.step * coarse.step;
  // Residues repeat after `other.step` steps.
  for (std::int64_t n = 0; n < other.step && at < std::min(*a.last, *b.last); ++n, at += coarse.step) {
    if (holds(other, at)) return at;
  }
  return std::nullopt;
}

std::optional<Extents> common(const Box& a, const Box& b) {
  Extents result;
  for (std::size_t d = 0; d < a.size(); ++d) {
    const auto at = common(a[d], b[d]);
    if (!at) return std::nullopt;
    result.push_back(*at);
  }
  return result;
}

std::string field_of(const std::string& name) { return fmt::format("memories[\"{}\"]", name); }

std::string text(const Slice& slice) {
  if (slice.last && *slice.last == slice.first + 1) return fmt::format("{}", slice.first);
  if (!slice.last && slice.first == -1) return "-1";
  std::string result = slice.first == 0 ? ":" : fmt::format("{}:", slice.first);
  if (slice.last) result += fmt::format("{}", *slice.last);
  return slice.step == 1 ? result : result + fmt::format(":{}", slice.step);
}

std::string text(const Box& box) {
  std::vector<std::string> slices;
  for (const Slice& slice : box) slices.push_back(text(slice));
  return fmt::format("{}", fmt::join(slices, ", "));
}

void require_rank(const std::string& field, std::size_t rank, std::optional<std::size_t> dimensions) {
  if (!dimensions || rank == *dimensions) return;
  refuse(fmt::format("machine `{}` has rank {}, and the grid rank {}", field, rank, *dimensions),
         "give one entry a grid dimension");
}

void verify(const std::string& field, const Dram& dram) {
  constexpr std::int64_t most_banks = std::int64_t{1} << 16;
  require_range(field + ".banks", dram.banks, 1, most_banks);
  require_range(field + ".row", dram.row_bytes, 1);
  for (const auto& [name, value] :
       {std::pair{".activate", dram.activate_cycles}, std::pair{".precharge", dram.precharge_cycles},
        std::pair{".open", dram.open_cycles}, std::pair{".recovery", dram.recovery_cycles},
        std::pair{".turnaround", dram.turnaround_cycles}, std::pair{".interval", dram.interval_cycles},
        std::pair{".refresh", dram.refresh_cycles}})
    require_range(field + name, value, 0);
  const std::int64_t refresh = dram.precharge_cycles + dram.refresh_cycles + dram.activate_cycles;
  if (dram.interval_cycles > 0 && dram.interval_cycles <= refresh)
    refuse(fmt::format("machine `{}.interval` is {}, and to close rows, refresh and open one takes {} cycles",
                       field, dram.interval_cycles, refresh),
           "refresh less often, or give 0 for none");
}

void verify(const std::string& name, const Memory& memory, std::optional<std::size_t> dimensions) {
  const std::string field = field_of(name);
  require_range(field + ".bandwidth", memory.bandwidth_words_per_cycle, 1);
  require_range(field + ".latency", memory.latency_cycles, 1);
  require_range(field + ".depth", memory.depth, 1);
  if (memory.dram) verify(field + ".dram", *memory.dram);
  if (memory.size_bytes)
    require_range(field + ".size", *memory.size_bytes, element_bytes, std::int64_t{1} << 60);
  for (const Box& box : memory.serves) {
    require_rank(field + ".serves", box.size(), dimensions);
    for (const Slice& slice : box) {
      require_range(field + ".serves", slice.first, -range_limit);
      if (slice.last) require_range(field + ".serves", *slice.last, -range_limit);
      require_range(field + ".serves step", slice.step, 1);
    }
  }
  if (!memory.shared_by.empty()) require_rank(field + ".shared_by", memory.shared_by.size(), dimensions);
  for (const std::int64_t extent : memory.shared_by) require_range(field + ".shared_by", extent, 1);
}

/// The extents of a memory's blocks.
Extents blocks_of(const Memory& memory, std::size_t dimensions) {
  return memory.shared_by.empty() ? Extents(dimensions, 1) : memory.shared_by;
}

}  // namespace

void verify_memories(const Memories& memories, std::optional<std::size_t> dimensions, const Extents& grid) {
  for (const auto& [name, memory] : memories) verify(name, memory, dimensions);
  if (grid.empty()) return;
  for (auto a = memories.begin(); a != memories.end(); ++a) {
    for (auto b = std::next(a); b != memories.end(); ++b) {
      for (const Box& box : boxes_on(a->second, grid)) {
        for (const Box& other : boxes_on(b->second, grid)) {
          const auto at = common(box, other);
          if (!at) continue;
          refuse(fmt::format("machine memories `{}` and `{}` both serve PE ({})", a->first, b->first,
                             fmt::join(*at, ", ")),
                 "give each PE one memory");
        }
      }
    }
  }
}

void verify_attachment(const Memories& memories, const Extents& grid) {
  const std::string extents = fmt::format("{}", fmt::join(grid, "x"));
  for (const auto& [name, memory] : memories) {
    for (const Box& box : memory.serves) {
      Box found = box;
      for (std::size_t d = 0; d < box.size(); ++d) found[d] = on_axis(box[d], grid[d]);
      if (!is_empty(found)) continue;
      refuse(fmt::format("machine `{}.serves` is \"{}\", which is none of the {} PEs", field_of(name),
                         text(box), extents),
             "give slices within the grid, for example \":, 0\" for the first column");
    }
    for (std::size_t d = 0; d < memory.shared_by.size(); ++d) {
      if (grid[d] % memory.shared_by[d] == 0) continue;
      refuse(fmt::format("machine `{}.shared_by` is {} PEs along grid dimension {}, which do not tile the "
                         "grid's {}",
                         field_of(name), memory.shared_by[d], d, grid[d]),
             fmt::format("give a divisor of {}", grid[d]));
    }
  }
}

Attachment attach(const Memories& memories, const Extents& grid) {
  Attachment result;
  if (memories.empty()) return result;
  std::size_t count = 1;
  for (const std::int64_t extent : grid) count *= static_cast<std::size_t>(extent);
  result.of_pe.assign(count, Attachment::none);
  for (const auto& [name, memory] : memories) {
    const auto boxes = boxes_on(memory, grid);
    const Extents blocks = blocks_of(memory, grid.size());
    std::map<Extents, std::uint32_t> port_of;  // by block
    Extents at(grid.size(), 0), block(grid.size());
    for (std::size_t index = 0; index < count; ++index) {
      if (std::ranges::any_of(boxes, [&](const Box& box) { return holds(box, at); })) {
        for (std::size_t d = 0; d < at.size(); ++d) block[d] = at[d] / blocks[d];
        const auto [found, is_new] =
            port_of.try_emplace(block, static_cast<std::uint32_t>(result.ports.size()));
        if (is_new) result.ports.push_back({name, 0});
        ++result.ports[found->second].pes;
        result.of_pe[index] = found->second;
      }
      for (std::size_t d = grid.size(); d-- > 0;) {
        if (++at[d] < grid[d]) break;
        at[d] = 0;
      }
    }
  }
  return result;
}

Slice on_axis(const Slice& slice, std::int64_t extent) {
  const auto from_edge = [&](std::int64_t at) { return at < 0 ? at + extent : at; };
  const std::int64_t first = std::max<std::int64_t>(0, from_edge(slice.first));
  const std::int64_t last = std::min(extent, slice.last ? from_edge(*slice.last) : extent);
  return {first, last, slice.step};
}

bool is_served(const Memories& memories, const Extents& grid, const Extents& pe) {
  return std::ranges::any_of(memories, [&](const auto& entry) {
    return std::ranges::any_of(boxes_on(entry.second, grid), [&](const Box& box) { return holds(box, pe); });
  });
}

Memories on_longer(Memories memories, const Extents& grid) {
  for (auto& [name, memory] : memories) {
    if (memory.serves.empty()) memory.serves.emplace_back(grid.size());
    for (Box& box : memory.serves) box.front() = on_axis(box.front(), grid.front());
  }
  return memories;
}

Memories on_part(Memories memories, const Extents& place, const Extents& grid, const Extents& part) {
  const auto within = [&](Box box) {
    for (std::size_t d = 0; d < box.size(); ++d) box[d] = on_axis(box[d], part[d]);
    return box;
  };
  for (auto entry = memories.begin(); entry != memories.end();) {
    Memory& memory = entry->second;
    for (Box& box : memory.serves) {
      for (std::size_t d = 0; d < box.size(); ++d) {
        const bool counts_back = box[d].first < 0 || box[d].last.value_or(0) < 0;
        if ((counts_back && grid[d] != part[d]) || place[d] != 0)
          box[d] = moved(on_axis(box[d], grid[d]), place[d]);
      }
    }
    // A memory that serves no box serves all PEs.
    const bool all_elsewhere =
        std::erase_if(memory.serves, [&](const Box& box) { return is_empty(within(box)); }) > 0 &&
        memory.serves.empty();
    entry = all_elsewhere ? memories.erase(entry) : std::next(entry);
  }
  return memories;
}

std::optional<Extents> served_place(const Memories& memories, const Extents& grid, const Extents& part,
                                    const std::vector<Extents>& blocks) {
  const Extents origin(grid.size(), 0);
  std::vector<Extents> places{origin};
  for (const auto& [name, memory] : memories) {
    for (const Box& box : boxes_on(memory, grid)) {
      if (const auto place = first_with(box, grid, part, blocks)) places.push_back(*place);
    }
  }
  std::ranges::sort(places);
  std::size_t most = 0;
  std::optional<Extents> result;
  for (const auto& place : places) {
    const auto count = on_part(memories, place, grid, part).size();
    if (count <= most) continue;
    most = count;
    result = place;
  }
  return result;
}

std::string to_string(const Memories& memories) {
  std::string result;
  for (const auto& [name, memory] : memories) {
    result += fmt::format(", memory {} {} words a cycle latency {} depth {}", name,
                          memory.bandwidth_words_per_cycle, memory.latency_cycles, memory.depth);
    std::vector<std::string> boxes;
    for (const Box& box : memory.serves) boxes.push_back(fmt::format("({})", text(box)));
    if (!boxes.empty()) result += fmt::format(" for {}", fmt::join(boxes, " and "));
    if (!memory.shared_by.empty())
      result += fmt::format(", a port for each {}", fmt::join(memory.shared_by, "x"));
    if (memory.dram)
      result += fmt::format(", {} banks of rows of {} bytes", memory.dram->banks, memory.dram->row_bytes);
  }
  return result;
}

}  // namespace cyclotron::machine
