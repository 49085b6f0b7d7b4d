// A schedule: which indices are space, which are time, and how each tensor moves (CY-025 … CY-038).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::schedule {

enum class Movement : std::uint8_t { stream, broadcast, prefetch };

/// How one tensor moves. An empty `along` means: chosen by the compiler.
struct Move {
  std::string tensor;
  Movement kind = Movement::stream;
  std::vector<std::string> along;
  bool operator==(const Move&) const = default;
};

struct Schedule {
  std::vector<std::string> space;  ///< Grid dimensions, in order.
  std::vector<std::string> time;   ///< Outermost first.
  std::vector<Move> moves;         ///< At most one a tensor.
  bool operator==(const Schedule&) const = default;
};

/// Every index of the kernel once, in an order that agrees with the nesting of each equation.
[[nodiscard]] std::vector<std::string> index_names(const recurrence::System& system);

/// The schedule with every index that is not space appended to time, in nesting order.
/// Throws ScheduleError: CYC310 for an index or tensor that the kernel does not have (lists those it has),
/// CYC311 where an index is named twice, CYC312 for a movement the tensor cannot make (prefetch of a
/// computed tensor, an axis that no access could follow).
[[nodiscard]] Schedule complete(const recurrence::System& system, Schedule schedule);

/// Placements to try in turn where the user gives no schedule: the target's indices in space, then fewer.
[[nodiscard]] std::vector<Schedule> defaults(const recurrence::System& system);

/// `space i, j; time k; stream A along j`.
[[nodiscard]] std::string to_string(const Schedule& schedule);

}  // namespace cyclotron::schedule
