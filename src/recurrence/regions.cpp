#include <cyclotron/recurrence/regions.hpp>

#include <numeric>

#include <cyclotron/recurrence/sets.hpp>

namespace cyclotron::recurrence {

bool has_gap(const poly::Set& points, std::size_t variable) {
  const auto count = points.dimensions();
  std::vector<std::size_t> keep(count);
  std::iota(keep.begin(), keep.end(), 0);
  std::vector<poly::Affine> other;
  for (std::size_t v = 0; v < count; ++v)
    other.push_back(poly::variable(count + 1, v == variable ? count : v));
  const auto pairs = points.preimage(other, count + 1);
  const auto beyond = [&](std::int64_t sign) {
    const auto distance = poly::variable(count + 1, variable) - poly::variable(count + 1, count);
    return pairs.intersect({sign * distance - poly::constant(count + 1, 1), false}).project(keep);
  };
  return !beyond(1).intersect(beyond(-1)).is_subset(points);
}

poly::Set unassigned(const poly::Context& context, const Tensor& tensor,
                     const std::vector<Equation>& equations) {
  auto rest = elements_of(context, tensor);
  for (const auto& equation : equations) {
    const auto elements =
        domain_of(context, equation).image(to_poly(equation.index, equation.indices.size()));
    rest = rest.subtract(elements);
  }
  return rest.coalesce();
}

}  // namespace cyclotron::recurrence
