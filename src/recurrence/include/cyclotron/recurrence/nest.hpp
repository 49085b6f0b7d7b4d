// Loop nests: statements that Python runs one after the other, elements assigned as often as they like.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Place of a statement in the text, and directions of its loops.
struct TextPosition {
  /// For each loop around the statement, and then for the statement: which one it is of those that the same
  /// loops hold.
  std::vector<std::int64_t> text;
  std::vector<bool> descending;  ///< For each loop: whether it counts down.
  bool operator==(const TextPosition&) const = default;
};

/// `system.equations` are statements: one runs at each point of its domain, in the order of `positions`, and
/// reads what is there then. Inputs are not assigned.
struct Nest {
  System system;
  std::vector<TextPosition>
      positions;  ///< Of each statement; no two stand at the same place with points in common.
  bool operator==(const Nest&) const = default;
};

}  // namespace cyclotron::recurrence
