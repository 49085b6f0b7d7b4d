// Reductions along lines of PEs become trees of partial results.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Order of the reductions over an index.
struct Tree {
  std::string index;
  /// Partial results that are joined at a time; 0: two levels, of about as many each.
  std::int64_t radix = 2;
  /// PEs along the index, at most; 0: any number. So many neighbours are joined first, counted from the last.
  std::int64_t parts = 0;
  auto operator<=>(const Tree&) const = default;
};

/// `a tree of radix 2`, `two phases`.
[[nodiscard]] std::string to_string(const Tree& tree);

/// Joins the terms of each reduction over such an index in levels, at fixed distances along it: at level 0 those of a
/// block of so many neighbours as a PE or the tree joins, then the results of so many blocks next to each other, and so
/// on. The total is made at the last term, and so is the result of each block at its last; of the blocks the first may
/// be shorter. What crosses several places goes from neighbour to neighbour: all places between pass on what comes at
/// each level, used or not, so that a place's part depends on the powers of the radix that its distance from the last
/// is a multiple of, and on no more.
/// Requires: verify(system), one reduction an equation. Ensures: verify(result); without rounding the values are
/// unchanged.
/// Throws ScheduleError CYC318 where no reduction is over such an index, or one of several terms is over values that
/// are not the same everywhere.
[[nodiscard]] System reduce_in_trees(const System& system, const std::vector<Tree>& trees);

}  // namespace cyclotron::recurrence
