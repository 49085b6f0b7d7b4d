// What decides where a PE goes on.
#pragma once
#include <cstdint>

#include "../code.hpp"

namespace cyclotron::runtime::simulator {

/// Whether what the step does next, or with whom, depends on the variable.
[[nodiscard]] bool depends_on(const Code& code, const Step& step, std::uint32_t variable);

}  // namespace cyclotron::runtime::simulator
