// Parts of tensors that a PE loads and stores, and PEs of a class to look at.
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

/// PEs of a region, at most 256 of each conjunction: each coordinate takes its first and last value with those before, and some
/// between. Independent of the grid's size.
[[nodiscard]] std::vector<std::vector<std::int64_t>> some_pes(const program::Disjunction& region,
                                                              const std::vector<std::int64_t>& grid);

}  // namespace cyclotron::memory
