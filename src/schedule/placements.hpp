// Private to this folder: indices on the dimensions of a grid.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cyclotron::schedule {

/// Two where the machine does not say.
[[nodiscard]] std::size_t grid_dimensions(const std::vector<std::int64_t>& grid);

/// On the largest of the grid's dimensions, in order; the others are one PE wide.
[[nodiscard]] std::vector<std::string> spread(const std::vector<std::string>& indices,
                                              const std::vector<std::int64_t>& grid);

}  // namespace cyclotron::schedule
