#include <cyclotron/mapping/make_classes.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace cyclotron::mapping {

namespace {

/// The PEs that run some statements.
struct Projection {
  poly::Set set;
  std::vector<std::size_t> statements;
};

/// Of all statements, those of the same PEs together; adds them all to `anywhere`. Sets with another first PE, which is
/// found sooner than whether they are equal, are not compared.
std::vector<Projection> projections_of(const Mapping& mapping, poly::Set& anywhere) {
  const auto forms = mapping.pe_forms();
  std::vector<Projection> result;
  std::map<std::optional<std::vector<std::int64_t>>, std::vector<std::size_t>> by_first;
  for (std::size_t s = 0; s < mapping.statements.size(); ++s) {
    const auto set = mapping.statements[s].domain.image(forms).coalesce();
    auto& alike = by_first[set.lexmin_point()];
    const auto same = std::ranges::find_if(alike, [&](std::size_t p) { return result[p].set == set; });
    if (same != alike.end()) {
      result[*same].statements.push_back(s);
      continue;
    }
    anywhere = anywhere.unite(set).coalesce();
    alike.push_back(result.size());
    result.push_back({set, {s}});
  }
  return result;
}

/// Sets of PEs as sets of cells of the grid: in each of its dimensions the projections cut a few parts, and those that
/// are a product of such parts meet others where they have a cell in common. Where many classes are, it tells so without
/// isl.
class Cells {
 public:
  using Mask = std::vector<std::uint64_t>;  ///< A bit each.

  explicit Cells(const std::vector<Projection>& projections, std::size_t dimensions) {
    masks_.resize(projections.size());
    if (dimensions < 2 || projections.size() < least_projections) return;
    std::vector<std::vector<std::vector<bool>>> shadows;  // By dimension, projection and part.
    std::size_t cells = 1;
    for (std::size_t d = 0; d < dimensions; ++d) {
      shadows.push_back(parts(projections, d));
      cells *= shadows.back().front().size();
      if (cells > most_cells) return;
    }
    all_ = Mask((cells + 63) / 64, ~std::uint64_t{0});
    if (cells % 64 != 0) all_.back() = (std::uint64_t{1} << cells % 64) - 1;
    for (std::size_t p = 0; p < projections.size(); ++p) {
      if (!is_product(projections[p].set)) continue;
      Mask mask(all_.size());
      for (std::size_t c = 0; c < cells; ++c) {
        auto rest = c;
        bool inside = true;
        for (const auto& of_dimension : shadows) {
          const auto& shadow = of_dimension[p];
          inside = inside && shadow[rest % shadow.size()];
          rest /= shadow.size();
        }
        if (inside) mask[c / 64] |= std::uint64_t{1} << c % 64;
      }
      masks_[p] = std::move(mask);
    }
  }

  /// Empty where it is no product, or the cells would be too many.
  [[nodiscard]] const Mask& of(std::size_t projection) const { return masks_[projection]; }
  [[nodiscard]] const Mask& all() const { return all_; }

 private:
  static constexpr std::size_t least_projections = 16, most_cells = 4096;

  static poly::Set shadow(const poly::Set& set, std::size_t dimension) { return set.project({dimension}); }

  static bool is_product(const poly::Set& set) {
    std::vector<std::size_t> each(set.dimensions());
    std::iota(each.begin(), each.end(), 0);
    const auto parts = set.conjunctions();
    if (parts && parts->size() == 1 && poly::is_product(parts->front(), each)) return true;
    auto product = poly::Set::universe(set.context(), set.dimensions());
    for (std::size_t d = 0; d < set.dimensions(); ++d) {
      product =
          product.intersect(shadow(set, d).preimage({poly::variable(set.dimensions(), d)}, set.dimensions()));
    }
    return product == set;
  }

  /// For each projection, the parts of the dimension in its shadow.
  static std::vector<std::vector<bool>> parts(const std::vector<Projection>& projections,
                                              std::size_t dimension) {
    std::vector<poly::Set> shadows;
    std::vector<std::size_t> own;
    std::map<std::pair<std::optional<std::int64_t>, std::optional<std::int64_t>>, std::vector<std::size_t>>
        by_ends;  // Sets with others are not compared.
    for (const auto& projection : projections) {
      auto set = shadow(projection.set, dimension).coalesce();
      auto& alike = by_ends[{set.minimum(0), set.maximum(0)}];
      const auto same = std::ranges::find_if(alike, [&](std::size_t s) { return shadows[s] == set; });
      own.push_back(same == alike.end() ? shadows.size() : *same);
      if (same != alike.end()) continue;
      alike.push_back(shadows.size());
      shadows.push_back(std::move(set));
    }
    struct Part {
      poly::Set set;
      std::vector<bool> in;  // By shadow.
    };
    std::vector<Part> parts;
    auto rest = poly::Set::universe(shadows.front().context(), 1);
    for (std::size_t s = 0; s < shadows.size(); ++s) {
      const auto before = std::exchange(parts, {});
      for (const auto& part : before) {
        for (const bool in : {true, false}) {
          auto set = in ? part.set.intersect(shadows[s]) : part.set.subtract(shadows[s]);
          if (set.is_empty()) continue;
          parts.push_back({set.coalesce(), part.in});
          parts.back().in.push_back(in);
        }
      }
      auto own_part = shadows[s].intersect(rest);
      rest = rest.subtract(shadows[s]).coalesce();
      if (own_part.is_empty()) continue;
      parts.push_back({std::move(own_part), std::vector<bool>(s)});
      parts.back().in.push_back(true);
    }
    std::vector<std::vector<bool>> result;
    for (const auto s : own) {
      auto& mask = result.emplace_back();
      for (const auto& part : parts) mask.push_back(part.in[s]);
    }
    return result;
  }

  std::vector<Mask> masks_;
  Mask all_;
};

/// A class, and its cells: more where some projection is none of them.
struct Cell {
  PeClass pes;
  Cells::Mask mask;
};

/// The parts of a class that lie in the same projections.
std::vector<PeClass> refine(PeClass all, const std::vector<Projection>& projections) {
  const Cells cells(projections, all.region.dimensions());
  std::vector<Cell> parts{{std::move(all), cells.all()}};
  for (std::size_t p = 0; p < projections.size(); ++p) {
    const auto& [set, statements] = projections[p];
    const auto& mask = cells.of(p);
    std::vector<Cell> refined;
    for (auto& part : parts) {
      auto inside = part.mask, outside = part.mask;
      bool meets = mask.empty(), exceeds = mask.empty();
      for (std::size_t w = 0; w < mask.size(); ++w) {
        inside[w] &= mask[w];
        outside[w] &= ~mask[w];
        meets = meets || inside[w] != 0;
        exceeds = exceeds || outside[w] != 0;
      }
      const auto within = meets && exceeds ? part.pes.region.intersect(set) : part.pes.region;
      if (!meets || within.is_empty()) {
        refined.push_back(std::move(part));
        continue;
      }
      auto run = part.pes.statements;
      run.insert(run.end(), statements.begin(), statements.end());
      const auto beyond = exceeds ? part.pes.region.subtract(set) : part.pes.region;
      if (!exceeds || beyond.is_empty()) {
        refined.push_back({{std::move(part.pes.region), std::move(run)}, std::move(inside)});
        continue;
      }
      refined.push_back({{within.plain(), std::move(run)}, std::move(inside)});
      refined.push_back({{beyond.plain(), std::move(part.pes.statements)}, std::move(outside)});
    }
    parts = std::move(refined);
  }
  std::vector<PeClass> result;
  for (auto& part : parts) {
    std::ranges::sort(part.pes.statements);
    result.push_back(std::move(part.pes));
  }
  return result;
}

/// By each region's first PE.
std::vector<PeClass> in_order_of_grid(const std::vector<PeClass>& classes) {
  std::vector<std::pair<std::vector<std::int64_t>, std::size_t>> order;
  for (std::size_t c = 0; c < classes.size(); ++c) order.emplace_back(*classes[c].region.lexmin_point(), c);
  std::ranges::sort(order);
  std::vector<PeClass> result;
  for (const auto& [point, index] : order) result.push_back(classes[index]);
  return result;
}

}  // namespace

Mapping make_classes(const Mapping& mapping) {
  auto anywhere = poly::Set::empty(mapping.graph.context, mapping.grid.extents.size());
  const auto projections = projections_of(mapping, anywhere);
  Mapping result = mapping;
  if (anywhere.is_empty()) return result;
  result.classes = in_order_of_grid(refine({anywhere, {}}, projections));
  result.proofs.push_back(fmt::format("the {} PE classes partition the active grid", result.classes.size()));
  return result;
}

}  // namespace cyclotron::mapping
