// Private to this folder: the choices that one schedule leaves open.
#pragma once
#include <cstddef>
#include <limits>
#include <optional>
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
    /// Candidates.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    bool prove = true;  ///< Small programs too are proven before one is taken.
    /// The only way of values to other PEs. Else they take links; without limits, where those are missing or values come
    /// late, they pass the PEs between.
    std::optional<dataflow::Relays> way = std::nullopt;
    schedule::Orders orders = schedule::Orders::all;  ///< Of time.
    /// Of limited ones, so many are tried after the first for which a value comes from too far: they rarely bring it nearer.
    std::size_t more_of_far = 1;
  };
  /// The first candidate that compiles; else the refusal of the first, which says most.
  [[nodiscard]] Expected<Compiled, Refusal> run(const schedule::Schedule& schedule, Limits limits);

  /// Candidates that were tried.
  [[nodiscard]] std::size_t tried() const { return tried_; }
  /// True where some candidate of the last schedule took too many operations: with more it may compile.
  [[nodiscard]] bool lacked_effort() const { return lacked_effort_; }
  /// True where links were missing for some of them, without limits even where values pass the PEs between.
  [[nodiscard]] bool is_far() const { return is_far_; }
  /// True where they were, or values came late or overtook each other: on long ways they may come in time.
  [[nodiscard]] bool may_route() const { return may_route_; }
  /// True where values pass other PEs in the last that compiled.
  [[nodiscard]] bool is_routed() const { return is_routed_; }

 private:
  [[nodiscard]] Expected<Compiled, Refusal> try_ways(const schedule::Schedule& schedule, Limits limits,
                                                     const std::vector<dataflow::Relays>& ways,
                                                     bool operands = false);

  const recurrence::System& system_;
  const machine::Machine& machine_;
  const Log& log_;
  std::size_t tried_ = 0;
  bool refused_ = false;
  bool lacked_effort_ = false;
  bool is_far_ = false;  ///< Links were missing for some candidate of the last schedule.
  bool may_route_ = false;
  bool is_routed_ = false;
};

}  // namespace cyclotron::driver
