// Loop distribution: parts of a step that run one after the other on every PE.
#pragma once
#include <cstdint>
#include <vector>

#include <cyclotron/dataflow/place.hpp>

namespace cyclotron::dataflow {

/// Times at which computed values are passed on; inputs always are when they are needed.
enum class DistributionPolicy : std::uint8_t { when_made, when_needed };

/// For each space its part of the time loops from `level` on: how many computed tensors have to be complete,
/// at the same step of the loops before that level, before its own, along the longest chain of reads.
/// Tensors that depend on each other share a part; spaces that pass values on go with those that make or need them.
[[nodiscard]] std::vector<std::int64_t> parts(const Placed& placed, std::size_t level,
                                              DistributionPolicy policy);

/// As `parts`, as many as can be: spaces share one only where each needs the other's values in one step.
[[nodiscard]] std::vector<std::int64_t> finest_parts(const Placed& placed, std::size_t level);

/// 0 for the spaces that only pass inputs on, 1 for the others: a part for what comes, one for what is computed.
[[nodiscard]] std::vector<std::int64_t> inputs_first(const Graph& graph);

/// For each space that only passes inputs on, how many of these an element goes through before it, along the
/// longest way; for the others one more than the most. Each has then passed all on before the next begins.
[[nodiscard]] std::vector<std::int64_t> input_stages(const Graph& graph);

/// The same graph with one more time coordinate, before that at `level`: the number of each space's part.
/// Requires: one part a space. Ensures: verify(result.graph) if verify(placed.graph).
[[nodiscard]] Placed distribute(const Placed& placed, std::size_t level,
                                const std::vector<std::int64_t>& parts);

}  // namespace cyclotron::dataflow
