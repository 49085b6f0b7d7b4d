// The PEs that a program's channels join, and the links of the machine between them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <cyclotron/machine/link_map.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// The wires of a program, made once and asked for any PE. Refers to the program.
class Wires {
 public:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  explicit Wires(const Program& program);
  /// On a grid of other extents.
  Wires(const Program& program, std::vector<std::int64_t> grid);

  /// The PE that a link's channel leads to from the one at `sender`, last grid dimension fastest; none over the edge
  /// of the grid.
  [[nodiscard]] std::size_t receiver(std::size_t channel, std::span<const std::int64_t> sender) const;
  /// The PE that a link's channel comes from to the one at `receiver`, as above.
  [[nodiscard]] std::size_t sender(std::size_t channel, std::span<const std::int64_t> receiver) const;

  /// The wires of a link's channel from the PE at `from`: channels from there that have the same way share them. The
  /// offset, the short way round where the grid wraps around; with link maps the PE that they lead to.
  [[nodiscard]] std::vector<std::int64_t> way(std::size_t channel, std::span<const std::int64_t> from) const;

  /// Tells whether each channel has one link, whoever sends.
  [[nodiscard]] bool are_alike() const { return alike_; }
  /// The link of a channel's messages from the PE at `sender`, or over the broadcast network. Refers to the machine.
  /// Requires, unless wires are alike: the channel leads from there to a PE.
  [[nodiscard]] const machine::Link& link(std::size_t channel, std::span<const std::int64_t> sender) const;
  /// All links that a channel's messages may travel on, the first where nothing else is said. With link maps, linear
  /// in the grid.
  [[nodiscard]] std::vector<const machine::Link*> links(std::size_t channel) const;
  /// Cycles of a message from that sender to that receiver, of one word.
  [[nodiscard]] std::int64_t latency(std::size_t channel, std::span<const std::int64_t> sender,
                                     std::span<const std::int64_t> receiver) const;
  /// PEs from a network's sender to a receiver along its line, the short way round where the grid wraps around; from the
  /// executive, the hops of its words (`time_executive`).
  [[nodiscard]] std::int64_t distance(std::size_t channel, std::span<const std::int64_t> sender,
                                      std::span<const std::int64_t> receiver) const;
  /// Messages that the queue from that sender holds: the channel's own depth, or that of its link.
  [[nodiscard]] std::int64_t depth(std::size_t channel, std::span<const std::int64_t> sender) const;
  struct Depths {
    std::int64_t least = 0;
    std::int64_t most = 0;
  };
  /// Of the channel's queues.
  [[nodiscard]] Depths depths(std::size_t channel) const;

  [[nodiscard]] std::vector<std::int64_t> coordinates(std::size_t pe) const;

  /// Cycles of a network's message over such a distance.
  [[nodiscard]] std::int64_t broadcast_latency(std::size_t channel, std::int64_t distance) const;

 private:
  enum class End : std::uint8_t { sender, receiver };
  /// The PE at that end of a link's channel whose other end is at `from`.
  [[nodiscard]] std::size_t moved(std::span<const std::int64_t> from, const Channel& channel, End to) const;
  /// Tells whether a link's channel leads to the executive or from it, by wires of its own.
  [[nodiscard]] static bool is_of_executive(const Channel& channel) { return channel.link.has_value(); }
  /// Tells whether the channel has one link.
  [[nodiscard]] bool is_alike(std::size_t channel) const;
  [[nodiscard]] std::vector<const machine::Link*> links_of_maps(std::size_t channel) const;
  /// The first link map that joins two PEs; the number of maps where none does.
  [[nodiscard]] std::size_t link_map(std::span<const std::int64_t> sender, std::size_t receiver) const;

  const Program* program_;
  std::vector<std::int64_t> grid_;
  std::vector<std::int64_t> field_;  // Without the executive's row.
  std::vector<std::int64_t> stride_;
  std::vector<const machine::Link*> link_;  // By channel, where nothing else is said.
  std::vector<machine::LinkFunction> maps_;
  bool alike_ = true;
};

/// The least depth of each channel's queues.
[[nodiscard]] std::vector<std::int64_t> least_depths(const Program& program);

}  // namespace cyclotron::program
