// Rules to statements.
#pragma once
#include <cyclotron/machine/machine.hpp>
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Turns rules into statements: transfers between PEs into receives and the sends that these induce one to one, local
/// transfers into moves, or into references where the value lies in its PE already.
/// Requires: rank_spaces. Ensures: statements in order of their positions; each kind of message has a channel of its
/// own, whose index is its number. Throws LegalityError CYC220 where no link leads to the PE that needs a value, CYC224
/// where a broadcast leaves its axis; what `links_between` throws.
[[nodiscard]] Mapping make_statements(const Mapping& mapping, const machine::Machine& machine);

}  // namespace cyclotron::mapping
