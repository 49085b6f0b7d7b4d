#include <cyclotron/codegen/storage.hpp>

namespace cyclotron::codegen {

Extents extents_of(const poly::Set& points) {
  Extents result;
  for (std::size_t d = 0; d < points.dimensions(); ++d)
    result.emplace_back(points.minimum(d).value_or(0), points.maximum(d).value_or(0));
  return result;
}

SlotLayout slot_layout(const Storage& storage, const poly::Set& points) {
  SlotLayout result;
  if (!storage.is_indexed()) return result;
  const auto extents = extents_of(points);
  const auto size = [&](std::size_t dim) { return extents[dim].second - extents[dim].first + 1; };
  const auto add_axis = [&](std::size_t dim) {
    result.axes.push_back({dim, extents[dim].first, result.count});
    result.count *= size(dim);
  };
  for (auto n = storage.dims.size(); n-- > 0;) add_axis(storage.dims[n]);
  const auto& [dims, modulus] = storage.buffer;
  std::int64_t values = 1;
  for (const auto& [dim, factor] : dims) values *= size(dim);
  if (values <= modulus) {  // there are no more values than that
    for (auto n = dims.size(); n-- > 0;) add_axis(dims[n].first);
  } else if (modulus != 0) {
    result.modulo = {{}, modulus, result.count};
    for (const auto& [dim, factor] : dims) result.modulo.axes.push_back({dim, extents[dim].first, factor});
    result.count *= modulus;
  }
  return result;
}

}  // namespace cyclotron::codegen
