// Private to this folder: programs on a part of a machine's grid.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/machine/memories.hpp>

namespace cyclotron::machine {

/// The memories as a program on the PEs from `place` to `place` + `part` sees them: coordinates count from `place`, and
/// those that serve none of these PEs are left out. Requires: all have the same rank.
[[nodiscard]] Memories on_part(Memories memories, const std::vector<std::int64_t>& place,
                               const std::vector<std::int64_t>& grid, const std::vector<std::int64_t>& part);

/// The first place of a part that the most memories serve, of those where blocks of PEs (ports, chips) cut the part as they
/// do at PE 0; none where no memory serves it anywhere.
[[nodiscard]] std::optional<std::vector<std::int64_t>> served_place(
    const Memories& memories, const std::vector<std::int64_t>& grid, const std::vector<std::int64_t>& part,
    const std::vector<std::vector<std::int64_t>>& blocks);

}  // namespace cyclotron::machine
