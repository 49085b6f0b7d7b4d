#include "variable_map.hpp"

#include <algorithm>

namespace cyclotron::recurrence {

Affine map_variables(const Affine& form, const VariableMap& map) {
  Affine result{{}, form.constant};
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    result.coefficients.resize(std::max(result.coefficients.size(), map[v] + 1), 0);
    result.coefficients[map[v]] = form.coefficients[v];
  }
  return result;
}

Region map_variables(Region region, const VariableMap& map) {
  for (auto& conjunction : region) {
    for (auto& constraint : conjunction) constraint.form = map_variables(constraint.form, map);
  }
  return region;
}

}  // namespace cyclotron::recurrence
