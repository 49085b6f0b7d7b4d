// The state of a timing-only run: clocks, loop counters, and of each queue the times that can still matter.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <cyclotron/program/wires.hpp>

#include "recorder.hpp"
#include "../memory/memory_ports.hpp"
#include "timed_program.hpp"

namespace cyclotron::runtime::simulator {

struct TimedPe {
  std::int64_t now = 0;
  std::int64_t stall_full = 0;
  std::uint32_t counter = 0;  ///< The next op.
  std::uint32_t pe_class = 0;
  std::uint32_t ports = 0;      ///< First of its part of `queue_of_port`.
  std::uint32_t registers = 0;  ///< First of its part of `registers`.
};

/// A queue's times are a ring of places: place `m` holds when message m arrives, and once it has been received
/// when it departed. Counts wrap around; only differences of near ones are formed.
struct TimedQueue {
  std::uint32_t ring = 0;  ///< First of its places in `times`.
  std::uint32_t mask = 0;  ///< Places - 1; a power of two of them.
  std::uint32_t sent = 0;
  std::uint32_t received = 0;
  std::uint32_t stop = 0;    ///< Sends are known to find a place up to this one.
  std::uint32_t oldest = 0;  ///< Departures before this one bind nobody any more.
  std::uint32_t peak = 0;    ///< Most messages that were in it when one entered.
  std::uint16_t channel = 0;
  bool sender_waits = false;
  bool receiver_waits = false;
  std::uint32_t sender = 0;  ///< Ordinals, or `TimedArray::none`.
  std::uint32_t receiver = 0;
  std::int64_t link_free = 0;  ///< Cycle from which the link is free.
};

/// Everything that a run changes: a copy of it is a snapshot.
struct TimedState {
  std::vector<TimedPe> pes;  ///< By ordinal: PEs that have a program, in the order of the grid.
  std::vector<std::int64_t> registers;
  std::vector<TimedQueue> queues;
  std::vector<std::int64_t> times;  ///< The rings of all queues.
  std::vector<std::int64_t>
      port_free;  ///< Cycle from which a network's sender may send, by port; empty if none.
  std::vector<std::int64_t> messages;  ///< By channel: those that its queues no longer count.
};

class TimedArray {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;
  /// A time before all others, which binds nobody.
  static constexpr std::int64_t never = -(std::int64_t{1} << 62);

  /// Throws ExecutionError CYC705 where the PEs do not fit this computer, and as `MemoryPorts`.
  explicit TimedArray(TimedProgram program);

  [[nodiscard]] const TimedProgram& program() const { return program_; }
  [[nodiscard]] TimedState& state() { return state_; }
  [[nodiscard]] const TimedState& state() const { return state_; }
  [[nodiscard]] MemoryPorts& memory() { return *memory_; }
  [[nodiscard]] const MemoryPorts& memory() const { return *memory_; }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(grid_index_.size()); }
  [[nodiscard]] std::uint32_t grid_size() const { return static_cast<std::uint32_t>(ordinal_.size()); }
  [[nodiscard]] std::uint32_t grid_index(std::uint32_t ordinal) const { return grid_index_[ordinal]; }
  [[nodiscard]] const std::vector<std::uint32_t>& grid_indices() const { return grid_index_; }
  /// Of the PE at a grid index; `none` where it has no program.
  [[nodiscard]] std::uint32_t ordinal(std::size_t grid_index) const { return ordinal_[grid_index]; }
  [[nodiscard]] const TimedCode& code(const TimedPe& pe) const { return program_.classes[pe.pe_class]; }

  /// The queue of each port; `none` for a network's, and over the edge of the grid.
  [[nodiscard]] std::span<const std::uint32_t> queues_of(const TimedPe& pe) const {
    return {queue_of_port_.data() + pe.ports, code(pe).ports};
  }
  /// The queue on a network from the sender to the PE at `coordinate` on its line, made where it is new.
  [[nodiscard]] std::uint32_t network_queue(std::uint32_t channel, std::uint32_t sender_index,
                                            std::uint32_t receiver_index, std::int64_t sender_coordinate);
  /// The PE on the line of `grid_index` along `axis`; the coordinate is within the grid.
  [[nodiscard]] std::uint32_t on_line(std::uint32_t grid_index, std::uint32_t axis,
                                      std::int64_t coordinate) const;
  [[nodiscard]] std::int64_t line_extent(std::uint32_t axis) const {
    return axis < program_.grid.size() ? program_.grid[axis] : std::int64_t{grid_size()};
  }
  [[nodiscard]] std::int64_t coordinate(std::uint32_t grid_index, std::uint32_t axis) const {
    return axis + 1 == stride_.size() ? grid_index : grid_index / stride_[axis] % program_.grid[axis];
  }
  /// Tells whether a broadcast goes to a PE that is in its range.
  [[nodiscard]] bool leads_to(std::uint32_t channel, std::uint32_t grid_index) const {
    const auto& listeners = listeners_[channel];
    if (listeners.empty()) return true;
    const std::uint32_t ordinal = ordinal_[grid_index];
    return ordinal != none && listeners[program_.codes[state_.pes[ordinal].pe_class].index];
  }
  /// The PE's coordinates, then its loop variables; valid until the next call.
  [[nodiscard]] const std::int64_t* environment(std::uint32_t ordinal);

  /// The recorder of sends and receives, if there is one.
  [[nodiscard]] Recorder* recorder() const { return recorder_; }
  /// Requires: the recorder has a stream for each PE.
  void record(Recorder& recorder) { recorder_ = &recorder; }

  /// Frees what only a run needs: queues and ports.
  void release_queues();

  /// Gives a queue so many places, a larger power of two.
  void grow(TimedQueue& queue, std::uint32_t places);

 private:
  void place_pes();
  void connect();
  void reserve_queues();
  void attach_memories();
  std::uint32_t add_queue(std::uint32_t channel, std::uint32_t sender, std::uint32_t receiver);
  [[nodiscard]] std::uint32_t take_ring(std::uint32_t places);

  TimedProgram program_;
  TimedState state_;
  std::vector<std::int64_t> stride_;       ///< By axis; along the line of all the grid 1.
  std::optional<program::Wires> wires_;    // Always, once it is made.
  std::vector<std::uint32_t> ordinal_;     // By grid index.
  std::vector<std::uint32_t> grid_index_;  // By ordinal.
  std::vector<std::uint32_t> queue_of_port_;
  /// Queues that enter a PE from a network, by channel and grid index, with the sender's coordinate.
  std::vector<std::vector<std::vector<std::pair<std::int64_t, std::uint32_t>>>> rows_;
  std::vector<std::vector<bool>> listeners_;            // By the program's channel (`Program::listeners`).
  std::vector<std::vector<std::uint32_t>> free_rings_;  // By the logarithm of their places.
  std::vector<std::int64_t> environment_;
  Recorder* recorder_ = nullptr;
  std::optional<MemoryPorts> memory_;  // Always, once it is made.
};

}  // namespace cyclotron::runtime::simulator
