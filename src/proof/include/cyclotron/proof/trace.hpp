// A program unrolled: each PE's code as the sequence of what it does, with all loops and conditions decided.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::proof {

inline constexpr std::uint32_t none = 0xffffffffU;

/// One executed instruction. Its arguments start at `first` in the trace's pool and are, by kind:
///   Load       element of the slot, element of the tensor      Store  the same
///   Send       element of the slot, queue                      Receive  the same
///   Broadcast  element of the slot, number of queues, the queues
///   Move       element of the destination, of the source (0 for a constant, of a form its value)
///   Compute    element of the destination, of each operand (0 for a constant)
struct Event {
  std::uint32_t instruction = 0;  ///< In the class's code.
  std::uint32_t first = 0;
};

/// A first-in-first-out queue from one PE to another; `none` for an end where no PE has a program.
struct Queue {
  std::uint32_t channel = 0;
  std::uint32_t sender = none;    ///< Index in the trace's PEs.
  std::uint32_t receiver = none;  ///< Index in the trace's PEs.
};

struct PeTrace {
  std::uint32_t pe_class = 0;
  std::vector<std::int64_t> coordinates;
  std::vector<Event> events;
};

struct Trace {
  std::vector<PeTrace> pes;  ///< Those that have a program, last grid dimension fastest.
  std::vector<Queue> queues;
  std::vector<std::int64_t> arguments;
  std::int64_t events = 0;  ///< Of all PEs.

  /// `PE (1, 2)`
  [[nodiscard]] std::string name(std::uint32_t pe) const;
};

/// Decides every loop, condition and index. Requires: program::verify(program).
/// Throws ProgramError CYC660 where an index is outside its slot or tensor, or a message leaves the grid;
/// CapacityError CYC669 where there are more than `limit` PEs or executed steps (loop turns count).
[[nodiscard]] Trace unroll(const program::Program& program, std::int64_t limit);

/// The values of the loops around an event, for people: `k = 3, j = 0`; empty outside loops.
[[nodiscard]] std::string loops_text(const program::Program& program, const Trace& trace, std::uint32_t pe,
                                     std::size_t event);

}  // namespace cyclotron::proof
