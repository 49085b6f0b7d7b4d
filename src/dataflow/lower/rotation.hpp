// Private to this layer: reduction indices that start elsewhere in each PE and wrap round.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::dataflow::detail {

/// A reduction index whose order starts, at each point, at the sum of other coordinates and wraps round.
struct Rotation {
  std::size_t dim;
  std::vector<std::size_t> by;
  std::int64_t low = 0, extent = 0;  ///< Of the index, and of each that it turns by.
  /// Distance of the index from its start, before wrapping.
  [[nodiscard]] poly::Affine form(std::size_t rank) const;
};
/// The rotation of the dim that the schedule asks for, for a reduction over `domain`. Throws ScheduleError
/// CYC317 where the index does not run over one full range at every point, or over another than those it
/// turns by.
[[nodiscard]] std::optional<Rotation> rotation_of(const schedule::Schedule& schedule,
                                                  const std::vector<std::string>& dims, std::size_t dim,
                                                  const poly::Set& domain);
/// The points at which a rotated index starts.
[[nodiscard]] poly::Set rotation_starts(const Rotation& rotation, const poly::Set& domain);

}  // namespace cyclotron::dataflow::detail
