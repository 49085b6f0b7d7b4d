// Deadlock and channel depths, exact: a program's sends and receives are known, so one run decides.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <cyclotron/proof/trace.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::proof {

/// A PE's operations on channels, in order; everything else is left out.
struct ChannelAction {
  enum class Kind : std::uint8_t { send, receive, broadcast };
  Kind kind = Kind::send;
  std::uint32_t queue = 0;  ///< Of a broadcast: where its queues start in `groups`.
  std::uint32_t count = 1;  ///< Queues of a broadcast.
  std::uint32_t event = 0;  ///< Of the PE, in the trace.
};

struct ChannelProgram {
  std::vector<std::vector<ChannelAction>> pes;
  std::vector<Queue> queues;
  std::vector<std::uint32_t> groups;
};

[[nodiscard]] ChannelProgram channels_of(const program::Program& program, const Trace& trace);

inline constexpr std::int64_t unbounded = std::int64_t{1} << 40;

/// Messages that each queue holds, as the program and its machine say.
[[nodiscard]] std::vector<std::int64_t> depths_of(const program::Program& program, const Trace& trace);
/// The depths of queues from those of their channels.
[[nodiscard]] std::vector<std::int64_t> of_queues(const ChannelProgram& channels,
                                                  const std::vector<std::int64_t>& of_channels);

/// Reason for which a PE cannot go on.
struct Wait {
  std::uint32_t pe = none;
  std::uint32_t peer = none;  ///< The PE that would have to go on first; none: it has no program.
  std::uint32_t queue = 0;
  std::uint32_t event = 0;
  bool full = false;  ///< Else empty.
};

/// Runs all PEs until each is done or waits. Since each queue has one sender and one receiver, the outcome
/// does not depend on the order, and more depth never blocks what passes with less. Depth 0 is rendezvous:
/// a send and its receive happen together, a broadcast and all its receives too. Depths are by queue.
struct ChannelRun {
  std::vector<Wait> waits;         ///< PEs that wait for ever, in order.
  std::vector<std::int64_t> left;  ///< Messages that stay in each queue at the end.
  [[nodiscard]] bool finished() const { return waits.empty(); }
};
[[nodiscard]] ChannelRun run_channels(const ChannelProgram& channels,
                                      const std::vector<std::int64_t>& depths);

/// DeadlockError CYC802 with the circle of waits: each PE, instruction, channel, full or empty. `help` says
/// what to do. Depths are by queue.
[[nodiscard]] DeadlockError deadlock_error(const program::Program& program, const Trace& trace,
                                           const ChannelProgram& channels, const ChannelRun& run,
                                           const std::vector<std::int64_t>& depths, std::string help);

/// The depths of one channel of the program's table.
struct ChannelDepth {
  std::string name;
  std::int64_t queues = 0;    ///< Number of its queues, one a pair of PEs that use it.
  std::int64_t messages = 0;  ///< Most through one queue.
  std::int64_t given = 0;     ///< As the program and its machine say; of any queue, the least.
  std::int64_t least = 0;     ///< See `Depths`.
  std::int64_t no_stall = 0;  ///< See `Depths`.
};

/// Depths by channel. All `least` together pass without deadlock, and none of them can shrink alone
/// (least sums are NP-complete and not looked for). With all `no_stall` together no PE ever waits for a
/// place, on the machine's latencies and operator cycles (the bandwidth of a link may still hold it up);
/// each of them is the least such depth whatever the others are, but not below its `least`.
struct Depths {
  std::vector<ChannelDepth> channels;
  bool passes_as_given = false;
  bool rendezvous = false;  ///< Passes with depth 0 everywhere.
};

/// Throws LegalityError CYC672 where the machine has hazards (`machine::has_hazards`), ProgramError as `execute` does
/// where the program is ill-formed, DeadlockError CYC802 where no depth helps, CapacityError CYC669 where the program is larger than `limit`.
[[nodiscard]] Depths least_depths(const program::Program& program, std::int64_t limit);

}  // namespace cyclotron::proof
