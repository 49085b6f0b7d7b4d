#include <cyclotron/mapping/make_grid.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include <cyclotron/support/error.hpp>

namespace cyclotron::mapping {

Grid make_grid(const dataflow::Graph& graph, const schedule::Schedule& schedule,
               const machine::Machine& machine) {
  Grid grid;
  const auto dim = [&](const std::string& name) {
    const auto place = std::ranges::find(graph.dims, name);
    CYC_CHECK(place != graph.dims.end(), name);
    return static_cast<std::size_t>(place - graph.dims.begin());
  };
  for (const auto& name : schedule.space_indices) grid.space.push_back(dim(name));
  for (const auto& name : schedule.time_indices) grid.time.push_back(dim(name));
  grid.names = schedule.space_indices;
  for (const auto d : grid.space) {
    std::optional<std::int64_t> low, high;
    for (const auto& space : graph.spaces) {
      if (space.domain.is_empty()) continue;
      const auto least = space.domain.minimum(d).value(), most = space.domain.maximum(d).value();
      low = low ? std::min(*low, least) : least;
      high = high ? std::max(*high, most) : most;
    }
    grid.origin.push_back(low.value_or(0));
    grid.extents.push_back(high.value_or(0) - low.value_or(0) + 1);
  }
  if (grid.extents.empty()) {
    grid.extents.push_back(1);
    grid.names.emplace_back("pe");
  }
  const auto dimensions = machine::dimensions(machine).value_or(grid.extents.size());
  const bool fits =
      dimensions == grid.extents.size() &&
      (machine.grid.empty() || std::ranges::equal(grid.extents, machine.grid, std::less_equal{}));
  if (!fits) {
    const auto there = machine.grid.empty()
                           ? fmt::format("{} dimension{}", dimensions, dimensions == 1 ? "" : "s")
                           : fmt::format("{}", fmt::join(machine.grid, "x"));
    throw CapacityError(
        {.code = "CYC502",
         .span = {},
         .message = fmt::format("the schedule needs a grid of {} PEs, and the machine has {}",
                                fmt::join(grid.extents, "x"), there),
         .notes = {},
         .help = fmt::format("map as many indices to space as the machine has dimensions ({})", dimensions)});
  }
  return grid;
}

}  // namespace cyclotron::mapping
