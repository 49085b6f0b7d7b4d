// Bounds and blocks of a class's code.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/support/division.hpp>

namespace cyclotron::proof {

inline std::int64_t largest_lower(const std::vector<program::Bound>& bounds,
                                  const std::int64_t* environment) {
  std::int64_t result = std::numeric_limits<std::int64_t>::min();
  for (const auto& bound : bounds)
    result = std::max(result, ceil_divide(program::evaluate(bound.numerator, environment), bound.divisor));
  return result;
}

inline std::int64_t smallest_upper(const std::vector<program::Bound>& bounds,
                                   const std::int64_t* environment) {
  std::int64_t result = std::numeric_limits<std::int64_t>::max();
  for (const auto& bound : bounds)
    result = std::min(result, floor_divide(program::evaluate(bound.numerator, environment), bound.divisor));
  return result;
}

/// For each Loop and If, the index of its End.
inline std::vector<std::size_t> matching_ends(const std::vector<program::Instruction>& code) {
  std::vector<std::size_t> ends(code.size(), 0);
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto& action = code[at].action;
    if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action)) {
      open.push_back(at);
    } else if (std::holds_alternative<program::End>(action)) {
      ends[open.back()] = at;
      open.pop_back();
    }
  }
  return ends;
}

}  // namespace cyclotron::proof
