// Private to this folder: where the PE of a value lies, seen from the PE that needs it.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

/// Along each grid dimension: sender = scale * receiver - offset.
struct Hop {
  std::vector<std::int64_t> scale;
  std::vector<std::int64_t> offset;
};

/// From the PE that computes `from` to the PE of the flow's point; none where no scales of at least 1 say it.
[[nodiscard]] std::optional<Hop> grid_hop(const Mapping& mapping, FlowId flow,
                                          const std::vector<poly::Affine>& from);

/// p[d] of `from` minus own, on the space dims; none where it varies.
[[nodiscard]] std::optional<std::vector<std::int64_t>> grid_offset(const Mapping& mapping, FlowId flow,
                                                                   const std::vector<poly::Affine>& from);

}  // namespace cyclotron::mapping
