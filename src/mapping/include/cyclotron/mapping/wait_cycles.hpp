// PEs that wait for each other's room in links.
#pragma once
#include <vector>

#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/late_messages.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// True unless it is certain that PEs that send each value as soon as it is made never wait for each other in a cycle,
/// with links as deep as the machine's.
/// Requires: order_steps; `wires` are late_messages(mapping).
[[nodiscard]] bool may_deadlock(const Mapping& mapping, const machine::Machine& machine,
                                const std::vector<Wire>& wires);

}  // namespace cyclotron::mapping
