// The integer points of a region, without isl.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::proof {

using Point = std::vector<std::int64_t>;

[[nodiscard]] std::int64_t evaluate(const recurrence::Affine& form, const Point& point);

/// Calls `visit` for the points of the region with `variables` coordinates, once for each conjunction that
/// holds the point. False where a coordinate has no bounds in terms of the ones before it.
[[nodiscard]] bool for_each_point(const recurrence::Region& region, std::size_t variables,
                                  const std::function<void(const Point&)>& visit);

/// The values of one more coordinate after `point` with which the region holds, ascending, each once.
/// Requires: they are bounded (throws LegalityError CYC668).
[[nodiscard]] std::vector<std::int64_t> values_after(const recurrence::Region& region, const Point& point,
                                                     const Span& where);

}  // namespace cyclotron::proof
