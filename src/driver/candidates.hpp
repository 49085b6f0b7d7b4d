// Private to this folder: the choices that one schedule leaves open.
#pragma once
#include <cstddef>
#include <limits>
#include <vector>

#include <cyclotron/driver/compile.hpp>
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/refusal.hpp>

#include "log.hpp"
#include "pipeline.hpp"

namespace cyclotron::driver {

/// Tries the candidates of schedules in turn.
class CandidateSearch {
 public:
  /// `system` has one reduction an equation.
  CandidateSearch(const recurrence::System& system, const machine::Machine& machine, const Log& log);

  struct Limits {
    /// Candidates. Where a value comes from too far for the first two of so few, another order of time does not bring it
    /// nearer.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    bool prove = true;  ///< Small programs too are proven before one is taken.
    /// Values that no link joins with their users pass the PEs between; without limits tried anyway where nothing else compiles.
    bool routed = false;
    /// Operations of integer sets for all other orders of time together where links are missing for the first.
    unsigned long operations_of_orders = std::numeric_limits<unsigned long>::max();
  };
  /// The first candidate that compiles; else the refusal of the first, which says most.
  [[nodiscard]] Expected<Compiled, Refusal> run(const schedule::Schedule& schedule, Limits limits);

  /// Candidates that were tried.
  [[nodiscard]] std::size_t tried() const { return tried_; }

 private:
  [[nodiscard]] Expected<Compiled, Refusal> try_ways(const schedule::Schedule& schedule, Limits limits,
                                                     const std::vector<dataflow::Relays>& ways);

  const recurrence::System& system_;
  const machine::Machine& machine_;
  const Log& log_;
  std::size_t tried_ = 0;
  bool refused_ = false;
  bool is_far_ = false;  ///< Links were missing for some candidate of the last schedule.
};

}  // namespace cyclotron::driver
