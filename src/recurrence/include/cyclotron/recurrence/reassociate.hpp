// Reductions become reductions over blocks of their terms, so that blocks can run in parallel.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// The terms of every reduction over `index` in at most `parts` blocks, numbered by the index `into`.
struct Reassociation {
  std::string index;
  std::int64_t parts = 1;
  std::string into;
  bool operator==(const Reassociation&) const = default;
};

/// Of n values in `parts` blocks: ceil(n / ceil(n / parts)) blocks of ceil(n / parts), the last one shorter.
struct Blocks {
  std::int64_t first = 0;  ///< The least value.
  std::int64_t length = 1;
  std::int64_t count = 1;
  bool operator==(const Blocks&) const = default;
};
[[nodiscard]] Blocks blocks_of(std::int64_t first, std::int64_t last, std::int64_t parts);

/// Makes every reduction over `index` one over `into` of one over the values of `index` in that block: each
/// block is folded in ascending order, then the blocks are. Blocks are contiguous and the same in the whole
/// system: those of all values that the index takes anywhere. A sum or product over a block without a term
/// is 0 or 1; a maximum or minimum runs over the blocks that have terms.
/// A reassociation may name the `into` of another one.
/// Requires: verify(system). Ensures: verify(result); without rounding the values are unchanged.
/// Throws ScheduleError CYC318 where no reduction is over `index`, `into` is the name of an index or tensor,
/// `parts` is less than 1, or the blocks of a maximum that have terms are no region of affine constraints.
[[nodiscard]] System reassociate(const System& system, std::vector<Reassociation> reassociations);

}  // namespace cyclotron::recurrence
