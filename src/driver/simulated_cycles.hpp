#pragma once

#include <cstdint>
#include <optional>

#include <cyclotron/program/program.hpp>

namespace cyclotron::driver {

/// The PEs of a program.
[[nodiscard]] std::int64_t pe_count(const program::Program& program);

/// The time that a simulation may take: some hundredths of a second, or some tenths.
enum class Patience : std::uint8_t { little, much };

/// Instructions of all PEs that the simulator follows before it gives up.
[[nodiscard]] std::int64_t most_work(Patience patience);

/// The cycles of a run, where the simulator tells them soon.
[[nodiscard]] std::optional<std::int64_t> simulated_cycles(const program::Program& given,
                                                           Patience patience = Patience::little);

}  // namespace cyclotron::driver
