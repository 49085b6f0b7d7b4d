// Values that only later steps use stay with their makers until then.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Sends messages in the step that receives them where links would have to hold more than they do between the steps in
/// which these are made and used, or pass them on in another order, or where PEs might wait for each other's room in a
/// cycle (`may_deadlock`). All sends of a step come first, then all receives of such messages: where all PEs could take
/// each step together, every depth does then.
/// Requires: order_steps; each kind of message on a channel of its own. Ensures: the same of the result; the same
/// mapping where nothing may deadlock.
[[nodiscard]] Mapping delay_sends(const Mapping& mapping, const machine::Machine& machine);

}  // namespace cyclotron::mapping
