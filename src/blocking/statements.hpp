// Equations over tiles as statements in turn.
#pragma once
#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::blocking {

/// Tensors that need each other are a statement, and each follows those that it needs, in loops that go the way in which its
/// elements need each other: as a text that factors, then solves from the last row back. Nothing changes where there is
/// one statement, or one whose elements need each other in another order than that of its loops.
[[nodiscard]] recurrence::System in_statements(const recurrence::System& system,
                                               const poly::Context& context);

}  // namespace cyclotron::blocking
