// A compiled program: PE classes, each one loop nest of receive, compute and send, and the tables they name.
// It is what the file holds and what every runtime executes; it knows nothing of isl or of the compiler.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/operators/operators.hpp>
#include <cyclotron/support/id.hpp>
#include <cyclotron/support/number.hpp>
#include <cyclotron/support/span.hpp>

namespace cyclotron::program {

using operators::DType;
using operators::Flags;
using operators::Op;

using TensorId = Id<struct TensorTag>;
using ChannelId = Id<struct ChannelTag>;
using SlotId = Id<struct SlotTag>;
using ExitPlanId = Id<struct ExitPlanTag>;

/// constant + sum of coefficients[v] * environment[v]. The environment of an instruction is the PE's grid
/// coordinates followed by the variables of the loops around it, outermost first. Trailing zeros are omitted.
struct Affine {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  bool operator==(const Affine&) const = default;
};

/// A bound of a loop: ceil(numerator / divisor) as a lower, floor as an upper bound. divisor >= 1.
struct Bound {
  Affine numerator;
  std::int64_t divisor = 1;
  bool operator==(const Bound&) const = default;
};

/// `form >= 0`, `form == 0`, or `form mod modulus == 0`.
struct Condition {
  enum class Kind : std::uint8_t { non_negative, zero, divisible };
  Kind kind = Kind::non_negative;
  Affine form;
  std::int64_t modulus = 0;  ///< For `divisible`, at least 2; else 0.
  bool operator==(const Condition&) const = default;
};
using Conjunction = std::vector<Condition>;    ///< All hold; empty is true.
using Disjunction = std::vector<Conjunction>;  ///< Any holds; empty is false.

enum class Role : std::uint8_t { input, output, constant };

/// A tensor in memory outside the PEs. Elements of the grid (`extents`) are tiles of up to `tile` scalars;
/// the last tile of a dimension may be smaller (shape[d] - index * tile[d]). A tensor of scalars has tile 1
/// in every dimension. A constant is an input whose scalars are the program's own.
struct Tensor {
  std::string name;
  DType dtype = DType::float64;
  Role role = Role::input;
  std::vector<std::int64_t> shape;  ///< In scalars.
  std::vector<std::int64_t> tile;   ///< In scalars, one a dimension.
  bool blocked = false;
  std::vector<std::byte>
      values{};  ///< Of a constant: its scalars, little-endian, the last dimension fastest.
  /// Of a run, never in a file: its elements are in the PEs' own memories, so that no LOAD and STORE leaves the PE.
  bool resident = false;
  bool operator==(const Tensor&) const = default;
  [[nodiscard]] std::vector<std::int64_t> extents() const;  ///< In tiles: ceil(shape / tile).
};

/// Bytes of all scalars; none where a size is negative or the product reaches 2^62.
[[nodiscard]] std::optional<std::size_t> scalar_bytes(const Tensor& tensor);

/// Ways of messages. A link joins each PE to one other: along each grid dimension, sender = scale * receiver -
/// offset. A network joins the sender to any PE of its line along one grid dimension; each (sender, receiver) pair is a
/// first-in-first-out queue of its own. The executive's network joins it to all PEs that
/// receive on it, of a line of all the grid: there a coordinate is a PE's number, last dimension fastest.
struct Channel {
  enum class Kind : std::uint8_t { link, network };
  std::string name;  ///< For people, e.g. `A.j+1`.
  Kind kind = Kind::link;
  DType dtype = DType::float64;
  operators::Shape tile;             ///< Largest message.
  std::vector<std::int64_t> offset;  ///< Link: scaled receiver minus sender, one a grid dimension.
  std::uint32_t axis = 0;  ///< Network: the grid dimension it runs along; of the executive: after all.
  std::int64_t depth = 0;  ///< Messages; 0: the machine's.
  std::vector<std::int64_t> scale{};  ///< Link: as `offset`, at least 1; empty where all are 1.
  /// To the executive or from it, of a network by the hop; none: that of the machine, by the offset.
  std::optional<machine::Link> link{};
  bool operator==(const Channel&) const = default;
  [[nodiscard]] std::int64_t scale_along(std::size_t dimension) const {
    return scale.empty() ? 1 : scale[dimension];
  }
};

/// `count` tiles of up to `tile` scalars each, in PE memory or in registers (set by the memory layer); slots that never
/// live together may overlap.
struct Slot {
  std::string name;
  DType dtype = DType::float64;
  operators::Shape tile;
  std::int64_t count = 1;
  std::int64_t address = -1;  ///< Bytes from the start of PE memory; -1: in registers, or not laid out yet.
  bool persistent = false;    ///< Loaded before the time loop and kept.
  std::optional<std::int64_t> first_register{};  ///< Of as many as it has scalars.
  bool operator==(const Slot&) const = default;
  [[nodiscard]] std::int64_t words() const { return count * tile.rows * tile.columns; }
  [[nodiscard]] bool laid_out() const { return address >= 0 || first_register.has_value(); }
};

/// stride * (form mod modulus), the remainder in [0, modulus): a place in a circular buffer. Nothing where modulus is 0.
struct Wrap {
  Affine form;
  std::int64_t modulus = 0;
  std::int64_t stride = 1;
  bool operator==(const Wrap&) const = default;
};

/// Element `index` + `wrap` of a slot.
struct SlotRef {
  SlotId slot;
  Affine index;
  Wrap wrap{};
  bool operator==(const SlotRef&) const = default;
};

/// A constant operand, as a 1x1 tile of the dtype that the instruction takes there.
using Constant = Number;
using Operand = std::variant<SlotRef, Constant>;

/// for v = max(lower); v <= min(upper); v += step, up to the matching End. Both lists are non-empty.
struct Loop {
  std::string name;
  std::vector<Bound> lower;
  std::vector<Bound> upper;
  std::int64_t step = 1;
  bool operator==(const Loop&) const = default;
};
/// A number in PE memory as an end of a loop's iterations: `form < number` of the last ones, `form >= number` of the first.
struct DataBound {
  SlotRef number;  ///< A scalar of int64.
  Affine form;     ///< The variable of the loop directly around once or not at all, and others.
  bool last = true;
  bool operator==(const DataBound&) const = default;
};
/// Runs up to the matching End where the condition holds, and within the bounds, if there are any. These leave a range of
/// the iterations of the loop directly around, which a PE finds once for each run of it: the others take no time. What is
/// inside moves and computes only. Where no numbers are known, as in runs without data, all are within.
struct If {
  Disjunction condition;
  std::vector<DataBound> within{};
  bool operator==(const If&) const = default;
};
struct End {
  bool operator==(const End&) const = default;
};
struct Load {
  SlotRef destination;
  TensorId tensor;
  std::vector<Affine> index;  ///< In tiles.
  bool operator==(const Load&) const = default;
};
struct Store {
  TensorId tensor;
  std::vector<Affine> index;
  SlotRef source;
  bool operator==(const Store&) const = default;
};
/// On a link.
struct Send {
  ChannelId channel;
  SlotRef source;
  bool operator==(const Send&) const = default;
};
/// From a link (`sender` empty), or from a network, where `sender` is the sender's coordinate along the axis.
struct Receive {
  ChannelId channel;
  SlotRef destination;
  std::vector<Affine> sender;  ///< Zero or one form.
  bool operator==(const Receive&) const = default;
};
/// On a network: to every PE of the line whose coordinate along the axis is within the bounds, the sender
/// excepted.
struct Broadcast {
  ChannelId channel;
  SlotRef source;
  std::vector<Bound> lower;
  std::vector<Bound> upper;
  bool operator==(const Broadcast&) const = default;
};
/// destination <- a value that is there, or the number that a form is, in the dtype of its slot (of real numbers, bool
/// excepted).
struct Move {
  using Source = std::variant<SlotRef, Constant, Affine>;
  SlotRef destination;
  Source source;
  bool operator==(const Move&) const = default;
};
/// An element that a number in PE memory tells, of those numbered `lower` to `upper`: it lies stride * (number - lower)
/// after the one that the instruction names. What the instruction does is what it would do for each n of them in turn, with
/// the last operand's value where n is the number, the neutral one (of a scattered `copy` none) elsewhere; others stay.
struct Indexed {
  SlotRef number;  ///< A scalar of int64.
  Affine lower;
  Affine upper;
  std::int64_t stride = 1;
  bool scatters = false;  ///< It is the destination (an `add`'s first operand too); else the last operand.
  Constant neutral;
  bool operator==(const Indexed&) const = default;
};
/// destination <- op(operands). The destination may be the same slot element as the accumulator (first
/// operand of the *_add and *_subtract forms) or, for elementwise operators, any operand; it overlaps no
/// other operand.
struct Compute {
  Op op = Op::add;
  Flags flags = 0;
  std::vector<Operand> operands;
  SlotRef destination;
  /// Of `add` on scalars; of `copy`, which adds up all terms but the first, or, where it scatters, overwrites.
  std::optional<Indexed> indexed{};
  bool operator==(const Compute&) const = default;
};

/// At the end of a loop: where the flag is false in an iteration v, first <= v <= last, those up to `last` are left out,
/// as many as are a multiple of the period: v += (last - v) / period * period.
struct Exit {
  ExitPlanId plan;
  SlotRef runs;  ///< A flag of bool.
  bool operator==(const Exit&) const = default;
};

using Action = std::variant<Loop, If, End, Load, Store, Send, Receive, Broadcast, Move, Compute, Exit>;

struct Instruction {
  Action action;
  Span span;  ///< The Python text it came from.
  bool operator==(const Instruction&) const = default;
};

/// The program of all PEs whose coordinates lie in `region`.
struct PeClass {
  std::string name;         ///< e.g. `class 4`.
  Disjunction region;       ///< Over the grid coordinates.
  std::string region_text;  ///< The same in isl notation.
  std::vector<Slot> slots;
  std::vector<Instruction> code;
  std::int64_t memory_bytes = 0;  ///< Up to its slots' last byte, set by the memory layer.
  /// The code and the data of the controller's executive PE that are about global values. The grid has a row more, the
  /// last one along the first dimension, for this PE alone: no worker is there, and it is as far away as the controller.
  bool executive = false;
  bool operator==(const PeClass&) const = default;
};

/// Plan of a loop's early end. In its iterations first .. last all PEs do the same, but for elements of tensors, as `period`
/// iterations before; with its flag false they change nothing that is seen after it. So PEs that all leave out the same
/// iterations, as many as are a multiple of the period, go on as if the loop had had fewer. So does a PE on its own whose
/// loop has no messages.
struct ExitPlan {
  std::string loop;        ///< For people, e.g. `t`.
  std::int64_t steps = 0;  ///< For people: iterations of the loop where it does not end early.
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::int64_t period = 1;
  std::int64_t runs =
      1;                ///< Of the loop, one for each iteration of those around it; of each it may leave out.
  bool per_pe = false;  ///< Each PE leaves out its own, and has other runs.
  bool operator==(const ExitPlan&) const = default;
};
/// The most of a program, and of a tensor.
inline constexpr std::size_t most_exit_plans = 8, most_axes = 8;
/// Of a loop that may end early, in all its runs together.
inline constexpr std::int64_t most_iterations = std::int64_t{1} << 62;

struct Program {
  std::string kernel;
  machine::Machine machine;             ///< Its grid is `grid`.
  std::vector<std::int64_t> grid;       ///< PEs a dimension; at least one dimension.
  std::vector<std::string> grid_names;  ///< The index on each grid dimension, e.g. `i`.
  std::vector<Tensor> tensors;
  std::vector<Channel> channels;
  std::vector<PeClass> classes;
  std::vector<ExitPlan> exit_plans{};        ///< Of loops that may end early, at most `most_exit_plans`.
  std::map<std::string, std::string> notes;  ///< Provenance for people: schedule, time function, version.
  bool operator==(const Program&) const = default;

  /// Index of the class of the PE at `coordinates`, or none where no PE has a program.
  [[nodiscard]] std::size_t class_of(const std::vector<std::int64_t>& coordinates) const;
  static constexpr std::size_t no_class = static_cast<std::size_t>(-1);
  /// PEs in each class; linear in the grid (never called by the compiler).
  [[nodiscard]] std::vector<std::int64_t> pe_counts() const;
  /// `class_of` for the whole grid, last dimension fastest: `unmapped` where no PE has a program.
  [[nodiscard]] std::vector<std::uint32_t> class_map() const;
  /// PEs on a network's line.
  [[nodiscard]] std::int64_t line_extent(std::uint32_t axis) const;
  /// By class: those to which the executive's network leads; empty of other channels.
  [[nodiscard]] std::vector<bool> listeners(std::size_t channel) const;
  static constexpr std::uint32_t unmapped = 0xffffffffU;
};

[[nodiscard]] std::int64_t evaluate(const Affine& form, const std::int64_t* environment);
/// The element.
[[nodiscard]] std::int64_t evaluate(const SlotRef& reference, const std::int64_t* environment);
[[nodiscard]] bool holds(const Condition& condition, const std::int64_t* environment);
[[nodiscard]] bool holds(const Disjunction& condition, const std::int64_t* environment);

/// True where numbers in PE memory tell which iterations of a loop do something (`If::within`).
[[nodiscard]] bool is_bounded_by_numbers(const Program& program);

/// Everything that can be checked without running: ids within their tables, coefficient counts within the
/// environment, loops matched, operand counts and dtypes, slot addresses within memory, channels within the
/// grid's dimensions, sizes that overflow. Linear in the program. Throws ProgramError at the first fault.
void verify(const Program& program);

/// The text a person reads: regions and loop nests in the paper's notation (Fig. 14): `[i, k]_B <- [i-1,
/// k]_B`.
[[nodiscard]] std::string to_string(const Program& program);
[[nodiscard]] std::string to_string(const Program& program, const PeClass& pe_class);

}  // namespace cyclotron::program
