#include "space.hpp"

#include <algorithm>

#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::memory {

std::vector<Gap> Space::gaps(std::size_t slot) const {
  std::vector<Gap> result;
  std::int64_t free = 0;
  for (const Taken& taken : taken_) {
    if (taken.end <= free || !meet((*live_)[taken.slot], (*live_)[slot])) continue;
    if (taken.first > free) result.push_back({free, taken.first});
    free = taken.end;
  }
  result.push_back({free, 2 * beyond});
  return result;
}

void Space::take(std::size_t slot, std::int64_t first, std::int64_t size) {
  const Taken taken{first, std::min(first + size, beyond), slot};
  taken_.insert(std::ranges::upper_bound(taken_, first, {}, &Taken::first), taken);
  end_ = std::max(end_, taken.end);
}

std::optional<std::int64_t> fit(const Gap& gap, std::int64_t size, std::int64_t alignment,
                                const Gap& bounds) {
  const std::int64_t at = ceil_divide(std::max(gap.first, bounds.first), alignment) * alignment;
  return size <= std::min(gap.end, bounds.end) - at ? std::optional(at) : std::nullopt;
}

std::optional<std::int64_t> first_fit(const std::vector<Gap>& gaps, std::int64_t size, std::int64_t alignment,
                                      const Gap& bounds) {
  for (const Gap& gap : gaps) {
    if (const auto found = fit(gap, size, alignment, bounds)) return found;
  }
  return std::nullopt;
}

std::int64_t best_fit(const std::vector<Gap>& gaps, std::int64_t size, std::int64_t alignment) {
  std::optional<std::int64_t> best;
  std::int64_t least = 0;
  for (const Gap& gap : gaps) {
    const auto found = fit(gap, size, alignment);
    if (!found || (best && gap.end - gap.first >= least)) continue;
    best = found;
    least = gap.end - gap.first;
  }
  CYC_CHECK(best, "the last gap has no end");
  return *best;
}

}  // namespace cyclotron::memory
