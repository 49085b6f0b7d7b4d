#include "hops.hpp"

#include <algorithm>

namespace cyclotron::mapping {

std::optional<std::vector<std::int64_t>> grid_offset(const Mapping& mapping, FlowId flow,
                                                     const std::vector<poly::Affine>& from) {
  const auto& tuple = mapping.graph.at(mapping.graph.at(flow).space).tuple;
  std::vector<std::int64_t> offset;
  for (const auto d : mapping.grid.space) {
    const auto difference = from[d] - tuple[d];
    if (!poly::is_constant(difference)) return std::nullopt;
    offset.push_back(difference.constant);
  }
  if (offset.empty()) offset.push_back(0);
  return offset;
}

std::optional<Hop> grid_hop(const Mapping& mapping, FlowId flow, const std::vector<poly::Affine>& from) {
  const auto& tuple = mapping.graph.at(mapping.graph.at(flow).space).tuple;
  Hop hop;
  for (std::size_t g = 0; g < mapping.grid.space.size(); ++g) {
    const auto d = mapping.grid.space[g];
    const auto& own = tuple[d].coefficients;
    const auto varies = std::ranges::find_if(own, [](std::int64_t c) { return c != 0; });
    const std::int64_t scale =
        varies == own.end() ? 1
                            : from[d].coefficients[static_cast<std::size_t>(varies - own.begin())] / *varies;
    const auto rest = scale * tuple[d] - from[d];
    if (scale < 1 || !poly::is_constant(rest)) return std::nullopt;
    hop.scale.push_back(scale);
    // The forms count from the index's origin, PEs from theirs.
    hop.offset.push_back(rest.constant - (scale - 1) * mapping.grid.origin[g]);
  }
  return hop;
}

}  // namespace cyclotron::mapping
