// Recurrences to dataflow: the rewrite rules of section 8, as general rules over accesses and spaces.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/dataflow/graph.hpp>
#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>

namespace cyclotron::dataflow {

/// Place of the points of an equation along an index that it lacks: where the last tensor that it reads is
/// made, or 0; or where the last is made of those that no earlier statement makes.
enum class FreeIndexPlacement : std::uint8_t { where_read, zero, in_statement };

/// Ways of values of earlier steps from several hops away: straight from where they are made, as `share_links` wants
/// them, by relays of each user's own, or straight however far, where the machine may have such links or `route` finds the
/// way, at its three paces; or in stages, and from user to user within a step too, which may wait for each other.
enum class Relays : std::uint8_t {
  shared,
  between_neighbours,
  none,
  routed,
  routed_together,
  routed_singly,
  routed_in_turns
};

[[nodiscard]] constexpr bool is_routed(Relays relays) {
  return relays == Relays::routed || relays == Relays::routed_together || relays == Relays::routed_singly ||
         relays == Relays::routed_in_turns;
}

/// True where the two place some equation's points differently. Throws as `lower` does.
[[nodiscard]] bool free_index_matters(const recurrence::System& system, FreeIndexPlacement one,
                                      FreeIndexPlacement other);

/// Requires: recurrence::verify(system), schedule = schedule::complete(system, ...).
/// Ensures: verify(result); evaluating the rules in dependence order gives what the equations say.
///
/// LowerSum turns a reduction into an accumulator over an inner space (first term starts it, E5); OuterSend
/// hands the total to the outer space at r_end; ChooseStream, Inject and Propagate move operands along the
/// directions their subscripts ignore; InnerSend and turns bring computed elements from the nearest point
/// that holds them (E12); relays follow E13. A dimension larger than `grid` (empty: no limit) will be folded: what is a
/// block away is in the neighbour.
/// Throws LegalityError CYC210 (more than one reduction in an equation), CYC211 (an access no neighbour can
/// supply), ScheduleError CYC313 (a movement along an axis that the tensor cannot follow).
[[nodiscard]] Graph lower(const recurrence::System& system, const schedule::Schedule& schedule,
                          FreeIndexPlacement free_indices = FreeIndexPlacement::where_read,
                          Relays relays = Relays::shared, const std::vector<std::int64_t>& grid = {});

}  // namespace cyclotron::dataflow
