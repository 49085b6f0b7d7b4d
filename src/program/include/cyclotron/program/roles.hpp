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
  executive,  ///< Computes global values for the controller.
};
[[nodiscard]] std::string_view name(Duty duty);
[[nodiscard]] Duty duty_of(const PeClass& pe_class);

/// The class of the executive's global values, if there is one.
[[nodiscard]] const PeClass* executive_of(const Program& program);
/// The grid without the executive's row.
[[nodiscard]] std::vector<std::int64_t> worker_field(const Program& program);
/// Place of the executive's class, in the row after the field.
[[nodiscard]] std::vector<std::int64_t> executive_place(const Program& program);
[[nodiscard]] Disjunction executive_region(const Program& program);
/// Its number in the grid, by which PEs know it as a sender.
[[nodiscard]] Affine executive_number(const Program& program);
/// Gives the channels to the executive and from it the times of the machine's control: by the hops of their other PE to the
/// controller, next to whose place it is; to networks that of a hop.
void time_executive(Program& program);

/// Place of a controller: the middle of the field.
[[nodiscard]] std::vector<std::int64_t> control_place(const Program& program);

/// From a PE of the grid, as its linear index, to that place; from the executive none.
[[nodiscard]] std::int64_t hops_to_control(const Program& program, std::size_t index);

/// From the PEs that have a program; 0 without any.
struct ControlDistance {
  double mean_hops = 0;
  std::int64_t most_hops = 0;
};
[[nodiscard]] ControlDistance distance_to_control(const Program& program);

}  // namespace cyclotron::program
