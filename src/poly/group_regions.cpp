#include "group_regions.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include "detail.hpp"

namespace cyclotron::poly::detail {

namespace {

std::size_t free_dimensions(const Set& set) {
  const auto hull = own(set.context(), isl_set_affine_hull(set.copy()));
  const auto equalities =
      own(set.context(),
          isl_basic_set_equalities_matrix(hull.get(), isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst));
  const auto rows = static_cast<std::size_t>(isl_mat_rows(equalities.get()));
  return set.dimensions() - std::min(rows, set.dimensions());
}

/// Tells of sets, which may be asked for often, whether they name parameters.
class Mentions {
 public:
  explicit Mentions(std::size_t parameters) : parameters_(static_cast<unsigned>(parameters)) {}
  bool operator()(const Set& set) {
    const auto [place, is_new] = known_.try_emplace(set.get(), false);
    if (is_new)
      place->second = checked(set.context(), isl_set_involves_dims(set.get(), isl_dim_set, 0, parameters_));
    return place->second;
  }

 private:
  unsigned parameters_;
  std::map<const isl_set*, bool> known_;
};

bool belongs(const Region& region, const Set& everywhere, const RegionGroup& group, Mentions& mentions) {
  return std::ranges::equal(region.statements, group.statements, [&](const Set& own, const Set& general) {
    if (own.get() == general.get()) return true;
    if (!mentions(own) && !mentions(general)) return false;
    return own.intersect(everywhere) == general.intersect(everywhere);
  });
}

}  // namespace

Set with_times(const Set& parameters, std::size_t times) {
  return {parameters.context(),
          checked(parameters.context(),
                  isl_set_add_dims(parameters.copy(), isl_dim_set, static_cast<unsigned>(times)))};
}

std::vector<RegionGroup> group_regions(const std::vector<Region>& regions, std::size_t times) {
  // The largest first: the others are likely to be special cases.
  std::vector<std::pair<std::size_t, std::size_t>> order;
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (!regions[r].statements.empty()) order.emplace_back(free_dimensions(regions[r].parameters), r);
  }
  std::ranges::stable_sort(order, std::greater{}, &std::pair<std::size_t, std::size_t>::first);
  std::vector<RegionGroup> result;
  std::map<std::vector<const isl_set*>, std::size_t> plain;  // Groups of which no statement names parameters.
  Mentions mentions(regions.empty() ? 0 : regions.front().parameters.dimensions());
  for (const auto& [dimensions, r] : order) {
    const Region& region = regions[r];
    if (std::ranges::none_of(region.statements, std::ref(mentions))) {
      std::vector<const isl_set*> key;
      for (const auto& domain : region.statements) key.push_back(domain.get());
      const auto [place, is_new] = plain.try_emplace(std::move(key), result.size());
      if (is_new) result.push_back({region.statements, region.parameters, {}, true});
      result[place->second].regions.push_back(r);
      continue;
    }
    const auto everywhere = with_times(region.parameters, times);
    const auto found = std::ranges::find_if(result, [&](const RegionGroup& group) {
      return !group.is_plain && belongs(region, everywhere, group, mentions);
    });
    if (found != result.end()) {
      found->parameters = found->parameters.unite(region.parameters).simple_hull();
      found->regions.push_back(r);
      continue;
    }
    RegionGroup group{{}, region.parameters, {r}};
    for (const auto& domain : region.statements)
      group.statements.push_back(mentions(domain) ? domain.gist(everywhere) : domain);
    result.push_back(std::move(group));
  }
  return result;
}

}  // namespace cyclotron::poly::detail
