// An order of all steps of all PEs in which dependences advance.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Finds an order of all steps in which every dependence advances: in time, or between PEs of one step in a common
/// direction. Parts of a step run one after the other on every PE, each in an order of its own, and what passes between
/// them advances in time; parts that pass values back along the grid are one part.
/// Requires: rank_spaces. Ensures: `skews` of every space; `time_function` where it is a single form. Throws
/// LegalityError CYC221 where there is no such order, with two points that contradict it.
[[nodiscard]] Mapping order_steps(const Mapping& mapping);

}  // namespace cyclotron::mapping
