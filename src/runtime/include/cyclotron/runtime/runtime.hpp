// Runs a compiled program: what goes in, what comes out (design section 5).
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <cyclotron/program/exits.hpp>
#include <cyclotron/program/program.hpp>
#include <cyclotron/runtime/counters.hpp>
#include <cyclotron/runtime/loop_settings.hpp>

namespace cyclotron::runtime {

/// A dense array of a tensor's scalars in the caller's memory, any strides (in bytes). Not owned.
struct ArrayView {
  void* data = nullptr;
  std::vector<std::int64_t> strides;
};

/// One array for each tensor of the program, in table order. Outputs are written, inputs only read.
using Arrays = std::vector<ArrayView>;

/// Called now and then from a long run with the fraction done in [0, 1], or -1 where it is not known;
/// returning false stops the run with ExecutionError CYC702.
struct Progress : std::function<bool(double)> {
  using std::function<bool(double)>::function;
  /// A simulation stops in the same way after about so many instructions that it follows; those that it skips do not
  /// count.
  std::int64_t most_work = std::numeric_limits<std::int64_t>::max();
};

/// One thing a PE did, for timelines and tests. `start` and `end` in cycles; a stall is not an event.
struct Event {
  std::uint32_t pe = 0;           ///< Linear PE index, last grid dimension fastest.
  std::uint32_t instruction = 0;  ///< Index into the class's code.
  std::int64_t start = 0;
  std::int64_t end = 0;
  /// Its number among the computations, sends and receives of all PEs, from 0, in an order in which they can happen.
  std::uint32_t order = 0;
  std::vector<std::int32_t> loops;  ///< Values of the loop variables around it.
};

/// One message, from the sender's wait for a place to the receiver's. A broadcast is a message to each receiver, all
/// of the same `send_order`. Times in cycles.
struct MessageRecord {
  std::uint32_t channel = 0;
  std::uint32_t sender = 0;  ///< Linear PE index, as of an event.
  std::uint32_t receiver = 0;
  std::uint32_t send_instruction = 0;     ///< Index into the code of the sender's class.
  std::uint32_t receive_instruction = 0;  ///< Of the receiver's.
  std::uint32_t send_order = 0;           ///< As `Event::order`.
  std::uint32_t receive_order = 0;        ///< The same.
  std::int64_t words = 0;
  std::int64_t ready = 0;      ///< The sender came to the instruction.
  std::int64_t placed = 0;     ///< It had its places; the rest of its wait is for a link that others share.
  std::int64_t sent = 0;       ///< The message entered the channel.
  std::int64_t link_free = 0;  ///< The next one may enter the link.
  std::int64_t arrival = 0;
  std::int64_t waiting = 0;    ///< The receiver came to the instruction.
  std::int64_t received = -1;  ///< The message left the channel; -1: it never did.
};

/// One request of a PE to a port of its memory. Times in cycles.
struct MemoryRecord {
  std::uint32_t port = 0;         ///< In `Timing::memory_ports`.
  std::uint32_t pe = 0;           ///< Linear PE index, as of an event.
  std::uint32_t instruction = 0;  ///< Its LOAD or STORE: index into the class's code.
  std::uint32_t order = 0;        ///< Of the LOAD or STORE, as `Event::order`.
  std::int64_t words = 0;
  bool stores = false;
  std::int64_t waiting = 0;  ///< The PE came to the instruction.
  std::int64_t passed = -1;  ///< The PE went on; -1: it never came to it.
  std::int64_t asked = 0;    ///< The request came to the port.
  std::int64_t start = 0;    ///< The port began to transfer the words.
  std::int64_t end = 0;      ///< And ended.
  std::int64_t arrival = 0;  ///< In the PE, or in memory.
};

/// Cycles of one PE by what it did; they add up to the makespan.
struct PeCycles {
  std::int64_t busy = 0;
  std::int64_t stall_empty = 0;  ///< Waiting for a message.
  std::int64_t stall_full = 0;   ///< Waiting for a place in a channel, or for the link.
  std::int64_t stall_memory =
      0;  ///< Waiting for a LOAD, for a place for a STORE, or at the end for the last of these.
  std::int64_t stall_control = 0;  ///< Waiting for the controller's calls and setting them up.
  std::int64_t wait_control = 0;   ///< Of these, waiting.
  std::int64_t stall_link = 0;     ///< Waiting for a link that channels share, or for a bus.
  std::int64_t stall_unit = 0;     ///< Waiting for a result that a unit has not delivered, or for a unit.
  std::int64_t stall_port = 0;     ///< Waiting since all ports have an instruction in this cycle.
  std::int64_t idle = 0;           ///< After its last instruction, or without a program.
};

/// Statistics of a port of a memory.
struct MemoryPortStatistics {
  std::string memory;    ///< Its name.
  std::int64_t pes = 0;  ///< That share the port.
  std::int64_t loads = 0;
  std::int64_t stores = 0;
  std::int64_t words_loaded = 0;
  std::int64_t words_stored = 0;
  std::int64_t busy_cycles = 0;  ///< That it transferred words.
};

struct ChannelStatistics {
  std::string name;
  std::int64_t messages = 0;
  std::int64_t words = 0;
  std::int64_t queues = 0;           ///< Sender and receiver pairs that it joined.
  std::int64_t busy_cycles = 0;      ///< That messages kept these busy, all together.
  std::int64_t words_per_cycle = 0;  ///< Of the links of these, all together.
  /// Most messages, sent and not yet received, that any one queue of the channel held.
  std::int64_t peak_occupancy = 0;
};

/// Measurements of a simulation. Every array is over the grid, last dimension fastest.
struct Timing {
  std::int64_t cycles = 0;  ///< Makespan.
  std::vector<PeCycles> pes;
  std::map<std::string, std::vector<std::int64_t>> busy_by_operator;  ///< Of those that took time.
  std::vector<ChannelStatistics> channels;
  std::vector<MemoryPortStatistics> memory_ports;
  std::vector<std::uint32_t> memory_port_of_pe;  ///< By PE, or 2^32 - 1; empty where no PE is served.
  Counters counters;
  std::vector<Event> events;
  std::int64_t events_dropped = 0;  ///< Beyond the limit.
  std::vector<MessageRecord> messages;
  std::int64_t messages_dropped = 0;  ///< Beyond the limit.
  std::vector<MemoryRecord> memory_requests;
  std::int64_t memory_requests_dropped = 0;  ///< Beyond the limit.
  std::int64_t instructions = 0;             ///< Executed, all PEs.
  std::string engine;                        ///< `functional`, `general` or `fast-forward`: what measured it.
  std::int64_t cycles_skipped = 0;           ///< By fast-forward; the rest was run step by step.
  std::int64_t pes_skipped = 0;              ///< By fast-forward, as copies of their neighbours.
  std::vector<program::ExitOutcome>
      exits;  ///< Of loops that may end early; empty where only time was simulated.
};

/// Ways to simulate timing-only runs. All measure the same, bit for bit.
enum class Engine : std::uint8_t {
  automatic,     ///< Fast-forward, which does no harm where nothing repeats itself; or PEs side by side.
  general,       ///< Each instruction of each PE.
  fast_forward,  ///< Skips whole periods where all PEs repeat themselves.
};

struct SimulatorOptions {
  bool functional = true;  ///< Move and compute numbers too; false: time only, arrays may be empty.
  /// Compute events to keep, and messages; 0 keeps none. A run keeps all of a kind or, where there are more, none; and
  /// no messages without the events.
  std::int64_t event_limit = 200'000;
  Engine engine = Engine::automatic;  ///< Of a timing-only run.
  int threads = 0;                    ///< For the numbers; 0: one a core.
  /// Of a timing-only run, by exit plan: after how many iterations its loop ends each time; -1: after all. Empty: all.
  std::vector<std::int64_t> steps{};
  /// Tensors, by number, whose elements the PEs have in their own memories: their LOADs and STOREs ask no memory.
  std::vector<std::size_t> resident{};
};

/// Cycle-accurate simulation (CY-118, CY-119): each PE has a local clock.
/// SEND k on a queue of depth c: t = max(t, dequeue(k - c) + response latency, the link is free again); the
/// link is busy for ceil(words / words_per_cycle) cycles; arrival = t + latency + that - 1. RECV: t = max(t,
/// arrival); the place frees then. A broadcast enters all its queues at once, when each has a place.
/// Operators cost the machine's cycles; LOAD, STORE, MOVE, SEND and RECV cost 0 themselves.
/// A PE that a memory serves has its loads fetched ahead, in the order of its program, and its stores written behind:
/// LOAD m is asked for once LOAD m - 1 has been transferred and the PE has taken LOAD m - depth; it arrives latency +
/// ceil(words / words_per_cycle) - 1 cycles after the transfer began, and LOAD: t = max(t, arrival). STORE m: t =
/// max(t, the end of the transfer of STORE m - depth); it is asked for then, or once STORE m - 1 has been transferred.
/// A PE ends when its stores have arrived. A port transfers one request at a time, for ceil(words / words_per_cycle)
/// cycles, the one that was asked for first; of those asked for in one cycle that of the first PE in the order of the
/// grid, its load before its store.
/// Where a memory has DRAM (`machine::Dram`) behind its ports, the words of a request pass run by run, each of a row: from
/// max(the run before, when the request may pass, the row is open) on, for ceil(words of the run / words_per_cycle). A row is
/// open `activate` after its bank opened it: max(the memory has the request, the bank may), `precharge` later where another
/// row is open, which may close `open` after it was opened, and after its last words, `recovery` after words that were
/// written. The memory has LOAD m from when the PE has taken LOAD m - depth, and STORE m from when it left the PE. Between
/// words read and written pass `turnaround` cycles. Refresh m is due in cycle m * interval: before words that would pass then
/// or later all rows close, once they may, and all banks are refreshed. Tensors lie one after the other in the order of the
/// program, each from a new row on, in rows one after the other, of which each bank in turn has one.
/// On a machine with control, a program with loops that end by data runs beside that of its control system
/// (`program::control_system`), which stands next to the PE in the middle of the grid, at coordinate (extent - 1) / 2 of
/// each dimension: PEs are `hops` from there. Where the control system's worker would have a word in cycle w, a PE has it in
/// w + hop * hops. A PE that comes to a procedure takes the words up to those of its call, the last in cycle w, and sets it
/// up: t = max(t, w + hop * hops) + setup. At an EXIT it takes those up to the end of the iteration, for which it does not
/// wait; in an iteration in which the loop may end the nearest of its PEs comes there in cycle t, and the control system's
/// worker sends the flag in t + hop * hops. A word has left its queue once all PEs have taken it.
/// Where links are shared (`Machine::shared_links`), all channels on one way (`Wires::way`) have one link, which passes
/// words_per_cycle words of whichever messages in a cycle: SEND waits for the first cycle in which the words before leave
/// one free too, takes the free words from there on, and arrives `latency` after the cycle of its last word. A PE's end
/// of a bus passes words likewise, `latency` later, in the order in which they were put on it. A broadcast asks for the bus of its line once it has all its places; the bus takes those that ask one
/// at a time, the one that asked first, in one cycle that of the first PE in the order of the grid. Where PEs cause each
/// other's requests in no time, whatever no longer waits for a bus or a memory comes first.
/// Of a pipelined unit (`Unit::latency_cycles`) a result is there so much later than the PE goes on as the latency is
/// above the cycles of a pass. What reads or overwrites it waits until then, but for a store that no memory serves; where
/// a number tells the element, for all of the slot. Where units overlap (`Pe::overlap`), an operator begins when its unit
/// may begin another pass, and the PE goes on at once; who overwrites an operand waits until the unit may begin another
/// pass. Instruction m of a kind with n ports (`Pe::ports`) begins a cycle after m - n of that kind, or later.
/// Numbers decide when a loop ends early: a timing-only run goes through all of its iterations, or through the `steps` that
/// are given.
/// A timing-only run does not look at tensors and slots, so it does not tell indices outside them.
/// Throws DeadlockError with the cycle of waits (PE, channel, full or empty, source line) and a depth that
/// would break it if one would; ExecutionError where an operator fails (for example a matrix that is not
/// positive definite), naming PE and instruction, CapacityError CYC503 where tensors are larger than the memory of the
/// PEs that load and store them, CYC708 where cycles no longer fit 62 bits, and CYC709 where
/// `Engine::fast_forward` is asked for and tiles of several sizes share a slot or channel, or the machine has hazards
/// that only the interpreter knows.
[[nodiscard]] Timing simulate(const program::Program& program, const Arrays& arrays,
                              const SimulatorOptions& options = {}, const Progress& progress = {});

/// Cycles in which the PEs do nothing but the STOREs of a resident output, in the order of the program and of loops that
/// do not end early; by the rules of `simulate`. Requires: it is an output.
[[nodiscard]] std::int64_t fetch_cycles(const program::Program& program, std::size_t tensor,
                                        const Progress& progress = {});

/// Throws CapacityError CYC505 where a PE's memory does not hold, besides the program's slots, and its code and queues where
/// they are in it, each element of the resident tensors that the PE loads or stores, once a tensor.
void require_room(const program::Program& program, const std::vector<std::size_t>& resident);

/// Runs the program on `threads` threads of this process (0: one a core). Same bits as `simulate`.
/// Channels are bounded as the machine says; DeadlockError and ExecutionError as there.
/// Loops that take long run in the machine's own code where `loops` names a compiler.
/// Returns how each loop that may end early did. What its threads' arithmetic raises (raised_flags.hpp) the caller's has
/// raised too, as in `simulate`.
std::vector<program::ExitOutcome> run_local(const program::Program& program, const Arrays& arrays,
                                            int threads = 0, const Progress& progress = {},
                                            const LoopSettings& loops = {});

/// Compiles the loops of a run of the program on these arrays at once; how many, 0 where there are none or the compiler fails.
std::size_t compile_loops(const program::Program& program, const Arrays& arrays, const LoopSettings& loops);

/// The BLAS's own configuration string, for `show_config`.
[[nodiscard]] std::string blas_version();

}  // namespace cyclotron::runtime
