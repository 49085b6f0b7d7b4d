// The target machine as plain data (design section 4). Units are in the names.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <cyclotron/machine/memories.hpp>

namespace cyclotron::machine {

/// Wiring of the PEs: neighbours along each grid dimension, without or with wrap-around; hexagonal is a
/// mesh whose PEs are also joined to those at (1, 1) and (-1, -1) (Kung and Leiserson's arrays), a ring is a
/// torus of one dimension; custom: as the machine's link maps say.
enum class Topology : std::uint8_t { mesh, torus, hexagonal, ring, custom };
[[nodiscard]] std::string_view name(Topology topology);
[[nodiscard]] std::optional<Topology> topology_from_name(std::string_view text);

/// A depth that no program fills.
inline constexpr std::int64_t unbounded_depth = std::int64_t{1} << 30;

/// One hop between neighbouring PEs: a bounded first-in-first-out channel (CY-122 … CY-124).
struct Link {
  std::int64_t latency_cycles =
      1;  ///< From SEND to arrival; 0 where the hop is part of the operator that sends.
  std::int64_t response_latency_cycles =
      1;                             ///< From dequeue until the sender sees the free place, at least 0.
  std::int64_t words_per_cycle = 1;  ///< Elements a cycle, at least 1.
  std::int64_t depth = 2;            ///< Messages in flight or queued, at least 1.
  bool operator==(const Link&) const = default;
};

/// Links from each PE that a function is for to the PE that it names (`LinkFunction`).
struct LinkMap {
  std::string map;             ///< As `parse_link_map` reads it.
  std::optional<Link> link{};  ///< Else the machine's.
  bool operator==(const LinkMap&) const = default;
};

/// Latency of a broadcast to a PE so far away along its line: as the network's latency says; that for each PE of
/// the way; or that for each level of a binary tree over so many PEs, rooted at the sender.
enum class Spread : std::uint8_t { constant, distance, tree };
[[nodiscard]] std::string_view name(Spread spread);

/// Chips of equal blocks of PEs, the first at the grid's origin; those at the far edges may be smaller (CY-121).
struct Chiplets {
  std::vector<std::int64_t> shape;  ///< PEs of a chip along each grid dimension, each at least 1.
  Link link;  ///< Of a hop from one chip to another, whatever its direction, but where its link map has one.
  bool operator==(const Chiplets&) const = default;
};

/// A functional unit of a PE: what one pass works on at most, and how long it takes.
struct Unit {
  std::vector<std::int64_t>
      shape;                ///< Each at least 1: {m, n, k} of a matrix unit, which multiplies an m x k
                            ///< by a k x n tile; {lanes} of a vector unit; {} of a scalar unit.
  std::int64_t cycles = 1;  ///< From the start of a pass to that of the next, 1 to 2^16.
  /// From the start of a pass to its result, `cycles` to 2^16. None: `cycles`, the unit is not pipelined.
  std::optional<std::int64_t> latency_cycles{};
  /// NumPy's names of what it computes on; empty: all.
  std::vector<std::string> dtypes{};
  /// In which it adds up products of `dtypes`, which it converts as it takes them. None: as its operands.
  std::optional<std::string> accumulator{};
  bool operator==(const Unit&) const = default;
};

/// Cycles by which the result of a unit's last pass is later than the unit could begin another pass.
[[nodiscard]] inline std::int64_t pipeline_cycles(const Unit& unit) {
  return unit.latency_cycles.value_or(unit.cycles) - unit.cycles;
}

/// A processing element.
struct Pe {
  std::int64_t memory_bytes = 48 * 1024;
  std::int64_t flops_per_cycle =
      2;  ///< Cost of an operator without a unit: ceil(flops / flops_per_cycle), at least 1.
  std::map<std::string, std::int64_t>
      cycles;                    ///< Cost by operator name in cycles, whatever its unit; 0 is allowed.
  std::optional<Unit> matrix{};  ///< Runs products of tiles.
  std::optional<Unit> vector{};  ///< Runs elementwise operators and reductions of rows and columns.
  std::optional<Unit> scalar{};  ///< Runs elementwise operators on single elements, before `vector`.
  /// Of the register file, each of one element whatever its dtype; 0 to 2^20. None: as 0, where there are banks.
  std::optional<std::int64_t> registers{};
  /// Equal contiguous parts of the memory, each of which gives or takes a word a cycle; 1 to 1024, a divisor of
  /// `memory_bytes`. None: one where there are registers, else memory costs operators nothing.
  std::optional<std::int64_t> banks{};
  /// Different channels that a PE sends to or receives from at most, 1 to 2^20. None: any number.
  std::optional<std::int64_t> channels{};
  /// Most instructions that begin in a cycle, by what they do (`port_kinds`); 1 to 1024. Others are not limited.
  std::map<std::string, std::int64_t> ports{};
  /// Its units work side by side: an operator on one begins, in the program's order, once that unit may begin another
  /// pass, and the PE goes on at once. Else it goes on when the unit may begin another pass.
  bool overlap = false;
  /// Of `held_parts`, those that share the memory with the program's values; each once.
  std::vector<std::string> holds{};
  bool operator==(const Pe&) const = default;
};

/// The program's instructions; the queues into the PE; the elements of tensors that it loads and stores.
inline constexpr std::string_view held_code = "code", held_queues = "queues", held_tensors = "tensors";
inline constexpr std::array<std::string_view, 3> held_parts{held_code, held_queues, held_tensors};
[[nodiscard]] inline bool holds(const Pe& pe, std::string_view part) {
  return std::ranges::find(pe.holds, part) != pe.holds.end();
}

/// Kinds that `Pe::ports` limits: `send` also broadcasts, `issue` all instructions that are no control.
inline constexpr std::array<std::string_view, 5> port_kinds{"load", "store", "send", "receive", "issue"};

/// Tells whether results are there later than the PE goes on.
[[nodiscard]] bool is_pipelined(const Pe& pe);

/// Tells whether operators wait for banks.
[[nodiscard]] inline bool has_banks(const Pe& pe) { return pe.registers || pe.banks; }
[[nodiscard]] inline std::int64_t bank_bytes(const Pe& pe) { return pe.memory_bytes / pe.banks.value_or(1); }

/// A controller in the middle of the grid, which calls the procedures of the PEs where loops end by data. It decides what PEs
/// without one decide themselves.
struct Control {
  std::int64_t latency_cycles = 0;  ///< In which its executive decides, at least 0.
  std::int64_t hop_cycles = 1;      ///< Of a word from PE to PE, at least 0.
  std::int64_t setup_cycles = 55;   ///< Of each call in each PE, at least 0.
  std::int64_t pes = 996;           ///< Of its row, at most; at least 4.
  bool global_data = false;         ///< Its executive computes and holds what only control flow uses.
  bool operator==(const Control&) const = default;
};

/// The whole machine. An empty grid means: as large as the program needs.
struct Machine {
  std::vector<std::int64_t> grid;
  std::vector<Topology> topology = {
      Topology::mesh};  ///< Of all grid dimensions; or of each: meshes and tori.
  Link link;
  Link broadcast;  ///< The broadcast network from a feeder to the PEs of a line.
  Pe pe;
  std::map<std::vector<std::int64_t>, Link>
      links{};          ///< Instead of `link` along these hops: receiver minus sender, one a grid dimension.
  Memories memories{};  ///< By name. PEs that none serves load and store at no cost.
  std::optional<double> clock_hz{};  ///< Cycles a second, above 0, where they are known.
  std::optional<Chiplets> chiplets{};
  std::map<std::size_t, Link> broadcasts{};  ///< Instead of `broadcast` along these grid dimensions.
  Spread spread = Spread::constant;          ///< Of all broadcasts.
  std::vector<LinkMap>
      link_maps{};  ///< Of a custom topology, and only there; of those that join two PEs, the first.
  std::optional<Control> control{};  ///< None: PEs decide for themselves, at no cost.
  /// All channels over one hop share its bandwidth, at both of its ends; broadcasts along a line are on one bus.
  bool shared_links = false;
  bool operator==(const Machine&) const = default;
};

/// Tells whether instructions wait for what others of the PE, or of other PEs, have taken: shared links, results and
/// units of a pipeline, ports, rows of DRAM. Else a PE's time follows from its messages, its memory and its operators' cycles.
[[nodiscard]] bool has_hazards(const Machine& machine);

/// Dimensions of the grid, where its extents, its topology, its links or its memories tell.
[[nodiscard]] std::optional<std::size_t> dimensions(const Machine& machine);

/// Tells whether the PEs at the two ends of a grid dimension are neighbours.
[[nodiscard]] bool wraps_around(const Machine& machine, std::size_t dimension);
[[nodiscard]] bool wraps_around(const Machine& machine);  ///< Along any dimension.

/// Tells whether a hop from one PE to another, both given by their coordinates, leads from one chip to another.
[[nodiscard]] bool is_between_chips(const Chiplets& chiplets, std::span<const std::int64_t> sender,
                                    std::span<const std::int64_t> receiver);

/// The broadcast network along a grid dimension.
[[nodiscard]] const Link& broadcast_along(const Machine& machine, std::size_t dimension);
/// Cycles of a network from SEND until a PE `distance` away (at least 1) has the first word.
[[nodiscard]] std::int64_t broadcast_latency(const Machine& machine, const Link& network,
                                             std::int64_t distance);

/// The fewest links between two PEs of an array of these extents (a torus wraps at the machine's own grid
/// where it has one).
[[nodiscard]] std::int64_t hops(const Machine& machine, const std::vector<std::int64_t>& extents,
                                const std::vector<std::int64_t>& offset);

/// As `verify`; of a machine that programs are compiled for, with a grid of its own: throws ShapeError too where
/// memories are not attached to it (`verify_attachment`).
void verify_target(const Machine& machine);

/// The machine as a program on a part of its grid sees it, whose extents are `grid`: memories serve the same PEs. The part
/// begins at PE 0, or at the first place that more of the memories serve, where ports, chips and links are as at PE 0; throws
/// CapacityError CYC506 where none serves it anywhere. A machine as large as the program needs has its far edges there;
/// throws ShapeError where memories are not attached to it (`verify_attachment`).
[[nodiscard]] Machine on_part(Machine machine, const std::vector<std::int64_t>& grid);

/// The line of all PEs of a grid of two dimensions, which goes through its rows back and forth. Its links hold what all on
/// the way do; it has none of the memories, which serve PEs by their coordinates. None where the topology is custom, or the
/// grid has other dimensions.
[[nodiscard]] std::optional<Machine> line_of(Machine machine);

/// Throws ShapeError where a number is out of range (names it, its value and the range), or an offset in `links`
/// is no hop of the topology.
void verify(const Machine& machine);

/// `torus`, or with a word for each dimension, `torus x mesh`.
[[nodiscard]] std::string topology_text(const Machine& machine);

/// One line, for example `mesh 4x4, link latency 1 depth 2, 48 KiB a PE`.
[[nodiscard]] std::string to_string(const Machine& machine);

}  // namespace cyclotron::machine
