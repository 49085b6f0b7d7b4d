// The queues of a trace: who sends to whom.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <cyclotron/proof/trace.hpp>

namespace cyclotron::proof {

/// Finds queues by who receives, numbering them as they are met.
class Queues {
 public:
  Queues(const program::Program& program, Trace& trace, std::vector<std::uint32_t> pe_at)
      : trace_(trace), pe_at_(std::move(pe_at)) {
    stride_.assign(program.grid.size() + 1, 1);
    for (std::size_t d = program.grid.size(); d-- > 1;) stride_[d - 1] = stride_[d] * program.grid[d];
  }

  [[nodiscard]] std::uint32_t pe_at(std::int64_t index) const {
    return pe_at_[static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::int64_t index_of(const std::vector<std::int64_t>& coordinates) const {
    std::int64_t index = 0;
    for (std::size_t d = 0; d < coordinates.size(); ++d) index += coordinates[d] * stride_[d];
    return index;
  }
  [[nodiscard]] std::int64_t on_line(const std::vector<std::int64_t>& from, std::uint32_t axis,
                                     std::int64_t coordinate) const {
    return index_of(from) + (coordinate - along(from, axis)) * stride_[axis];
  }
  /// A PE's coordinate on a network's line.
  [[nodiscard]] std::int64_t along(const std::vector<std::int64_t>& from, std::uint32_t axis) const {
    return axis < from.size() ? from[axis] : index_of(from);
  }

  /// A link's queue, by its receiver.
  std::uint32_t link(std::uint32_t channel, std::int64_t receiver) { return find(channel, receiver, 0); }
  /// A network's, by receiver and the sender's coordinate along the axis.
  std::uint32_t network(std::uint32_t channel, std::int64_t receiver, std::int64_t coordinate) {
    return find(channel, receiver, coordinate);
  }

 private:
  std::uint32_t find(std::uint32_t channel, std::int64_t receiver, std::int64_t coordinate) {
    auto& of_channel = numbers_[channel];
    const auto key = static_cast<std::uint64_t>(receiver) << 32U | static_cast<std::uint64_t>(coordinate);
    const auto [place, is_new] = of_channel.emplace(key, static_cast<std::uint32_t>(trace_.queues.size()));
    if (is_new) trace_.queues.push_back({channel, none, pe_at(receiver)});
    return place->second;
  }

  Trace& trace_;
  std::vector<std::uint32_t> pe_at_;
  std::vector<std::int64_t> stride_;  // By axis.
  std::unordered_map<std::uint32_t, std::unordered_map<std::uint64_t, std::uint32_t>> numbers_;
};

}  // namespace cyclotron::proof
