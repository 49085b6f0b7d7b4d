#include <cyclotron/mapping/mapping.hpp>

namespace cyclotron::mapping {

std::vector<poly::Affine> Mapping::pe_forms() const {
  const auto rank = graph.dims.size();
  std::vector<poly::Affine> forms;
  for (std::size_t g = 0; g < grid.space.size(); ++g) {
    forms.push_back(poly::variable(rank, grid.space[g]));
    forms.back().constant = -grid.origin[g];
  }
  if (forms.empty()) forms.push_back(poly::constant(rank, 0));
  return forms;
}

std::vector<poly::Affine> Mapping::point_forms() const {
  const auto coordinates = grid.extents.size();
  const auto variables = coordinates + grid.time.size();
  std::vector<poly::Affine> forms(graph.dims.size());
  for (std::size_t g = 0; g < grid.space.size(); ++g) {
    forms[grid.space[g]] = poly::variable(variables, g);
    forms[grid.space[g]].constant = grid.origin[g];
  }
  for (std::size_t t = 0; t < grid.time.size(); ++t)
    forms[grid.time[t]] = poly::variable(variables, coordinates + t);
  return forms;
}

bool is_same_wire(const Channel& a, const Channel& b) {
  return a.flow == b.flow && a.offset == b.offset && a.scale == b.scale && a.network == b.network &&
         a.axis == b.axis;
}

}  // namespace cyclotron::mapping
