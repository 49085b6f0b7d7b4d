#pragma once

#include <cstdint>
#include <optional>

#include <cyclotron/program/program.hpp>

namespace cyclotron::driver {

/// The PEs of a program.
[[nodiscard]] std::int64_t pe_count(const program::Program& program);

/// The cycles of a run, where the simulator tells them soon.
[[nodiscard]] std::optional<std::int64_t> simulated_cycles(const program::Program& given);

}  // namespace cyclotron::driver
