// Points of small boxes, for pictures; the compiler itself never lists points.
#include <cyclotron/dataflow/describe.hpp>

#include <algorithm>

namespace cyclotron::dataflow {

Box bounds(const Graph& graph) {
  Box box;
  for (const auto& space : graph.spaces) {
    if (space.domain.is_empty()) continue;
    const bool first = box.least.empty();
    for (std::size_t d = 0; d < graph.dims.size(); ++d) {
      const auto least = *space.domain.minimum(d), greatest = *space.domain.maximum(d);
      if (first) {
        box.least.push_back(least);
        box.greatest.push_back(greatest);
      } else {
        box.least[d] = std::min(box.least[d], least);
        box.greatest[d] = std::max(box.greatest[d], greatest);
      }
    }
  }
  return box;
}

std::vector<Point> points_in(const poly::Set& domain, const Box& box) {
  const auto rank = domain.dimensions();
  auto rest = domain;
  for (std::size_t d = 0; d < rank; ++d) {
    auto above = poly::variable(rank, d), below = -1 * above;
    above.constant = -box.least.at(d);
    below.constant = box.greatest.at(d);
    rest = rest.intersect({above, false}).intersect({below, false});
  }
  return rest.points();
}

std::vector<Arrow> arrows_in(const Rule& rule, const Box& box) {
  std::vector<Arrow> result;
  const auto* transfer = std::get_if<Transfer>(&rule.action);
  if (transfer == nullptr) return result;
  for (auto& to : points_in(rule.domain, box)) {
    Point from;
    for (const auto& form : transfer->from) from.push_back(poly::evaluate(form, to));
    result.push_back({std::move(from), std::move(to)});
  }
  return result;
}

}  // namespace cyclotron::dataflow
