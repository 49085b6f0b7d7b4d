// The verifier of recurrences: single assignment, cover, bounds, order, shapes and dtypes.
#pragma once
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Proves with exact integer sets, for the given shapes (reliability: P1):
/// each output and local element is assigned at most once (CYC201) and each output element at least once
/// (CYC202); every access is inside its tensor (CYC203) and reads an input or an assigned element (CYC204);
/// a reduction by maximum or minimum is never empty (CYC205); each equation's index map is injective
/// (CYC201). Shapes and dtypes of operands fit (CYC206, ShapeError).
/// Throws LegalityError with a witness point.
void verify(const System& system);

/// False where some element is assigned twice (what `verify` refuses by CYC201): then the equations mean something only
/// as statements that run one after the other.
[[nodiscard]] bool assigns_once(const System& system);

/// Of the equations as statements that run one after the other, proves what does not depend on their order:
/// CYC203, CYC205 and CYC206 as above, and that no input is assigned (CYC201).
void verify_statements(const System& system);

}  // namespace cyclotron::recurrence
