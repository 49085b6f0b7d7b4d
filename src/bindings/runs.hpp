// Parts of runs on the simulator and on threads.
#pragma once
#include <algorithm>
#include <iterator>
#include <vector>

#include <pybind11/numpy.h>

#include <cyclotron/program/exits.hpp>

#include "interruptible.hpp"

namespace cyclotron::bindings {

/// Iterations that loops left out, by exit plan.
[[nodiscard]] inline std::vector<std::int64_t> skipped(const program::Program& program,
                                                       const std::vector<program::ExitOutcome>& outcomes) {
  std::vector<std::int64_t> result;
  std::ranges::transform(program.exit_plans, outcomes, std::back_inserter(result),
                         program::skipped_iterations);
  return result;
}

[[nodiscard]] inline std::vector<pybind11::object> owners_of(const program::Program& program,
                                                             const std::vector<pybind11::array>& arrays) {
  std::vector<pybind11::object> result{arrays.begin(), arrays.end()};
  result.push_back(owner_of(program));
  return result;
}

}  // namespace cyclotron::bindings
