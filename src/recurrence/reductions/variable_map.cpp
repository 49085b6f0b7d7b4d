#include "places.hpp"

#include <algorithm>

namespace cyclotron::recurrence {

Affine carried(const Affine& form, const Places& places) {
  Affine result{{}, form.constant};
  for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
    if (form.coefficients[v] == 0) continue;
    result.coefficients.resize(std::max(result.coefficients.size(), places[v] + 1), 0);
    result.coefficients[places[v]] = form.coefficients[v];
  }
  return result;
}

Region carried(Region region, const Places& places) {
  for (auto& conjunction : region) {
    for (auto& constraint : conjunction) constraint.form = carried(constraint.form, places);
  }
  return region;
}

}  // namespace cyclotron::recurrence
