// Memories outside the PEs: which PEs they serve, and how many ports they have (TL-039, TL-040, TL-042).
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace cyclotron::machine {

/// Coordinates first, first + step, … before `last`; negative ones count from the far edge, as Python's slices do.
struct Slice {
  std::int64_t first = 0;
  std::optional<std::int64_t> last{};  ///< None: to the far edge.
  std::int64_t step = 1;               ///< At least 1.
  bool operator==(const Slice&) const = default;
};

/// The coordinates of a slice on an axis: first, first + step, … before last, all within the axis.
[[nodiscard]] Slice on_axis(const Slice& slice, std::int64_t extent);

/// Banks of DRAM, each with one row open at most; times in cycles. How a port uses them is told by `runtime::simulate`.
struct Dram {
  std::int64_t banks = 16;             ///< 1 to 2^16.
  std::int64_t row_bytes = 8192;       ///< Of a bank, at least 1; consecutive rows are in consecutive banks.
  std::int64_t activate_cycles = 0;    ///< From opening a row to its first words (tRCD).
  std::int64_t precharge_cycles = 0;   ///< From closing a row until the bank may open another (tRP).
  std::int64_t open_cycles = 0;        ///< That a row stays open at least (tRAS).
  std::int64_t recovery_cycles = 0;    ///< From the last word written until its row may close (tWR).
  std::int64_t turnaround_cycles = 0;  ///< Between words read and written, or written and read.
  std::int64_t interval_cycles = 0;    ///< From one refresh to the next (tREFI); 0: none.
  std::int64_t refresh_cycles = 0;     ///< Of a refresh (tRFC), before the next one.
  bool operator==(const Dram&) const = default;
};

/// A memory that PEs load from and store to through ports of bounded bandwidth. How a port serves the PEs that share it
/// is told by `runtime::simulate`.
struct Memory {
  std::int64_t bandwidth_words_per_cycle = 1;  ///< Elements through one port, at least 1.
  std::int64_t latency_cycles =
      1;                   ///< From the start of a transfer to the arrival of its first words, at least 1.
  std::int64_t depth = 2;  ///< Loads that a PE has under way, and stores, at least 1 of each.
  /// The PEs that it serves, as boxes of one slice a grid dimension; empty: all.
  std::vector<std::vector<Slice>> serves{};
  /// The extents of the blocks of the grid whose PEs share a port; empty: each PE has its own.
  std::vector<std::int64_t> shared_by{};
  std::optional<std::int64_t> size_bytes{};  ///< Of all of it; none: ample.
  std::optional<Dram> dram{};                ///< Behind each port; none: words are always at hand.
  bool operator==(const Memory&) const = default;
};
using Memories = std::map<std::string, Memory>;

/// The port that each PE of a grid uses.
struct Attachment {
  static constexpr std::uint32_t none = 0xffffffffU;
  struct Port {
    std::string memory;     ///< Its name.
    std::uint32_t pes = 0;  ///< That it serves.
  };
  std::vector<Port> ports;  ///< Memory by memory, and block by block in the order of the grid.
  std::vector<std::uint32_t>
      of_pe;  ///< By grid index, last dimension fastest; empty where there is no memory.
};

/// Linear in the grid (never called by the compiler). Requires: `verify_memories` accepts them on that grid.
[[nodiscard]] Attachment attach(const Memories& memories, const std::vector<std::int64_t>& grid);

/// True where a memory serves the PE.
[[nodiscard]] bool is_served(const Memories& memories, const std::vector<std::int64_t>& grid,
                             const std::vector<std::int64_t>& pe);

/// Those of a grid that goes on along its first dimension: they serve none of the PEs there.
[[nodiscard]] Memories on_longer(Memories memories, const std::vector<std::int64_t>& grid);

/// Throws ShapeError CYC401 where a number is out of range, a box or block has not the rank of the grid (if that is
/// known), two memories serve one PE of the grid, or a memory is too small for one element.
void verify_memories(const Memories& memories, std::optional<std::size_t> dimensions,
                     const std::vector<std::int64_t>& grid);

/// Of a machine of this grid, not of a program on a part of it. Throws ShapeError CYC401 where a box holds none of
/// its PEs, or blocks do not tile it.
void verify_attachment(const Memories& memories, const std::vector<std::int64_t>& grid);

/// For example `, memory dram 4 words a cycle latency 100 depth 8 for (:, 0), a port for each 4x1`.
[[nodiscard]] std::string to_string(const Memories& memories);

}  // namespace cyclotron::machine
