// Executes a trace as a Kahn network on terms: what every PE stores, and when everything happens where no
// channel is ever full.
#pragma once
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <cyclotron/proof/terms.hpp>
#include <cyclotron/proof/trace.hpp>

namespace cyclotron::proof {

/// Cycles at which the messages of a queue enter and leave it, if no queue is ever full.
struct QueueTimes {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
};

/// The result of an execution on channels without bounds.
struct Executed {
  std::vector<std::vector<TermId>> stored;  ///< By output tensor and element; empty for inputs.
  std::vector<QueueTimes> times;            ///< By queue.
  /// By exit plan, run of its loop and iteration: the flag that all PEs look at; of plans per PE, one's runs after another's.
  std::map<std::tuple<std::uint32_t, std::int64_t, std::int64_t>, TermId> flags;
  bool finished = true;  ///< Else some PE waits for a message that nobody sends.
};

/// Limits of an execution.
struct Allowed {
  std::int64_t places = 0;  ///< Of all PEs' memories.
  /// Terms of the table that the equations contain, the first ones; 0 where they are not known. An operator
  /// that fails on some values makes no others, so that no program fails where its equations do not.
  std::size_t known_terms = 0;
};

/// Called at each store, before it is recorded: tensor, element, term, PE and event.
using OnStore = std::function<void(std::uint32_t, std::int64_t, TermId, std::uint32_t pe, std::size_t event)>;

/// The result does not depend on the order in which PEs run: each queue has one sender and one receiver.
/// Throws ProgramError: CYC661 where a slot is read that holds no value of its own, CYC662 where an element
/// is stored twice, CYC664 where a tile does not fit, CYC667 where a result overlaps what it is made from, CYC670
/// where PEs end a loop by different flags;
/// LegalityError CYC665 where an operator that may fail is applied to what the equations never apply it to;
/// CapacityError CYC669 where the PEs' memories are too large.
[[nodiscard]] Executed execute(const program::Program& program, const Trace& trace, TermTable& terms,
                               const Allowed& allowed, const OnStore& on_store);

}  // namespace cyclotron::proof
