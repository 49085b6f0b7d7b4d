#include "replicate_rows.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <cyclotron/program/timing.hpp>

#include "../../engine/control.hpp"
#include "fast_forward.hpp"

namespace cyclotron::runtime::simulator {
namespace {

/// Tells whether a PE's steps or their times depend on its coordinate along the dimension, besides by its class.
bool depends(const Code& code, std::uint32_t dimension) {
  return std::ranges::any_of(code.steps, [&](const Step& step) { return depends_on(code, step, dimension); });
}

/// Along each dimension, the rows that are kept: the first and the last `half`; all where `removed` is 0.
struct Crop {
  std::int64_t half = 0;
  std::vector<std::int64_t> removed;
  [[nodiscard]] std::int64_t source_row(std::size_t dimension, std::int64_t row) const {
    return row < half ? row : row + removed[dimension];
  }
};

class RowReplicator {
 public:
  explicit RowReplicator(const TimedProgram& program) : program_(program) {
    const auto& grid = program.grid;
    strides_.resize(grid.size());
    std::int64_t size = 1;
    for (std::size_t d = grid.size(); d-- > 0; size *= grid[d]) strides_[d] = size;
    for (const auto& channel : program.source->channels) {
      for (const std::int64_t step : channel.offset) reach_ = std::max(reach_, std::abs(step));
    }
    for (std::uint32_t d = 0; d < grid.size(); ++d) uniform_.push_back(is_uniform(d));
  }

  /// Tells whether no PEs can wait for each other in no time: equations without loops of no latency have one solution.
  [[nodiscard]] bool takes_time() const {
    return std::ranges::all_of(program_.channels, [](const TimedChannel& channel) {
      return channel.delay >= 1 && channel.response >= 1;
    });
  }

  /// Rows that a link leads on at most, at least 1.
  [[nodiscard]] std::int64_t reach() const { return reach_; }

  /// None where there is nothing to leave out.
  [[nodiscard]] std::optional<Crop> crop(std::int64_t half) const {
    Crop result{.half = half, .removed = std::vector<std::int64_t>(program_.grid.size(), 0)};
    for (std::size_t d = 0; d < program_.grid.size(); ++d) {
      if (uniform_[d] && program_.grid[d] > 4 * half && same_class(d, half))
        result.removed[d] = program_.grid[d] - 2 * half;
    }
    const bool any = std::ranges::any_of(result.removed, [](std::int64_t rows) { return rows > 0; });
    return any ? std::optional(result) : std::nullopt;
  }

  [[nodiscard]] TimedProgram cropped(const Crop& crop) const {
    TimedProgram result = program_;  // codes are few
    std::int64_t size = 1;
    for (std::size_t d = 0; d < result.grid.size(); ++d) size *= result.grid[d] -= crop.removed[d];
    result.class_map.assign(static_cast<std::size_t>(size), 0);
    std::vector<std::int64_t> at(result.grid.size(), 0);
    for (std::uint32_t& pe_class : result.class_map) {
      std::int64_t from = 0;
      for (std::size_t d = 0; d < at.size(); ++d) from += crop.source_row(d, at[d]) * strides_[d];
      pe_class = program_.class_map[static_cast<std::size_t>(from)];
      for (std::size_t d = at.size(); d-- > 0 && ++at[d] == result.grid[d];) at[d] = 0;
    }
    return result;
  }

  /// The recorder by which rows of an array are compared. The times may take as
  /// much memory as the PEs of the whole array would have taken.
  [[nodiscard]] Recorder recorder(const TimedArray& array, const Crop& crop) const {
    constexpr std::size_t times_a_pe = 32;
    Recorder result;
    result.most_kept = std::max(result.most_kept, times_a_pe * program_.class_map.size());
    result.streams.resize(array.count());
    for (std::uint32_t o = 0; o < array.count(); ++o) {
      if (!is_compared(array, o, crop)) result.streams[o].count_only();
    }
    return result;
  }

  /// Rows of the whole array that those of the cropped one that has run stand for, if they do.
  [[nodiscard]] std::optional<RowReplicas> replicas(const TimedArray& array, const Recorder& recorder,
                                                    const Crop& crop) const {
    RowReplicas result{.cuts = {}, .steady = {}, .skipped = recorder.skipped};
    result.skipped.resize(array.state().queues.size());
    std::int64_t total = 0;  // Of the shifts along all dimensions.
    for (std::size_t d = 0; d < crop.removed.size(); ++d) {
      Cut& cut = result.cuts.emplace_back(Cut{.row = crop.half - 1, .copies = crop.removed[d], .shift = 0});
      if (cut.copies == 0) continue;
      const auto shift = shift_along(array, recorder, static_cast<std::uint32_t>(d), crop.half);
      // A ring would join the rows that are shifted most and those that are not.
      if (!shift || (*shift != 0 && machine::wraps_around(program_.source->machine, d))) return std::nullopt;
      cut.shift = *shift;
      std::int64_t all = 0;
      if (__builtin_mul_overflow(std::abs(cut.shift), cut.copies, &all) ||
          __builtin_add_overflow(total, all, &total) || total > latest) {
        too_long();
      }
    }
    for (std::uint32_t o = 0; o < array.count(); ++o) {
      result.steady.push_back(recorder.streams[o].size() == 0 ? 1 : 0);
      if (result.steady[o] == 0 && is_shifted(array, o, result) && !recorder.streams[o].starts_waiting())
        return std::nullopt;  // it starts at 0 wherever it is
    }
    return result;
  }

 private:
  [[nodiscard]] bool is_uniform(std::uint32_t dimension) const {
    const auto& channels = program_.source->channels;
    const bool network = std::ranges::any_of(channels, [&](const program::Channel& channel) {
      return channel.kind == program::Channel::Kind::network &&
             (channel.axis == dimension || channel.axis == program_.grid.size());
    });
    return !network &&
           std::ranges::none_of(program_.codes, [&](const Code& code) { return depends(code, dimension); });
  }

  /// Tells whether rows around the cut, and all between, have the same classes.
  [[nodiscard]] bool same_class(std::size_t dimension, std::int64_t half) const {
    const std::int64_t extent = program_.grid[dimension], stride = strides_[dimension];
    const std::int64_t first = half - 1 - reach_, last = extent - half + reach_;
    const auto& classes = program_.class_map;
    const auto line = static_cast<std::size_t>(stride);
    for (std::size_t start = 0; start < classes.size(); start += line * static_cast<std::size_t>(extent)) {
      const auto row = [&](std::int64_t x) {
        return classes.begin() + static_cast<std::ptrdiff_t>(start) + x * stride;
      };
      for (std::int64_t x = first + 1; x <= last; ++x) {
        if (!std::equal(row(x), row(x) + stride, row(first))) return false;
      }
    }
    return true;
  }

  /// Rows whose next one is compared with them: [half - 1 - reach, half - 1 + reach).
  [[nodiscard]] bool is_around_cut(std::int64_t row, std::int64_t half) const {
    return row >= half - 1 - reach_ && row < half - 1 + reach_;
  }

  /// Tells whether the PE's times are: with those of the next row or the one before.
  [[nodiscard]] bool is_compared(const TimedArray& array, std::uint32_t ordinal, const Crop& crop) const {
    for (std::uint32_t d = 0; d < crop.removed.size(); ++d) {
      const std::int64_t row = array.coordinate(array.grid_index(ordinal), d);
      if (crop.removed[d] > 0 && (is_around_cut(row, crop.half) || is_around_cut(row - 1, crop.half)))
        return true;
    }
    return false;
  }

  /// The shift from row to row around the cut, if it is one and the same for all PEs.
  [[nodiscard]] std::optional<std::int64_t> shift_along(const TimedArray& array, const Recorder& recorder,
                                                        std::uint32_t dimension, std::int64_t half) const {
    std::optional<std::int64_t> result;
    for (std::uint32_t o = 0; o < array.count(); ++o) {
      const std::uint32_t index = array.grid_index(o);
      const std::int64_t row = array.coordinate(index, dimension);
      if (!is_around_cut(row, half)) continue;
      const std::uint32_t next = array.ordinal(array.on_line(index, dimension, row + 1));
      const auto shift = recorder.streams[o].shift_to(recorder.streams[next]);
      if (!shift) return std::nullopt;
      if (recorder.streams[o].size() == 0) continue;
      if (result.value_or(*shift) != *shift) return std::nullopt;
      result = shift;
    }
    return result.value_or(0);
  }

  /// Tells whether some copy of the PE is.
  static bool is_shifted(const TimedArray& array, std::uint32_t ordinal, const RowReplicas& replicas) {
    for (std::uint32_t d = 0; d < replicas.cuts.size(); ++d) {
      const Cut& cut = replicas.cuts[d];
      const std::int64_t row = array.coordinate(array.grid_index(ordinal), d);
      const bool later = cut.shift > 0 ? row >= cut.row : row <= cut.row;
      if (cut.shift != 0 && later) return true;
    }
    return false;
  }

  const TimedProgram& program_;
  std::vector<std::int64_t> strides_;
  std::vector<char> uniform_;  // By dimension.
  std::int64_t reach_ = 1;     // Rows that a link leads on.
};

}  // namespace

std::optional<Timing> simulate_replicated(const TimedProgram& program, const Progress& progress,
                                          std::int64_t half) {
  const RowReplicator replicator(program);
  const auto& machine = program.source->machine;
  if (!replicator.takes_time() || !machine.memories.empty() || !machine.link_maps.empty())
    return std::nullopt;
  half = std::max(half, replicator.reach() + 1);
  for (auto crop = replicator.crop(half); crop; crop = replicator.crop(half *= 4)) {
    TimedEngine engine(replicator.cropped(*crop), progress);
    Recorder recorder = replicator.recorder(engine.array(), *crop);
    engine.array().record(recorder);
    std::int64_t skipped = 0;
    try {
      skipped = skip_periods(engine);
    } catch (const TooManyEvents&) {
      return std::nullopt;
    }
    if (!engine.finished()) return std::nullopt;
    if (const auto replicas = replicator.replicas(engine.array(), recorder, *crop)) {
      const std::size_t simulated = engine.array().grid_size();
      Timing timing = std::move(engine).timing(*replicas);
      timing.engine = "fast-forward";
      timing.cycles_skipped = skipped;
      timing.pes_skipped = static_cast<std::int64_t>(timing.pes.size() - simulated);
      return timing;
    }
  }
  return std::nullopt;
}

}  // namespace cyclotron::runtime::simulator
