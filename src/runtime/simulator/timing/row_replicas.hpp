// An array that was simulated, standing for a larger one.
#pragma once
#include <cstdint>
#include <vector>

namespace cyclotron::runtime::simulator {

/// Along one dimension: after row `row` there are copies of it, each `shift` cycles later than the one before.
struct Cut {
  std::int64_t row = 0;
  std::int64_t copies = 0;
  std::int64_t shift = 0;

  /// The row that was simulated for row x.
  [[nodiscard]] std::int64_t row_of(std::int64_t x) const {
    return x <= row ? x : x <= row + copies ? row : x - copies;
  }
  /// Delay of it against that. Where times fall from row to row, those before the cut are later.
  [[nodiscard]] std::int64_t shift_of(std::int64_t x) const {
    const std::int64_t n = x <= row ? 0 : x <= row + copies ? x - row : copies;
    return shift >= 0 ? shift * n : -shift * (copies - n);
  }
  [[nodiscard]] std::int64_t times(std::int64_t simulated) const { return simulated == row ? copies + 1 : 1; }
};

struct RowReplicas {
  std::vector<Cut> cuts;     ///< By dimension.
  std::vector<char> steady;  ///< By ordinal of a simulated PE: its times are the same wherever it is.
  std::vector<std::int64_t> skipped;  ///< By queue: messages that were not simulated.
};

}  // namespace cyclotron::runtime::simulator
