// The variables that expressions vary with, and expressions of equal values.
#pragma once
#include <cstddef>
#include <set>
#include <string>

#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::recurrence {

/// Variables of a scope.
using Used = std::set<std::size_t>;

/// Adds the variables of a scope of so many that a value varies with.
void use(const System& system, ExprId id, std::size_t scope, Used& used);

/// A text that two expressions share only where they have the same value at each point.
[[nodiscard]] std::string text_of(const System& system, ExprId id);

}  // namespace cyclotron::recurrence
