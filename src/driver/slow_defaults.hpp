// Private to this folder: warnings of schedules that are slow.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include <cyclotron/recurrence/system.hpp>
#include <cyclotron/schedule/schedule.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::driver {

/// That a kernel on so many PEs would be so many times as fast on another placement, which is refused (CYC330).
[[nodiscard]] Diagnostic refused_is_faster(const std::string& kernel, std::int64_t pes,
                                           const schedule::Schedule& other, double times, Diagnostic refusal);

/// That a kernel on so many PEs may be up to so many times as fast on another placement, which took too long to analyse
/// (CYC333).
[[nodiscard]] Diagnostic unknown_may_be_faster(const recurrence::System& system, std::int64_t pes,
                                               const schedule::Schedule& other, double times);

/// True where a warning is of such a placement.
[[nodiscard]] bool is_of_unknown(const Diagnostic& warning);

/// That a reduction of the text, over one of these indices, begins with the newest of the values that it needs, and how many
/// times as fast the kernel would be with the last one first (CYC332).
[[nodiscard]] Diagnostic newest_comes_first(const recurrence::System& system,
                                            const std::vector<std::string>& indices, double times);

/// That the PEs of a kernel compute one after the other, as the text does, since it is refused otherwise (CYC334).
[[nodiscard]] Diagnostic pes_take_turns(const std::string& kernel, Diagnostic refusal);

}  // namespace cyclotron::driver
