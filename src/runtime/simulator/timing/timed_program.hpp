// A program for timing-only runs: what moves messages, takes cycles or decides where to go on. Programs are shared by
// all PEs of a class.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <cyclotron/program/program.hpp>
#include <cyclotron/runtime/counters.hpp>

#include "../../engine/code.hpp"

namespace cyclotron::runtime::simulator {

/// Iterations of a PE at a turn: enough to make the turn cheap, few enough that its messages stay in the cache.
inline constexpr std::uint32_t iterations_a_turn = 16;

struct TimedOp {
  static constexpr std::uint32_t uncounted = 0xffffffffU;
  static constexpr std::uint32_t most_levels =
      8;  ///< With bits in `rounds` and `uniform`, the outermost ones.
  enum class Kind : std::uint8_t {
    send,
    receive,       ///< From a link.
    receive_from,  ///< From a network.
    broadcast,
    compute,
    load,   ///< Of `words`, where a memory serves the PE; in classes of which it serves any.
    store,  ///< The same.
    body,  ///< First in a loop of sends, receives and computes alone: `bodies[body]` runs many iterations at once.
    // Control:
    loop,        ///< Finds its limits; goes to `target` where it is empty.
    fixed_loop,  ///< Limits known: `first` and `trips`.
    repeat,      ///< Goes to `target` while iterations remain.
    branch,      ///< Goes to `target` where the condition does not hold.
    skip,
    call,    ///< Start of a procedure: sets it up. As the next, only where there is a controller.
    decide,  ///< Possible end of a loop: waits for the controller.
    halt
  };
  Kind kind = Kind::halt;
  std::uint8_t rounds = 0;    ///< Of a repeat: a bit for each `TimedEngine::run_round` that ends at it.
  std::uint8_t level = 0;     ///< Loops around it; a repeat is inside its loop.
  std::uint8_t uniform = 0;   ///< A bit for each loop around: its iterations take the same steps.
  std::uint16_t port = 0;     ///< In the class's ports.
  std::uint16_t channel = 0;  ///< In the program's.
  std::uint32_t target = 0;   ///< In `ops`; of a body, its repeat.
  std::uint32_t step = 0;     ///< In the class's `Code`, for its forms.
  /// Of control: in `blocks`, the instructions since the control before it, which count when it runs. Of a broadcast:
  /// its message, which counts when anybody receives it.
  std::uint32_t block = uncounted;
  std::uint32_t body = 0;
  std::int64_t cycles = 0;  ///< Of a compute.
  std::int64_t words = 0;   ///< Of a load or store.
  std::int64_t first = 0;   ///< Of a fixed loop: the variable's first value. Of a decision: its exit plan.
  std::int64_t trips = 0;   ///< Of a fixed loop.
  std::int64_t stride = 0;  ///< Of a repeat: what the variable advances by.
};

/// A loop's iteration of sends, receives and computes alone.
struct TimedBody {
  static constexpr std::size_t most_lanes = 8;
  /// A port that it uses.
  struct Lane {
    std::uint16_t port = 0;
    std::uint16_t channel = 0;
    bool sends = false;
    std::uint32_t messages = 0;  ///< An iteration.
  };
  struct Op {
    TimedOp::Kind kind = TimedOp::Kind::compute;
    std::uint8_t lane = 0;
    std::int64_t cycles = 0;  ///< Of a compute; of a message, from sending to arrival.
    std::int64_t before = 0;  ///< Of a message: cycles of the computes before it, this iteration.
    std::int64_t transfer = 0;
    std::int64_t response = 0;
  };
  std::vector<Lane> lanes;
  std::vector<Op> ops;
  std::int64_t cycles = 0;  ///< Of all its computes.
  /// Each lane has one message an iteration, and its computes take longer than any link is busy with a message.
  bool steady = false;
};

/// The work of instructions without control between them.
struct TimedBlock {
  Work work;
  std::vector<std::pair<Op, std::int64_t>> busy;  ///< Operators and their cycles, if these are any.
};

struct TimedCode {
  std::vector<TimedOp> ops;
  std::vector<TimedBody> bodies;
  TimedBlock once;                 ///< The work of every PE that is done once.
  std::vector<TimedBlock> blocks;  ///< The others, each of which a PE counts.
  std::uint32_t loops = 0;         ///< Deepest nest.
  std::uint32_t ports = 0;
  /// A PE's own numbers: of each loop around, its variable and the iterations left with this one; then how many
  /// times it did each block.
  [[nodiscard]] std::uint32_t registers() const {
    return 2 * loops + static_cast<std::uint32_t>(blocks.size());
  }
};

/// A channel's constants.
struct TimedChannel {
  std::uint32_t source = 0;   ///< The program's channel.
  std::int64_t delay = 1;     ///< From sending to arrival.
  std::int64_t transfer = 1;  ///< Cycles that a message keeps the link busy.
  std::int64_t response = 1;  ///< From departure until the sender sees the free place.
  std::int64_t words = 1;     ///< Of a message.
  std::int64_t words_per_cycle = 1;
  std::uint32_t depth = 1;  ///< Messages; no queue ever holds `unbounded_depth`.
  std::uint32_t window =
      1;  ///< Messages that a queue may hold meanwhile: the depth, or more (`Senders::ahead`).
  /// A message must find the departures of those `depth` before it and of those that were in the queue with it (at
  /// most `depth`; twice that where a place that is left may be taken in the same cycle), besides those in the queue: so
  /// many places hold them.
  std::uint64_t places = 2;
  std::uint32_t axis = 0;
  bool network = false;
};

/// Channels are the program's; where its links differ from PE to PE, a channel for each, and the classes of PEs whose
/// ports are on others.
struct TimedProgram {
  const program::Program* source = nullptr;
  std::vector<std::int64_t>
      grid;  ///< Of PEs that are simulated: the source's, or fewer (replicate_rows.hpp).
  std::vector<std::uint32_t> class_map;  ///< Over this grid, as the program's, of the classes here.
  std::vector<Code> codes;               ///< By class, as `classes`; its ports name the channels here.
  std::vector<TimedCode> classes;
  std::vector<TimedChannel> channels;
  std::vector<std::vector<std::uint32_t>> by_distance;  ///< See `TimedWires`.
};

/// Iterations of a loop from `first` to `last`; at most 2^62 + 1.
[[nodiscard]] std::int64_t loop_trips(std::int64_t first, std::int64_t last, std::int64_t step);

/// Events after which a sender goes on.
enum class Senders : std::uint8_t {
  kept,  ///< Once the message that it takes the place of has left.
  ahead,  ///< At once, as if there were a place in time; the receiver sees later whether there was. Where no queue is
          ///< ever full, that is exact, and a PE has more to do at a turn.
};

/// Tells whether senders may run ahead: a place takes time to be free again, so that no PEs can wait for each other in no
/// time, and what the queues hold meanwhile is little.
[[nodiscard]] bool may_run_ahead(const program::Program& program);

/// None where time depends on what only the interpreter keeps (`constant_tile_sizes`, `has_hazards`), or a table is too
/// large for the compact form. Throws ProgramError as `decode`.
[[nodiscard]] std::optional<TimedProgram> time_program(const program::Program& program,
                                                       Senders senders = Senders::kept);

}  // namespace cyclotron::runtime::simulator
