// The controller of a run: the programs of its PEs, run beside those of the workers (`program::control_system`).
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <cyclotron/program/control_system.hpp>
#include <cyclotron/program/exits.hpp>
#include <cyclotron/program/sections.hpp>
#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::simulator {

/// A run's controller, besides the program that is run.
struct ControlledRun {
  program::Program system;  ///< Its PEs' programs; their worker has no instructions.
  program::ControlFlow flow;
  std::vector<program::ExitOutcome> outcomes;  ///< Of the loops, by exit plan.
  std::vector<std::vector<std::uint32_t>>
      calls;  ///< By class and instruction of the program that is run: the number of the call that begins there; 0: none.
};

/// Of a run of the program whose loops end so, or of what is left of it then, if that is given. Requires:
/// uses_controller(program), and whoever runs it keeps the result.
[[nodiscard]] ControlledRun controlled_run(const program::Program& program,
                                           std::vector<program::ExitOutcome> outcomes,
                                           const program::Unrolled* unrolled = nullptr);

class IssueOrder;
class TimedEngine;

/// Runs the control system as far as it gets, gives it the flags of the workers, and has each worker wait for the words of
/// its calls. The merge PE's words are at the PE in the middle of the grid when the control system's own worker would have
/// them, and `hop` cycles a hop later at another; a flag goes the same way back. A word leaves its queue when the last PE
/// has taken it: those before the word that a PE waits for, and at the end of an iteration in which its loop may end those
/// of it. A PE that is done takes the others as they come. A call that the PE has on its own (in an iteration that it has
/// apart, of which the control flow knows in a loop) it sets up and does not wait for.
class Controller {
 public:
  using Wake = std::function<void(std::uint32_t)>;

  /// `grid_index`: of each PE that has a program, in the order of the grid. Null: nobody waits for a controller.
  Controller(const ControlledRun* run, const program::Program& program,
             const std::vector<std::uint32_t>& grid_index);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Of a PE at cycle `now`, which they move to when it goes on. False: it has to wait, is woken, and comes again.
  /// It comes to the EXIT of an iteration: the PE of its loop that is nearest tells the controller the flag.
  bool decide(std::uint32_t ordinal, std::uint32_t plan, std::int64_t iteration, std::int64_t& now,
              const Wake& wake);
  /// It comes to an instruction that may begin a call: it waits for that, and sets it up.
  bool call(std::uint32_t ordinal, std::uint32_t pe_class, std::uint32_t instruction, std::int64_t& now,
            const Wake& wake);
  /// It is done.
  void finish(std::uint32_t ordinal, std::int64_t now, const Wake& wake);

  /// Cycles of a PE so far: waiting for calls and setting them up, and the former alone.
  [[nodiscard]] std::int64_t stalled(std::uint32_t ordinal) const {
    return stalled_.empty() ? 0 : stalled_[ordinal];
  }
  [[nodiscard]] std::int64_t waited(std::uint32_t ordinal) const {
    return waited_.empty() ? 0 : waited_[ordinal];
  }

 private:
  /// A call that has been sent, or the end of an iteration; the last one is not known yet.
  struct Entry {
    std::uint32_t call = 0;     ///< Number; 0: an end.
    std::uint32_t plan = 0;     ///< Of an end.
    std::int64_t arrival = 0;   ///< Of a call's last word, at the PE in the middle.
    std::uint32_t next_of = 0;  ///< PEs of which it is the next.
    std::int64_t passed = 0;    ///< The latest cycle at which it was so of a PE that has gone past it.
  };
  struct Loop {
    bool issued = false;        ///< The control flow has it.
    std::uint32_t nearest = 0;  ///< Ordinal of its PE that tells the flags.
    bool told = false;          ///< That has told the flag of the iteration that it ends.
  };

  static constexpr std::uint32_t no_pe = 0xffffffffU;

  void find_nearest(const program::Program& program, const std::vector<std::uint32_t>& grid_index);
  [[nodiscard]] std::int64_t way(std::uint32_t ordinal) const { return hops_[ordinal] * control_.hop_cycles; }
  Entry& entry(std::int64_t number) { return entries_[static_cast<std::size_t>(number - first_)]; }
  /// The next entry of a PE of which `wanted` holds; none where more have to be known.
  template <class Wanted>
  [[nodiscard]] std::optional<std::int64_t> find(std::uint32_t ordinal, Wanted wanted);
  /// Has a PE wait until more entries are known, having passed those that are; false.
  bool await_more(std::uint32_t ordinal, std::int64_t now, const Wake& wake);
  void pass(std::uint32_t ordinal, std::int64_t to, std::int64_t now);
  /// Has entries leave that all PEs have passed.
  void release(const Wake& wake);
  /// Runs the control system, and wakes PEs where there is more.
  void run_system(const Wake& wake);
  bool add_entries();

  const ControlledRun* run_;
  machine::Control control_;
  std::vector<program::ExitPlan> plans_;
  std::unique_ptr<TimedEngine> system_;
  std::unique_ptr<IssueOrder> order_;
  std::uint32_t flags_ = 0, calls_ = 0, arguments_ = 0;  // Queues of the system.
  std::uint32_t known_calls_ = 0, known_arguments_ = 0;  // In its queues, of entries.
  std::vector<std::uint32_t> argument_counts_;           // By call.
  std::deque<Entry> entries_;
  std::int64_t first_ = 0;           // Number of the first of them.
  std::int64_t released_ = 0;        // Cycle at which the last word left.
  std::vector<std::int64_t> next_;   // By ordinal: number of an entry.
  std::uint32_t running_ = 0;        // PEs that are not done.
  std::uint32_t executive_ = no_pe;  // Ordinal of the one with global data, which is not called.
  std::vector<std::uint32_t> waiting_;
  bool flag_waits_ = false;
  std::int64_t most_hops_ = 0;
  std::vector<std::int64_t> hops_;  // By ordinal: to the PE in the middle.
  std::vector<std::int64_t> stalled_, waited_;
  std::vector<Loop> loops_;  // By exit plan.
  std::vector<std::vector<bool>>
      exits_;  // By class and exit plan: it has EXITs of it that the control flow has.
};

}  // namespace cyclotron::runtime::simulator
