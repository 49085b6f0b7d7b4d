// Private to this folder: searches of tables that hold one number everywhere.
#pragma once
#include <cstddef>
#include <optional>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence::detail {

/// The number that `sum(where(place == k, number, nothing) for k in first .. last)` finds: chosen where the place is in the
/// table, without a search of it. None for other reductions. Of a scope of so many variables, without the reduced one.
[[nodiscard]] std::optional<ExprId> number_found(System& system, const Reduce& reduce, std::size_t variables);

}  // namespace cyclotron::recurrence::detail
