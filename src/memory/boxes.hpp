// Parts of tensors that a PE loads and stores.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::memory {

/// By tensor, how many tiles the PE at these coordinates loads and stores, at most: those of the smallest box with steps that
/// has them all, or of the box of each LOAD and STORE where these are fewer. Bounds of loops and conditions count by their
/// intervals.
[[nodiscard]] std::vector<std::int64_t> tiles_used(const program::Program& program,
                                                   const program::PeClass& pe_class,
                                                   const std::vector<std::int64_t>& coordinates);

}  // namespace cyclotron::memory
