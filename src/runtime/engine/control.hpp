// The dependence of control on coordinates and loop variables.
#pragma once
#include <cstdint>

#include "code.hpp"

namespace cyclotron::runtime {

/// Tells whether the step's successor, or its partner in a message, depends on the variable.
[[nodiscard]] bool depends_on(const Code& code, const Step& step, std::uint32_t variable);

}  // namespace cyclotron::runtime
