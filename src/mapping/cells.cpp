#include "cells.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace cyclotron::mapping {

namespace {

/// With fewer sets, isl is as fast; with more cells, slow as these are.
constexpr std::size_t least_sets = 16, most_cells = 4096;

/// The boxes that a set is, one or more; none where it may be no such.
std::vector<poly::Set> boxes_of(const poly::Set& set) {
  std::vector<std::size_t> each(set.dimensions());
  std::iota(each.begin(), each.end(), 0);
  const auto parts = set.conjunctions();
  const auto is_box = [&](const poly::Conjunction& part) { return poly::is_product(part, each); };
  std::vector<poly::Set> result;
  if (parts && std::ranges::all_of(*parts, is_box)) {
    for (const auto& part : *parts) result.push_back(poly::Set::where(set.context(), set.dimensions(), part));
    return result;
  }
  auto product = poly::Set::universe(set.context(), set.dimensions());
  for (std::size_t d = 0; d < set.dimensions(); ++d) {
    product =
        product.intersect(set.project({d}).preimage({poly::variable(set.dimensions(), d)}, set.dimensions()));
  }
  if (product == set) result.push_back(set);
  return result;
}

}  // namespace

std::size_t Cuts::add(poly::Set set) {
  auto& alike = by_ends_[{set.minimum(0), set.maximum(0)}];
  const auto same = std::ranges::find_if(alike, [&](std::size_t s) { return sets_[s] == set; });
  if (same != alike.end()) return *same;
  alike.push_back(sets_.size());
  sets_.push_back(std::move(set));
  return sets_.size() - 1;
}

void Cuts::cut() {
  if (sets_.empty()) return;
  auto covered = poly::Set::empty(sets_.front().context(), 1);
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    const auto& set = sets_[s];
    const auto add = [&](poly::Set part, std::vector<bool> in, bool in_set) {
      in.push_back(in_set);
      parts_.push_back({std::move(part), std::move(in)});
    };
    for (auto& part : std::exchange(parts_, {})) {
      auto inside = part.set.intersect(set);
      if (inside.is_empty()) {
        add(std::move(part.set), std::move(part.in), false);
        continue;
      }
      auto outside = part.set.subtract(set);
      if (outside.is_empty()) {
        add(std::move(part.set), std::move(part.in), true);
        continue;
      }
      add(inside.coalesce(), part.in, true);
      add(outside.coalesce(), std::move(part.in), false);
    }
    auto rest = set.subtract(covered).coalesce();
    if (!rest.is_empty()) add(std::move(rest), std::vector<bool>(s), true);
    covered = covered.unite(set).coalesce();
  }
}

poly::Set Cuts::join(const std::vector<bool>& chosen) const {
  auto result = poly::Set::empty(sets_.front().context(), 1);
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    if (chosen[part]) result = result.unite(parts_[part].set);
  }
  result = result.coalesce();
  const auto box = result.box();
  return box.is_subset(result) ? box : result;
}

Cells::Cells(const std::vector<poly::Set>& sets) : boxes_(sets.size()) {
  if (sets.size() < least_sets) return;
  const auto dimensions = sets.front().dimensions();
  if (dimensions < 2) return;
  universe_ = poly::Set::universe(sets.front().context(), dimensions);
  cuts_.resize(dimensions);
  for (std::size_t s = 0; s < sets.size(); ++s) {
    for (const auto& box : boxes_of(sets[s])) {
      auto& shadows = boxes_[s].emplace_back();
      for (std::size_t d = 0; d < dimensions; ++d)
        shadows.push_back(cuts_[d].add(box.project({d}).coalesce()));
    }
  }
  size_ = 1;
  for (auto& cuts : cuts_) {
    cuts.cut();
    size_ *= cuts.size();
    if (size_ <= most_cells) continue;
    boxes_.assign(sets.size(), {});
    size_ = 0;
    return;
  }
}

std::vector<Cells::Part> Cells::parts(const poly::Set& all) const {
  std::vector<Mask> sets_of(size_, Mask(boxes_.size()));
  for (std::size_t cell = 0; cell < sets_of.size(); ++cell) {
    std::vector<std::size_t> parts;
    auto rest = cell;
    for (const auto& cuts : cuts_) {
      parts.push_back(rest % cuts.size());
      rest /= cuts.size();
    }
    const auto is_in = [&](const std::vector<std::size_t>& box) {
      for (std::size_t d = 0; d < cuts_.size(); ++d) {
        if (!cuts_[d].has(box[d], parts[d])) return false;
      }
      return true;
    };
    for (std::size_t s = 0; s < boxes_.size(); ++s) sets_of[cell][s] = std::ranges::any_of(boxes_[s], is_in);
  }
  std::map<Mask, Mask> alike;  // By sets, cells.
  for (std::size_t cell = 0; cell < sets_of.size(); ++cell)
    alike.try_emplace(sets_of[cell], sets_of.size()).first->second[cell] = true;
  Slabs slabs;
  const auto region_of = [&](const Mask& cells) {
    auto region = poly::Set::empty(universe_->context(), universe_->dimensions());
    for (const auto& box : boxes(cells, cuts_.size(), slabs)) region = region.unite(box);
    return region.coalesce();
  };
  std::vector<Part> result;
  Mask some(sets_of.size());
  for (const auto& [in, cells] : alike) {
    std::vector<std::size_t> sets;
    for (std::size_t s = 0; s < in.size(); ++s) {
      if (in[s]) sets.push_back(s);
    }
    if (sets.empty()) continue;
    for (std::size_t cell = 0; cell < cells.size(); ++cell) some[cell] = some[cell] || cells[cell];
    result.push_back({region_of(cells), std::move(sets)});
  }
  if (std::ranges::any_of(boxes_, [](const auto& boxes) { return boxes.empty(); }))
    result.push_back({result.empty() ? all : all.subtract(region_of(some)), {}});
  return result;
}

/// Cells of the first dimensions as disjoint boxes, slices that are alike together.
std::vector<poly::Set> Cells::boxes(const Mask& cells, std::size_t dimensions, Slabs& slabs) const {
  if (dimensions == 0) return {*universe_};
  const auto d = dimensions - 1;
  const auto extent = cuts_[d].size(), size = cells.size() / extent;
  std::map<Mask, Mask> alike;  // By slice, the parts of this dimension that have it.
  for (std::size_t part = 0; part < extent; ++part) {
    const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(part * size);
    const Mask slice(begin, begin + static_cast<std::ptrdiff_t>(size));
    if (std::ranges::find(slice, true) != slice.end())
      alike.try_emplace(slice, extent).first->second[part] = true;
  }
  std::vector<poly::Set> result;
  for (const auto& [slice, chosen] : alike) {
    for (const auto& box : boxes(slice, d, slabs)) result.push_back(box.intersect(slab(d, chosen, slabs)));
  }
  return result;
}

/// Some parts of one dimension, in the grid.
const poly::Set& Cells::slab(std::size_t dimension, const Mask& chosen, Slabs& slabs) const {
  const auto found = slabs.find({dimension, chosen});
  if (found != slabs.end()) return found->second;
  const auto all = universe_->dimensions();
  auto set = cuts_[dimension].join(chosen).preimage({poly::variable(all, dimension)}, all);
  return slabs.try_emplace({dimension, chosen}, std::move(set)).first->second;
}

}  // namespace cyclotron::mapping
