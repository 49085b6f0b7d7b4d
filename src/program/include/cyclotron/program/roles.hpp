// Roles of PEs in a program, and where a controller stands (MA-008, MA-009, MA-015 to MA-017).
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

enum class Duty : std::uint8_t {
  worker,     ///< Loads or stores tensors, or computes anything but parts of sums.
  reduction,  ///< Only adds, multiplies, compares or joins what it is sent: it holds no data of the program.
  relay,      ///< Only passes on what it is sent.
};
[[nodiscard]] std::string_view name(Duty duty);
[[nodiscard]] Duty duty_of(const PeClass& pe_class);

/// Place of a controller: the middle of the grid.
[[nodiscard]] std::vector<std::int64_t> control_place(const Program& program);

/// From a PE of the grid, as its linear index, to that place.
[[nodiscard]] std::int64_t hops_to_control(const Program& program, std::size_t index);

/// From the PEs that have a program; 0 without any.
struct ControlDistance {
  double mean_hops = 0;
  std::int64_t most_hops = 0;
};
[[nodiscard]] ControlDistance distance_to_control(const Program& program);

}  // namespace cyclotron::program
