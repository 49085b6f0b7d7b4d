#include "relax.hpp"

#include <algorithm>
#include <cstddef>

namespace cyclotron::blocking {

namespace {

poly::Set box_of(const poly::Context& context, const std::vector<std::int64_t>& extents) {
  const auto count = extents.size();
  std::vector<poly::Constraint> ends;
  for (std::size_t v = 0; v < count; ++v) {
    const auto value = poly::variable(count, v);
    ends.push_back({value, false});
    ends.push_back({poly::constant(count, extents[v] - 1) - value, false});
  }
  return poly::Set::where(context, count, ends);
}

/// Tells whether constraints are more than bounds of indices and of distances between two.
bool is_unusual(const poly::Set& set) {
  const auto conjunctions = set.conjunctions();
  if (!conjunctions || conjunctions->size() != 1) return true;
  return std::ranges::any_of(conjunctions->front().constraints, [](const poly::Constraint& constraint) {
    std::int64_t sum = 0;
    std::size_t used = 0;
    for (const auto coefficient : constraint.form.coefficients) {
      if (coefficient == 0) continue;
      sum += coefficient;
      ++used;
    }
    return used == 1 ? constraint.equality : used != 2 || sum != 0;
  });
}

/// The orders of two indices each that hold at all points; those that equality fulfils first.
std::vector<poly::Constraint> orders(const poly::Set& points, const std::vector<std::int64_t>& extents) {
  const auto count = extents.size();
  std::vector<poly::Constraint> weak, strict;
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < count; ++b) {
      if (a == b || extents[a] == 1 || extents[b] == 1) continue;
      const auto distance = poly::variable(count, a) - poly::variable(count, b);
      const poly::Constraint after{distance - poly::constant(count, 1), false}, from{distance, false};
      if (points.satisfies(after))
        strict.push_back(after);
      else if (points.satisfies(from))
        weak.push_back(from);
    }
  }
  weak.insert(weak.end(), strict.begin(), strict.end());
  return weak;
}

}  // namespace

poly::Set relax(const poly::Set& points, const std::vector<std::int64_t>& extents) {
  const auto box = box_of(points.context(), extents);
  auto plain = points.gist(box);
  if (!is_unusual(plain)) return plain;
  auto kept = orders(points, extents);
  const auto wanted = points.intersect(box);
  const auto says_it = [&](const std::vector<poly::Constraint>& all) { return box.intersect(all) == wanted; };
  if (!says_it(kept)) return plain;
  for (std::size_t c = 0; c < kept.size();) {
    auto fewer = kept;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(c));
    if (says_it(fewer))
      kept = std::move(fewer);
    else
      ++c;
  }
  return poly::Set::universe(points.context(), extents.size()).intersect(kept);
}

}  // namespace cyclotron::blocking
