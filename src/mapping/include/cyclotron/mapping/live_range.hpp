// Live ranges of values in their PE.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// True where the statement makes a value of the flow, or brings it to its PE.
[[nodiscard]] bool defines(const Statement& statement, FlowId flow);

/// The points at which statements define values of the flows.
[[nodiscard]] poly::Set points_defined(const Mapping& mapping, std::span<const FlowId> flows);

/// The time loops across which values are live, as positions in `Grid::time`; none where each is used in the step that
/// defines it.
struct LiveRange {
  bool from_prologue = false;  ///< Across all of them.
  std::optional<std::size_t> outermost, innermost;
  std::vector<std::int64_t> steps;  ///< The most of each loop, where they are numbers; else 0.
};
[[nodiscard]] LiveRange live_across(const Mapping& mapping, std::span<const FlowId> flows);

/// The time dims from a position on, with which the flow's values vary.
[[nodiscard]] std::vector<std::size_t> varying_dims(const Mapping& mapping, FlowId flow, std::size_t from);

/// The points at which the forms are lexicographically positive.
[[nodiscard]] poly::Set lex_positive(poly::Set points, const std::vector<poly::Affine>& forms);

}  // namespace cyclotron::mapping
