#include <cyclotron/codegen/choose_storage.hpp>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/mapping/live_range.hpp>
#include <cyclotron/support/error.hpp>

#include "storage_validity.hpp"

namespace cyclotron::codegen {

using mapping::FlowId;
using mapping::Mapping;

namespace {

/// Values for which fewer places are not looked for.
constexpr std::int64_t small = 64;

class StorageChooser {
 public:
  StorageChooser(const Mapping& mapping, const std::set<std::string>& ending, std::int64_t room)
      : mapping_(mapping), graph_(mapping.graph), ending_(ending), room_(room) {}

  std::vector<Storage> run() {
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) result_.push_back(choose({FlowId(f)}));
    std::vector<bool> seen(graph_.flows.size(), false);
    for (std::size_t f = 0; f < graph_.flows.size(); ++f) {
      if (!seen[f]) share(partners(FlowId(f), seen));
    }
    return std::move(result_);
  }

 private:
  using Flows = std::vector<FlowId>;

  /// The flows whose values, of one tensor and in arrays all, might lie in one.
  [[nodiscard]] Flows partners(FlowId first, std::vector<bool>& seen) const {
    Flows result;
    const auto& flow = graph_.at(first);
    for (auto f = first.index(); f < graph_.flows.size(); ++f) {
      const auto& other = graph_.flows[f];
      const bool alike = flow.computed && other.computed && other.tensor == flow.tensor &&
                         other.tile == flow.tile && graph_.dtype_of(FlowId(f)) == graph_.dtype_of(first);
      if (!result_[f].is_indexed() || !alike) continue;
      result.emplace_back(f);
      seen[f] = true;
    }
    return result;
  }

  /// Has the flows share a slot where that takes less.
  void share(const Flows& flows) {
    if (flows.size() < 2) return;
    std::int64_t apart = 0;
    for (const auto flow : flows) apart = saturated_sum(apart, places(result_[flow.index()], {flow}));
    const auto together = choose(flows, apart);
    if (!together) return;
    for (const auto flow : flows) result_[flow.index()] = *together;
  }

  static std::int64_t saturated_sum(std::int64_t a, std::int64_t b) {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
  }

  /// The places of a slot, if every PE had values at all points of the box around them.
  [[nodiscard]] std::int64_t places(const Storage& storage, const Flows& flows) const {
    const auto extents = extents_of(mapping::points_defined(mapping_, flows));
    const auto product = [&](std::int64_t& value, std::size_t dim) {
      if (__builtin_mul_overflow(value, extents[dim].second - extents[dim].first + 1, &value))
        value = INT64_MAX;
    };
    std::int64_t result = 1, values = 1;
    for (const auto dim : storage.dims) product(result, dim);
    for (const auto& [dim, factor] : storage.buffer.dims) product(values, dim);
    if (storage.buffer.modulus != 0) values = std::min(values, storage.buffer.modulus);
    return __builtin_mul_overflow(result, values, &result) ? INT64_MAX : result;
  }

  [[nodiscard]] Storage choose(const Flows& flows) const {
    auto result = choose(flows, INT64_MAX);
    CYC_CHECK(result.has_value(), "a place for each value is enough");
    return *result;
  }

  /// The smallest storage that is sound; none where that takes `limit` places.
  [[nodiscard]] std::optional<Storage> choose(const Flows& flows, std::int64_t limit) const {
    const auto live = mapping::live_across(mapping_, flows);
    std::vector<Storage> candidates;
    const auto add = [&](std::vector<std::size_t> dims, ModularBuffer buffer = {}) {
      candidates.push_back({std::move(dims), std::move(buffer), flows.front()});
    };
    // Partial sums of an element may take turns in one place.
    const auto add_in_turns = [&](const std::vector<std::size_t>& dims) {
      auto elements = dims;
      std::erase_if(elements, [&](std::size_t dim) { return !varies_in_elements(flows, dim); });
      if (elements.size() < dims.size()) add(std::move(elements));
      add(dims);
    };
    const auto fixed = fixed_dims(flows);
    const auto from = [&](std::size_t position) {
      auto dims = varying_dims(flows, position);
      std::erase_if(dims, [&](std::size_t dim) { return fixed.contains(dim); });
      return dims;
    };
    if (!live.outermost && !live.from_prologue) {
      add({});
      if (flows.size() == 1) return candidates.front();
    } else if (!live.from_prologue) {
      // A value that goes through several loops, such as a sum cut into panels, may still need one place only. Of those that
      // each take the place of the one before, as the steps of a running maximum, the last may stay.
      for (auto level = *live.innermost + 1; level-- > *live.outermost;) {
        const auto inside = from(level + 1), outside = from(level);
        if (inside.size() > 1 && places({inside, {}, flows.front()}, flows) >= small)
          add({inside.begin(), inside.end() - 1});
        add_in_turns(inside);
        const auto steps = live.steps[level];
        const auto across = mapping_.grid.time[level];
        if (steps == 0 || outside.empty() || outside.front() != across) continue;
        const Storage copies{inside, {{{across, 1}}, steps + 1}, flows.front()};
        const bool in_turns = keeps_places(copies, flows, across);
        if (in_turns) candidates.push_back(copies);
        if (std::ranges::all_of(flows, [&](FlowId flow) { return graph_.at(flow).computed; }))
          for (auto& buffer : skewed_buffers(flows, inside, across, steps)) {
            auto others = inside;
            std::erase(others, buffer.dims.back().first);
            add(std::move(others), std::move(buffer));
          }
        if (!in_turns) candidates.push_back(copies);
      }
    }
    // One place for each value: since dependences advance, nothing can come between its making and its uses.
    const auto all = from(0);
    const bool is_small = places({all, {}, flows.front()}, flows) < small;
    for (auto n = all.size(); !is_small && n > 2 && n + 2 > all.size(); --n) {
      auto dims = all;
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(n) - 1);
      add(std::move(dims));
    }
    add_in_turns(all);
    for (const auto& candidate : candidates) {
      if (limit != INT64_MAX && places(candidate, flows) >= limit) continue;
      if (is_valid_storage(mapping_, flows, candidate)) return candidate;
    }
    return std::nullopt;
  }

  /// True of copies of rows that have room and whose loop may end early: in a ring of rows only the iterations that find
  /// it turned as the last one does could be left out.
  [[nodiscard]] bool keeps_places(const Storage& copies, const Flows& flows, std::size_t across) const {
    if (!ending_.contains(graph_.dims[across])) return false;
    const auto& tile = graph_.at(flows.front()).tile;
    const auto bytes = static_cast<std::int64_t>(operators::size_bytes(graph_.dtype_of(flows.front())));
    return places(copies, flows) <= room_ / (bytes * tile.rows * tile.columns);
  }

  [[nodiscard]] std::vector<std::size_t> varying_dims(const Flows& flows, std::size_t from) const {
    std::vector<std::size_t> result;
    for (std::size_t t = from; t < mapping_.grid.time.size(); ++t) {
      const auto dim = mapping_.grid.time[t];
      const bool varies = std::ranges::any_of(flows, [&](FlowId flow) {
        const auto dims = mapping::varying_dims(mapping_, flow, t);
        return !dims.empty() && dims.front() == dim;
      });
      if (varies) result.push_back(dim);
    }
    return result;
  }

  /// The dims that those before them fix, as those of a statement that stands beside the loops of others.
  [[nodiscard]] std::set<std::size_t> fixed_dims(const Flows& flows) const {
    auto dims = varying_dims(flows, 0);
    std::set<std::size_t> result;
    if (dims.size() < 3) return result;
    const auto points = mapping::points_defined(mapping_, flows);
    for (auto n = dims.size(); n-- > 0;) {
      std::vector<std::size_t> known{dims[n]};
      for (std::size_t dim = 0; dim < graph_.dims.size(); ++dim) {
        const bool is_time = std::ranges::find(mapping_.grid.time, dim) != mapping_.grid.time.end();
        if (dim != dims[n] && (!is_time || std::ranges::find(dims, dim) != dims.end())) known.push_back(dim);
      }
      const auto value = points.project(known).equality_for(0);
      if (!value || poly::is_constant(*value)) continue;
      result.insert(dims[n]);
      dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(n));
    }
    return result;
  }

  /// True where the elements that the flows' values are, or are partial sums of, vary with a dim.
  [[nodiscard]] bool varies_in_elements(const Flows& flows, std::size_t dim) const {
    return std::ranges::any_of(flows, [&](FlowId flow) {
      return std::ranges::any_of(graph_.at(flow).element,
                                 [&](const poly::Affine& form) { return form.coefficients[dim] != 0; });
    });
  }

  /// Modular buffers of the steps that are live and some rows more, where a value takes the place of one so many steps
  /// and rows before it: rows are what the outermost loop inside that of the steps counts. At the last of the steps rows
  /// are read up to `reach` behind; where they are read after the new value is made, it takes one row more.
  [[nodiscard]] std::vector<ModularBuffer> skewed_buffers(const Flows& flows,
                                                          const std::vector<std::size_t>& inside,
                                                          std::size_t across, std::int64_t steps) const {
    if (inside.empty()) return {};
    const auto extents = extents_of(mapping::points_defined(mapping_, flows));
    const auto rows_of = [&](std::size_t dim) { return extents[dim].second - extents[dim].first + 1; };
    const auto found = std::ranges::find_if(inside, [&](std::size_t dim) { return rows_of(dim) > 1; });
    if (found == inside.end()) return {};
    const auto row = *found;
    std::int64_t reach = 0;
    for (const auto& statement : mapping_.statements) {
      if (statement.target.point.empty()) continue;
      for (const auto& source : statement.sources) {
        if (std::ranges::find(flows, source.flow) == flows.end()) continue;
        const auto later = statement.target.point[across] - source.point[across];
        if (!poly::is_constant(later) || later.constant != steps) continue;
        const auto behind = statement.target.point[row] - source.point[row];
        if (!poly::is_constant(behind)) return {};
        reach = std::max(reach, behind.constant);
      }
    }
    std::vector<ModularBuffer> result;
    const std::int64_t rows = rows_of(row);
    for (const auto more : {reach, reach + 1}) {
      std::int64_t modulus = 0;
      const bool overflow =
          __builtin_mul_overflow(steps, rows, &modulus) || __builtin_add_overflow(modulus, more, &modulus);
      if (more < rows && !overflow) result.push_back({{{across, rows}, {row, 1}}, modulus});
    }
    return result;
  }

  const Mapping& mapping_;
  const dataflow::Graph& graph_;
  const std::set<std::string>& ending_;
  std::int64_t room_;
  std::vector<Storage> result_;
};

}  // namespace

std::vector<Storage> choose_storage(const Mapping& mapping, const std::set<std::string>& ending,
                                    std::int64_t room) {
  return StorageChooser(mapping, ending, room).run();
}

std::string to_string(const Mapping& mapping, const std::vector<Storage>& storage) {
  const auto& graph = mapping.graph;
  std::string text;
  for (std::size_t f = 0; f < storage.size(); ++f) {
    const auto& [dims, buffer, slot] = storage[f];
    std::vector<std::string> index, wrapped;
    for (const auto d : dims) index.push_back(graph.dims[d]);
    for (const auto& [d, factor] : buffer.dims) {
      wrapped.push_back(factor == 1 ? graph.dims[d] : fmt::format("{}{}", factor, graph.dims[d]));
    }
    if (buffer.modulus != 0)
      index.push_back(fmt::format("({}) mod {}", fmt::join(wrapped, " + "), buffer.modulus));
    text += fmt::format("{} in slot {}[{}]\n", dataflow::flow_text(graph, FlowId(f)), slot.index(),
                        fmt::join(index, ", "));
  }
  return text;
}

}  // namespace cyclotron::codegen
