// The controller that sends PEs the sections of loops whose ends depend on data (`machine::Control`).
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include <cyclotron/runtime/runtime.hpp>

namespace cyclotron::runtime::simulator {

/// It stands in the middle of the grid. At the end of an iteration in which a loop may end, the PE of that loop that is
/// nearest hands it the flag, `hop` cycles a hop; `latency` cycles later the next section leaves for all the loop's PEs.
/// Each waits for it there, and then sets up each of its procedures when it comes to that: those up to the next end of an
/// iteration, or of the program. Procedures of other sections were sent ahead.
class Controller {
 public:
  using Wake = std::function<void(std::uint32_t)>;

  /// `grid_index`: of each PE that has a program, in the order of the grid.
  Controller(const program::Program& program, const std::vector<std::uint32_t>& grid_index);

  /// A PE's EXIT at cycle `now`, in an iteration of its loop: moves its clock to when it goes on. False: it has to wait,
  /// and is woken once the controller has decided.
  bool pass(std::uint32_t ordinal, std::uint32_t plan, std::int64_t iteration, std::int64_t& now,
            const Wake& wake);

  /// A PE comes to a procedure at cycle `now`: moves its clock to when that begins.
  void call(std::uint32_t ordinal, std::int64_t& now) {
    if (called_.empty() || called_[ordinal] == 0) return;
    now += control_.setup_cycles;
    stalled_[ordinal] += control_.setup_cycles;
  }

  /// Of a PE so far.
  [[nodiscard]] std::int64_t stalled(std::uint32_t ordinal) const {
    return stalled_.empty() ? 0 : stalled_[ordinal];
  }

 private:
  /// A section that has left the controller.
  struct Section {
    std::int64_t left = 0;       ///< Cycle.
    std::uint32_t expected = 0;  ///< PEs that it has not come to.
  };
  struct Loop {
    std::int64_t first = 0;  ///< Iterations in which it may end.
    std::int64_t last = -1;
    std::uint32_t pes = 0;
    std::uint32_t nearest = 0;  ///< Ordinal.
    std::int64_t done = 0;      ///< Sections that have come to all PEs, before those of `sections`.
    std::deque<Section> sections;
    std::vector<std::uint32_t> waiting;
    std::vector<std::int64_t> passed;  ///< By ordinal: sections that have come to it.
  };

  machine::Control control_;
  std::vector<std::int64_t> hops_;  ///< To the controller, by ordinal; empty where it takes no part.
  std::vector<std::int64_t> stalled_;
  std::vector<char> called_;  ///< By ordinal: whether its section was sent by a decision.
  std::vector<Loop> loops_;   ///< By exit plan.
};

}  // namespace cyclotron::runtime::simulator
