// The PEs of one run: decoded classes, memories, and which queue each port of each PE is.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <cyclotron/program/wires.hpp>
#include <cyclotron/support/error.hpp>

#include "code.hpp"
#include "loops/compiled_loops.hpp"
#include "loop_exits.hpp"
#include "zero_pages.hpp"

namespace cyclotron::runtime {

/// A program file may ask for more PEs than any computer has; touching that memory would harm more than this
/// process.
inline constexpr std::int64_t pe_limit = std::int64_t{1} << 22;

/// Throws ExecutionError CYC705 where the grid has more PEs.
void check_grid_size(const program::Program& program);

/// The state of one PE. Tables are shared between PEs and owned by PeArray.
struct Pe {
  const Code* code = nullptr;
  std::byte* memory = nullptr;        ///< Null where only time is simulated.
  std::int64_t* variables = nullptr;  ///< Grid coordinates, then loop variables.
  std::int64_t* limits = nullptr;     ///< Last value of each variable's loop.
  TileSize* sizes = nullptr;
  const std::uint32_t* queues =
      nullptr;  ///< Of each port: a link's queue, a network's row; PeArray::none where there is none.
  std::uint32_t* loop_runs = nullptr;  ///< By exit plan: of its loop, that have ended.
  std::uint32_t counter = 0;           ///< The next step.
  std::uint32_t ordinal = 0;           ///< Among the PEs that have a program.
  std::uint32_t index = 0;             ///< In the grid, last dimension fastest.
  std::int64_t executed = 0;           ///< Instructions, control not counted.

  [[nodiscard]] const Step& step() const { return code->steps[counter]; }
};

/// A queue on a link. Ordinals are `PeArray::none` where a PE is off the grid or has no program.
struct Link {
  std::uint32_t channel = 0;
  std::uint32_t sender = 0;
  std::uint32_t receiver = 0;
  bool received = false;  ///< The receiver has a program, with a port for it.
};

/// Parts dealt out over the grid: along dimension d, blocks of `block[d]` PEs go round `count[d]` parts; parts
/// are numbered with the last dimension fastest.
struct BlockCyclic {
  std::vector<std::int64_t> count;
  std::vector<std::int64_t> block;
};

/// One of `count` parts of the PEs; all by default. Where nothing else is said, a part is a block of PEs in the
/// order of the grid, all of about the same size.
struct Part {
  std::uint32_t number = 0;
  std::uint32_t count = 1;
  std::optional<BlockCyclic> dealt{};
};

class PeArray {
 public:
  static constexpr std::uint32_t none = 0xffffffffU;

  /// Requires: a dealt part has the grid's dimensions, blocks of at least 1, and no more parts than `count`.
  /// Throws ProgramError where a program cannot be run, ExecutionError CYC705 where its PEs do not fit this
  /// computer.
  PeArray(const program::Program& program, bool functional, Part part = {});

  [[nodiscard]] const program::Program& program() const { return *program_; }
  /// The PEs of the part, in order; `pe(ordinal)` finds one of them by its ordinal.
  [[nodiscard]] std::span<const Pe> pes() const { return {pes_.data(), pes_.size()}; }
  [[nodiscard]] Pe& pe(std::uint32_t ordinal) { return pes_[ordinal - first_]; }
  [[nodiscard]] bool in_part(std::uint32_t ordinal) const { return ordinal >= first_ && ordinal < last_; }
  /// The number of the part that a PE is in.
  [[nodiscard]] std::uint32_t part_of(std::uint32_t ordinal) const;
  /// Number of PEs that have a program, in all parts.
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(grid_index_.size()); }
  [[nodiscard]] std::uint32_t grid_size() const { return static_cast<std::uint32_t>(ordinal_.size()); }
  [[nodiscard]] std::uint32_t grid_index(std::uint32_t ordinal) const { return grid_index_[ordinal]; }
  [[nodiscard]] std::uint32_t ordinal(std::size_t grid_index) const { return ordinal_[grid_index]; }
  [[nodiscard]] std::vector<std::int64_t> coordinates(std::uint32_t grid_index) const;
  /// `PE (1, 2)`.
  [[nodiscard]] std::string name(std::uint32_t grid_index) const;
  [[nodiscard]] const std::vector<Link>& links() const { return links_; }

  /// Networks: a row collects the queues that enter one PE from one channel; a queue in it is known by its
  /// sender's coordinate.
  [[nodiscard]] std::uint32_t network_rows() const { return networks_ * grid_size(); }
  [[nodiscard]] std::uint32_t row(std::uint32_t channel, std::uint32_t grid_index) const {
    return network_of_channel_[channel] * grid_size() + grid_index;
  }
  /// A PE's coordinate on a network's line.
  [[nodiscard]] std::int64_t along(std::uint32_t grid_index, std::uint32_t axis) const {
    return axis + 1 == grid_stride_.size() ? grid_index
                                           : grid_index / grid_stride_[axis] % program_->grid[axis];
  }
  /// The grid index of the PE on `pe`'s line along `axis` at `coordinate` (which is within the grid).
  [[nodiscard]] std::uint32_t on_line(const Pe& pe, std::uint32_t axis, std::int64_t coordinate) const {
    return on_line(pe.index, axis, coordinate);
  }
  [[nodiscard]] std::uint32_t on_line(std::uint32_t grid_index, std::uint32_t axis,
                                      std::int64_t coordinate) const {
    return static_cast<std::uint32_t>(grid_index +
                                      (coordinate - along(grid_index, axis)) * grid_stride_[axis]);
  }

  /// Tells whether a broadcast goes to a PE that is in its range.
  [[nodiscard]] bool leads_to(std::uint32_t channel, std::uint32_t grid_index) const {
    const auto& listeners = listeners_[channel];
    return listeners.empty() || (ordinal_[grid_index] != none && listeners[class_of_[ordinal_[grid_index]]]);
  }

  /// A number for each port of each PE of the part, below `port_count`.
  [[nodiscard]] std::size_t port_number(const Pe& pe, std::uint32_t port) const {
    return static_cast<std::size_t>(pe.queues - queues_.data()) + port;
  }
  [[nodiscard]] std::size_t port_count() const { return queues_.size(); }

  /// A number for each tile in the memories of the part's PEs, below `tile_count`; `size` is its entry in the
  /// PE's table of sizes.
  [[nodiscard]] std::size_t tile_number(const TileSize& size) const {
    return static_cast<std::size_t>(&size - sizes_.data());
  }
  [[nodiscard]] std::size_t tile_count() const { return sizes_.size(); }

  [[nodiscard]] const std::vector<Code>& codes() const { return codes_; }

  /// Null where the interpreter runs all loops. Any thread may ask while another one sets them.
  [[nodiscard]] const CompiledLoops* compiled_loops() const {
    return compiled_loops_.load(std::memory_order_acquire);
  }
  void set_compiled_loops(const CompiledLoops* loops) {
    compiled_loops_.store(loops, std::memory_order_release);
  }

  [[nodiscard]] LoopExits& loop_exits() { return loop_exits_; }
  [[nodiscard]] const LoopExits& loop_exits() const { return loop_exits_; }

  /// Progress of the part, in [0, 1]; a guess from the outermost loops.
  [[nodiscard]] double fraction_done() const;
  [[nodiscard]] static double fraction_done(const Pe& pe);

  [[nodiscard]] const program::Wires& wires() const { return wires_; }
  /// Messages that the queue of a channel from that sender holds; of none, the least of the channel's.
  [[nodiscard]] std::int64_t depth(std::uint32_t channel, std::uint32_t sender) const;

 private:
  void find_pes();
  void cut_into_parts();
  [[nodiscard]] std::size_t links_in() const;
  void connect();
  void allocate(bool functional);

  const program::Program* program_;
  program::Wires wires_;
  std::vector<std::int64_t> least_depth_;  // By channel.
  Part part_;
  std::vector<std::uint32_t> starts_;  // The first ordinal of each part, and the number of PEs.
  std::uint32_t first_ = 0;            // The part's ordinals are [first_, last_).
  std::uint32_t last_ = 0;
  std::vector<Code> codes_;
  std::vector<std::int64_t> grid_stride_;  ///< By axis; along the line of all the grid 1.
  std::vector<std::uint32_t> ordinal_;     ///< By grid index.
  std::vector<std::uint32_t> grid_index_;  ///< By ordinal.
  std::vector<std::uint32_t> class_of_;    ///< By ordinal.
  std::vector<Link> links_;
  std::vector<std::uint32_t> network_of_channel_;
  std::vector<std::vector<bool>> listeners_;  // By channel (`Program::listeners`).
  std::uint32_t networks_ = 0;
  ZeroTable<Pe> pes_;
  ZeroPages memory_;
  ZeroTable<std::int64_t> variables_;
  ZeroTable<TileSize> sizes_;
  ZeroTable<std::uint32_t> queues_;
  ZeroTable<std::uint32_t> loop_runs_;
  LoopExits loop_exits_;
  std::atomic<const CompiledLoops*> compiled_loops_ = nullptr;
};

/// The error of a kernel or an access, with the PE, the instruction and the values of the loops around it.
[[nodiscard]] ExecutionError failure_in(const PeArray& array, const Pe& pe, const KernelFailure& failure);

/// ExecutionError CYC702: called off, or at the most work (`Obstacle::effort`).
[[nodiscard]] ExecutionError interrupted();

}  // namespace cyclotron::runtime
