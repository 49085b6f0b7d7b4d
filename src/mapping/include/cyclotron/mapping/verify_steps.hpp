// Values are there when a step reads them.
#pragma once
#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Verifies that within one PE and step a value is written before the statements that read it.
/// Requires: make_statements. Throws LegalityError CYC221 where it is not.
void verify_steps(const Mapping& mapping);

}  // namespace cyclotron::mapping
