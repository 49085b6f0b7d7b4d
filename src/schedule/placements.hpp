// Private to this folder: indices on the dimensions of a grid, and movements of tensors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::schedule {

/// Two where the machine does not say.
[[nodiscard]] std::size_t grid_dimensions(const std::vector<std::int64_t>& grid);

/// On the largest of the grid's dimensions, in order; the others are one PE wide.
[[nodiscard]] std::vector<std::string> spread(const std::vector<std::string>& indices,
                                              const std::vector<std::int64_t>& grid);

/// The movement that a schedule gives a tensor, if any.
[[nodiscard]] const Movement* movement_of(const Schedule& schedule, const std::string& tensor);

}  // namespace cyclotron::schedule
