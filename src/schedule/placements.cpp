// Placements for those who give none, and what a run costs on each, about.
#include "placements.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/schedule/schedule.hpp>

#include "equation_cost.hpp"
#include "sequential.hpp"

namespace cyclotron::schedule {

namespace {

using recurrence::Equation;
using recurrence::ExprId;
using recurrence::System;
using Names = std::vector<std::string>;

/// Indices that are tried, the longest: pairs of them are a few hundred, and triples.
constexpr std::size_t most_indices = 24, most_indices_of_cubes = 10;
/// Reductions in another order are tried where the estimate is so many times better.
constexpr double much_shorter = 1.05;
/// Parts that each PE of a tree joins.
constexpr std::int64_t radix_of_pes = 4;
/// Comparisons of parts of the grid, to tell which PE computes the most: some microseconds.
constexpr std::size_t most_comparisons = 1 << 12;
/// Placements of which those that deal values out are estimated, the best: more than a search compiles.
constexpr std::size_t most_dealt = 32;
/// Elements that all PEs load of a table, each for itself: what the simulator has room for.
constexpr double most_copies = 1 << 20;

double elements_of(const recurrence::Tensor& tensor) {
  const auto extents = tensor.extents();
  return std::accumulate(extents.begin(), extents.end(), 1.0, std::multiplies{});
}

/// The PEs of a part of the grid, from the first to the last along each of its dimensions.
using Box = std::vector<std::pair<double, double>>;
using Load = std::pair<Box, double>;  ///< So many cycles of each of these PEs.

/// The cycles of the PE that has the most, of loads that differ from a dimension on; their sum where that takes long.
double most_of_one_pe(const std::vector<Load>& loads, std::size_t dimension, std::size_t effort) {
  if (loads.empty() || dimension == loads.front().first.size() || loads.size() > effort) {
    return std::accumulate(loads.begin(), loads.end(), 0.0,
                           [](double sum, const Load& load) { return sum + load.second; });
  }
  double result = 0;
  std::set<double> firsts;  // one of them has the most
  for (const auto& [box, cycles] : loads) firsts.insert(box[dimension].first);
  for (const auto pe : firsts) {
    std::vector<Load> there;
    std::ranges::copy_if(loads, std::back_inserter(there), [&](const Load& load) {
      return load.first[dimension].first <= pe && pe <= load.first[dimension].second;
    });
    result = std::max(result, most_of_one_pe(there, dimension + 1, effort / firsts.size()));
  }
  return result;
}

/// Estimates of cycles, of any placement.
class Estimates {
 public:
  Estimates(const System& system, const std::vector<std::int64_t>& grid)
      : names_(index_names(system)),
        extents_(names_.size(), 1),
        firsts_(names_.size(), std::numeric_limits<double>::max()),
        grid_(grid),
        sequential_(sequential_indices(system)),
        cost_(system, names_, sequential_) {
    const auto free = recurrence::indices_in_any_order(system);
    in_any_order_ = {free.begin(), free.end()};
    for (const auto& equation : system.equations) cost_.add(equation);
    std::vector<const Loop*> loops;
    for (const auto& work : cost_.works)
      std::ranges::transform(work.loops, std::back_inserter(loops), [](const Loop& loop) { return &loop; });
    for (const auto& way : cost_.ways) loops.push_back(&way.along);
    for (const auto* loop : loops) firsts_[loop->index] = std::min(firsts_[loop->index], loop->first);
    for (const auto* loop : loops) {
      auto& extent = extents_[loop->index];
      extent = std::max(extent, loop->last() + 1 - firsts_[loop->index]);
    }
    std::vector<bool> varies(names_.size());
    for (const auto* loop : loops) varies[loop->index] = varies[loop->index] || loop->extent > 1;
    for (const auto& equation : system.equations) {
      for (const auto& form : equation.index) {
        for (std::size_t v = 0; v < form.coefficients.size(); ++v) {
          if (form.coefficients[v] == 0) continue;
          const auto n = std::ranges::find(names_, equation.indices[v]) - names_.begin();
          varies[static_cast<std::size_t>(n)] = true;
        }
      }
    }
    for (std::size_t n = 0; n < names_.size(); ++n) {
      if (varies[n] && extents_[n] > 1 && !sequential_.exits.contains(names_[n])) candidates_.push_back(n);
    }
    const auto most = grid_dimensions(grid) > 2 ? most_indices_of_cubes : most_indices;
    std::ranges::stable_sort(candidates_, std::greater{}, [&](std::size_t n) { return extents_[n]; });
    candidates_.resize(std::min(candidates_.size(), most));
    std::ranges::sort(candidates_);
  }

  /// Indices that may be space, in nesting order.
  [[nodiscard]] Names candidates() const {
    Names result;
    for (const auto n : candidates_) result.push_back(names_[n]);
    return result;
  }

  [[nodiscard]] Placement of(Schedule schedule) const {
    Placement result;
    const auto spread = spread_of(schedule);
    const auto &parts = spread.parts, &blocks = spread.blocks;
    for (std::size_t n = 0; n < names_.size(); ++n) {
      if (parts[n] == 0) continue;
      result.in_turn = result.in_turn || sequential_.carried.contains(names_[n]);
      result.pes *= parts[n];
      result.is_folded = result.is_folded || parts[n] < extents_[n];
    }
    std::map<Box, double> loads;
    const auto is_loaded = [&](const std::string* input) {
      return input != nullptr && movement_of(schedule, *input) != nullptr;
    };
    // Of a table in parts each PE looks in its own.
    const auto is_found = [&](const Selection& selection) {
      return is_loaded(selection.input) ||
             std::ranges::all_of(selection.moving, [&](std::size_t n) { return parts[n] == 0; });
    };
    // A PE that looks for several numbers does so once it has the part that comes from another.
    const auto comes_once = [&](const Selection& selection) {
      return selection.input == nullptr &&
             std::ranges::any_of(selection.moving, [&](std::size_t n) { return parts[n] < extents_[n]; });
    };
    for (const auto& work : cost_.works) {
      const bool is_there = work.selection && is_found(*work.selection);
      const bool comes = work.selection && !is_there && comes_once(*work.selection);
      const auto [box, cycles] = load_of(work, is_there || comes, spread);
      loads[box] += cycles;
      if (!comes) continue;
      Work arrival{1, work.loops};
      std::erase_if(arrival.loops,
                    [&](const Loop& loop) { return work.selection->moving.contains(loop.index); });
      const auto [there, arriving] = load_of(arrival, false, spread);
      loads[there] += arriving;
    }
    result.fullest = most_of_one_pe({loads.begin(), loads.end()}, 0, most_comparisons);
    result.cycles = result.least = result.fullest;
    for (const auto& way : cost_.ways) {
      if (way.input != nullptr && is_loaded(&way.input->name)) continue;
      const auto index = way.along.index;
      const bool in_turn =
          way.reduced && blocks[index] > 1 && parts[index] > 1 && !spread.in_blocks.contains(index);
      double cycles = way.cycles * (in_turn ? way.along.extent : std::min(parts[index], way.along.extent));
      if (way.computed && spread.inwards.contains(index)) cycles /= 2;
      result.least += cycles;
      std::set<std::size_t> counted{way.along.index};
      for (const auto& loop : way.around) {
        if (parts[loop.index] == 0) cycles *= spread.within(loop, loop.extent, counted);
        counted.insert(loop.index);
      }
      result.cycles += cycles;
    }
    result.schedule = std::move(schedule);
    return result;
  }

  /// The placement with the tables of which its PEs choose elements in each of them, where there is room for that.
  [[nodiscard]] std::optional<Placement> with_tables(const Placement& placement) const {
    auto schedule = placement.schedule;
    const auto is_space = [&](std::size_t n) {
      return std::ranges::find(schedule.space_indices, names_[n]) != schedule.space_indices.end();
    };
    const auto load = [&](const std::string& input) {
      if (movement_of(schedule, input) == nullptr)
        schedule.movements.push_back({input, MovementKind::prefetch, {}});
    };
    for (const auto& work : cost_.works) {
      if (!work.selection || work.selection->input == nullptr) continue;
      // Without a prefetch, a table that goes by once is compared element by element.
      const auto& moving = work.selection->moving;
      const bool stays = !moving.empty() && std::ranges::none_of(moving, is_space);
      if (std::ranges::any_of(work.selection->along, is_space) || stays ||
          placement.pes * work.selection->elements > most_copies)
        continue;
      load(*work.selection->input);
    }
    for (const auto& [input, along, moving, is_bounded, is_ending] : cost_.bounded_reads) {
      const bool in_space = std::ranges::any_of(along, is_space);
      if ((is_bounded && in_space) || (!is_ending && std::ranges::none_of(moving, is_space))) continue;
      double copies = placement.pes * elements_of(*input);
      for (const auto n : along) copies /= is_space(n) ? extents_[n] : 1;
      if (copies <= most_copies) load(input->name);
    }
    if (schedule.movements.empty()) return std::nullopt;
    return of(std::move(schedule));
  }

  [[nodiscard]] const std::set<std::string>& passing() const { return cost_.passing; }

  /// The placement with values that PEs share dealt out in turn, along all of its dimensions and along each of them.
  [[nodiscard]] std::vector<Placement> dealt(const Placement& placement) const {
    std::vector<Fold> folds;
    const auto& space = placement.schedule.space_indices;
    for (std::size_t d = 0; d < std::min(space.size(), grid_.size()); ++d) {
      const auto n = number(space[d]);
      if (n < names_.size() && grid_[d] > 1 && extents_[n] > static_cast<double>(grid_[d]))
        folds.push_back({space[d], FoldKind::cyclic, grid_[d]});
    }
    std::vector<Placement> result;
    const auto add = [&](std::vector<Fold> some) {
      auto schedule = placement.schedule;
      schedule.folds = std::move(some);
      result.push_back(of(std::move(schedule)));
    };
    if (!folds.empty()) add(folds);
    if (folds.size() > 1) {
      for (const auto& fold : folds) add({fold});
    }
    return result;
  }

  /// The placement on one dimension with half of its PEs, a quarter and so on, in which values have shorter ways: in blocks,
  /// and dealt out in turn.
  [[nodiscard]] std::vector<Placement> narrower(const Placement& placement) const {
    std::vector<Placement> result;
    std::vector<std::string> wide;
    for (const auto& place : placement.schedule.space_indices) {
      if (number(place) < names_.size()) wide.push_back(place);
    }
    if (wide.size() != 1 || !placement.schedule.folds.empty()) return result;
    for (const auto kind : {FoldKind::block, FoldKind::cyclic}) {
      for (auto pes = static_cast<std::int64_t>(placement.pes) / 2; pes > 1; pes /= 2) {
        auto schedule = placement.schedule;
        schedule.folds = {{wide.front(), kind, pes}};
        result.push_back(of(std::move(schedule)));
      }
    }
    return result;
  }

  /// Placements of a tensor whose elements loops add to, `y[i + k] += x[i] * h[k]`, each of them in one PE.
  [[nodiscard]] std::vector<Placement> of_sums(const System& system, const recurrence::Tensor& tensor) const {
    const auto made = std::ranges::find_if(
        system.equations, [&](const Equation& equation) { return &system.at(equation.target) == &tensor; });
    if (made == system.equations.end() || tensor.holds.empty() || tensor.holds.size() != grid_.size())
      return {};
    std::vector<Names> dimensions;  // the indices of which each subscript is the sum
    for (const auto& form : tensor.holds) {
      auto& sum = dimensions.emplace_back();
      for (std::size_t d = 0; d < form.coefficients.size(); ++d) {
        if (form.coefficients[d] == 0) continue;
        const auto& factors = made->index[d].coefficients;
        const auto variable = static_cast<std::size_t>(std::ranges::find(factors, 1) - factors.begin());
        if (form.coefficients[d] != 1 || variable == factors.size() ||
            std::ranges::count(factors, 0) != std::ssize(factors) - 1)
          return {};
        sum.push_back(made->indices[variable]);
      }
      if (sum.empty()) return {};
      std::ranges::sort(sum, {}, [&](const std::string& name) { return std::ranges::find(names_, name); });
    }
    if (std::ranges::all_of(dimensions, [](const Names& sum) { return sum.size() == 1; })) return {};
    return of_dimensions(system, dimensions);
  }

  /// The placement with its reductions in the orders that suit the grid, where they may have any and are shorter so: those
  /// of the terms of a PE first, then of these, in turn or from both ends; or from both ends, where a PE has one term.
  [[nodiscard]] std::vector<Placement> reordered(const Placement& placement) const {
    auto schedule = placement.schedule;
    std::vector<std::string> of_pes;
    for (std::size_t d = 0; d < schedule.space_indices.size(); ++d) {
      const auto& index = schedule.space_indices[d];
      if (!in_any_order_.contains(index)) continue;
      const auto n = number(index);
      if (d < grid_.size() && grid_[d] > 1 && extents_[n] > static_cast<double>(grid_[d])) {
        schedule.reductions.push_back({index, grid_[d]});
        of_pes.push_back(index);
      } else {
        schedule.inward_indices.push_back(index);
      }
    }
    if (schedule.inward_indices.empty() && schedule.reductions.empty()) return {};
    std::ranges::sort(schedule.inward_indices);
    std::ranges::sort(schedule.reductions, {}, &recurrence::Tree::index);
    std::vector<Placement> result;
    const auto add = [&](Schedule other, double limit) {
      auto one = of(std::move(other));
      if (one.cycles * much_shorter < limit) result.push_back(std::move(one));
    };
    add(schedule, placement.cycles);
    if (of_pes.empty() || result.empty()) return result;
    std::ranges::copy(of_pes, std::back_inserter(schedule.inward_indices));
    std::ranges::sort(schedule.inward_indices);
    add(std::move(schedule), result.front().cycles);
    return result;
  }

  /// The placement with its reductions in trees, where a PE has one term: no PE then waits for all before it.
  [[nodiscard]] std::optional<Placement> in_trees(const Placement& placement) const {
    auto schedule = placement.schedule;
    for (const auto& index : schedule.space_indices) {
      if (in_any_order_.contains(index)) schedule.reductions.push_back({index, radix_of_pes});
    }
    if (placement.is_folded || schedule.reductions.empty()) return std::nullopt;
    std::ranges::sort(schedule.reductions, {}, &recurrence::Tree::index);
    return of(std::move(schedule));
  }

 private:
  /// Placements of which the dimensions are sums of indices: each in blocks with values that go from PE to PE, and dealt out
  /// with all inputs in each PE, where these have room.
  [[nodiscard]] std::vector<Placement> of_dimensions(const System& system,
                                                     const std::vector<Names>& dimensions) const {
    Placement plain;
    Placement dealt;
    plain.is_folded = dealt.is_folded = true;
    Names space;
    std::map<std::string, std::pair<double, double>> shares;  // of all values of an index, those of a PE
    double fill = 0;
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      double extent = 1, least = std::numeric_limits<double>::max();
      for (const auto& name : dimensions[d]) {
        const auto own = extents_[number(name)];
        extent += own - 1;
        least = std::min(least, own);
      }
      space.push_back(fmt::to_string(fmt::join(dimensions[d], "+")));
      const auto most = static_cast<double>(grid_[d]), block = std::ceil(extent / most);
      const auto pes = std::ceil(extent / block);
      plain.pes *= pes;
      fill += pes;
      if (extent > most) dealt.schedule.folds.push_back({space.back(), FoldKind::cyclic, grid_[d]});
      dealt.pes *= std::min(extent, most);
      double all = 1;
      for (const auto& name : dimensions[d]) all *= extents_[number(name)];
      shares[dimensions[d].front()] = {std::min(block * least, all) / all, 1 / std::min(extent, most)};
    }
    for (const auto& work : cost_.works) {
      double in_blocks = work.cycles, dealt_out = work.cycles;
      for (const auto& loop : work.loops) {
        const auto share = shares.find(names_[loop.index]);
        in_blocks *= loop.extent * (share == shares.end() ? 1 : share->second.first);
        dealt_out *= loop.extent * (share == shares.end() ? 1 : share->second.second);
      }
      plain.fullest += in_blocks;
      dealt.fullest += dealt_out;
    }
    plain.schedule.space_indices = dealt.schedule.space_indices = space;
    plain.cycles = plain.least = plain.fullest + fill;
    dealt.cycles = dealt.least = dealt.fullest;
    double elements = 0;
    for (const auto& tensor : system.tensors) {
      if (tensor.role != recurrence::Role::input) continue;
      dealt.schedule.movements.push_back({tensor.name, MovementKind::prefetch, {}});
      elements += elements_of(tensor);
    }
    if (dealt.schedule.folds.empty() || dealt.pes * elements > most_copies) return {std::move(plain)};
    return {std::move(dealt), std::move(plain)};
  }

  [[nodiscard]] std::size_t number(const std::string& name) const {
    return static_cast<std::size_t>(std::ranges::find(names_, name) - names_.begin());
  }

  /// Indices on the grid.
  struct Spread {
    std::vector<double> parts;   ///< PEs along each index, 0: none.
    std::vector<double> blocks;  ///< Neighbouring values in each, 0: they are dealt out in turn.
    std::set<std::size_t> inwards, in_blocks;

    /// Of so many values of a loop those for one of each that counts, and for those of a PE where it runs in turn: of a loop in
    /// space, those that run in turn are counted for its values.
    [[nodiscard]] double within(const Loop& loop, double values, const std::set<std::size_t>& counted) const {
      for (const auto& [other, share] : loop.within) {
        if (parts[other] > 0 ? parts[loop.index] > 0 && !counted.contains(other)
                             : parts[loop.index] > 0 || !counted.contains(other))
          continue;
        values = std::min(values, parts[other] > 0 && blocks[other] > 0 ? share.most : share.mean);
      }
      return values;
    }

    /// Of values that neighbour each other, or are dealt out, the most that a PE has.
    [[nodiscard]] double of_pe(const Loop& loop) const {
      const auto pes = parts[loop.index], block = blocks[loop.index];
      if (block > 0) return std::min(loop.extent, std::ceil(block / loop.step));
      const auto apart = std::gcd(static_cast<std::int64_t>(loop.step), static_cast<std::int64_t>(pes));
      return std::ceil(loop.extent * static_cast<double>(apart) / pes);
    }

    /// The PEs that have values of a loop, of those along its index.
    [[nodiscard]] std::pair<double, double> pes_of(const Loop& loop, double least) const {
      const auto pes = parts[loop.index], block = blocks[loop.index];
      const auto first = loop.first - least, last = loop.last() - least;
      if (block > 0) return {std::floor(first / block), std::floor(last / block)};
      if (last - first + 1 < pes && std::fmod(first, pes) <= std::fmod(last, pes))
        return {std::fmod(first, pes), std::fmod(last, pes)};
      return {0, pes - 1};
    }
  };

  /// The PEs that have work, and how much.
  [[nodiscard]] Load load_of(const Work& work, bool by_address, const Spread& spread) const {
    double cycles = work.cycles;
    std::map<std::size_t, std::pair<double, double>> where;
    std::set<std::size_t> counted;
    for (const auto& loop : work.loops) {
      const auto n = loop.index;
      const bool in_space = spread.parts[n] > 0;
      if (in_space) where[n] = spread.pes_of(loop, firsts_[n]);
      const bool is_found =
          by_address && std::ranges::find(work.selection->along, n) != work.selection->along.end();
      if (!is_found) {
        const bool in_turn = !in_space || sequential_.whole.contains(names_[n]);
        const auto each = spread.within(loop, in_turn ? loop.extent : spread.of_pe(loop), counted);
        const bool is_skipped = !in_space && cost_.bounded.contains(n);
        cycles *= is_skipped ? std::max(each / expected_of_bounded, 1.0) : each;
      }
      counted.insert(n);
    }
    Box box;
    for (std::size_t n = 0; n < names_.size(); ++n) {
      if (spread.parts[n] > 0)
        box.push_back(where.contains(n) ? where[n] : std::pair(0.0, spread.parts[n] - 1));
    }
    return {std::move(box), cycles};
  }

  [[nodiscard]] Spread spread_of(const Schedule& schedule) const {
    Spread spread{std::vector<double>(names_.size(), 0), std::vector<double>(names_.size(), 1), {}, {}};
    for (std::size_t d = 0; d < schedule.space_indices.size(); ++d) {
      const auto n = number(schedule.space_indices[d]);
      if (n == names_.size()) continue;
      if (std::ranges::find(schedule.inward_indices, names_[n]) != schedule.inward_indices.end())
        spread.inwards.insert(n);
      if (std::ranges::find(schedule.reductions, names_[n], &recurrence::Tree::index) !=
          schedule.reductions.end())
        spread.in_blocks.insert(n);
      if (d < grid_.size()) spread.blocks[n] = std::ceil(extents_[n] / static_cast<double>(grid_[d]));
      spread.parts[n] = std::ceil(extents_[n] / spread.blocks[n]);
      const auto fold = std::ranges::find(schedule.folds, names_[n], &Fold::dimension);
      if (fold != schedule.folds.end()) {
        spread.parts[n] = static_cast<double>(fold->parts);
        spread.blocks[n] = fold->kind == FoldKind::cyclic ? 0 : std::ceil(extents_[n] / spread.parts[n]);
      }
    }
    return spread;
  }

  Names names_;
  std::vector<double> extents_;  ///< Of each index, from its least value in any equation to the greatest,
  std::vector<double> firsts_;   ///< and the least one.
  const std::vector<std::int64_t>& grid_;
  SequentialIndices sequential_;
  EquationCost cost_;
  std::set<std::string> in_any_order_;
  std::vector<std::size_t> candidates_;
};

/// All choices of some indices, from none to so many, in order.
void for_each_choice(const Names& from, std::size_t most, const std::function<void(const Names&)>& visit) {
  Names chosen;
  const std::function<void(std::size_t)> choose = [&](std::size_t next) {
    visit(chosen);
    if (chosen.size() == most) return;
    for (; next < from.size(); ++next) {
      chosen.push_back(from[next]);
      choose(next + 1);
      chosen.pop_back();
    }
  };
  choose(0);
}

}  // namespace

std::size_t grid_dimensions(const std::vector<std::int64_t>& grid) { return grid.empty() ? 2 : grid.size(); }

std::vector<std::string> spread(const Names& indices, const std::vector<std::int64_t>& grid) {
  if (grid.size() <= 1) return indices;
  std::vector<std::size_t> largest(grid.size());
  std::iota(largest.begin(), largest.end(), 0);
  std::ranges::stable_sort(largest, std::greater{}, [&](std::size_t d) { return grid[d]; });
  largest.resize(indices.size());
  std::ranges::sort(largest);
  Names result(grid.size(), "0");
  for (std::size_t n = 0; n < indices.size(); ++n) result[largest[n]] = indices[n];
  return result;
}

Placements placements(const System& system, const std::vector<std::int64_t>& grid) {
  const Estimates estimates(system, grid);
  Placements result;
  result.passing = estimates.passing();
  for (auto& schedule : defaults(system, grid)) result.defaults.push_back(estimates.of(std::move(schedule)));
  const bool square = std::ranges::adjacent_find(grid, std::not_equal_to{}) == grid.end();
  const auto is_default = [&](const Names& space) {
    return std::ranges::any_of(result.defaults, [&](const Placement& placement) {
      const auto& other = placement.schedule.space_indices;
      return square ? std::ranges::is_permutation(other, space) : other == space;
    });
  };
  for_each_choice(estimates.candidates(), grid_dimensions(grid), [&](const Names& indices) {
    for (auto order = indices;;) {
      const auto space = spread(order, grid);
      if (!is_default(space)) result.others.push_back(estimates.of({space, {}, {}}));
      if (square || !std::ranges::next_permutation(order, {}, [&](const std::string& name) {
                       return std::ranges::find(indices, name);
                     }).found)
        break;
    }
  });
  std::vector<Placement> loading;
  for (const auto* placements : {&result.defaults, &result.others}) {
    for (const auto& placement : *placements) {
      if (auto other = estimates.with_tables(placement)) loading.push_back(std::move(*other));
    }
  }
  std::ranges::move(loading, std::back_inserter(result.others));
  for (const auto* placements : {&result.defaults, &result.others}) {
    for (const auto& placement : *placements) {
      std::ranges::move(estimates.reordered(placement), std::back_inserter(result.reordered));
      if (auto other = estimates.in_trees(placement)) result.in_trees.push_back(std::move(*other));
    }
  }
  for (const auto& tensor : system.tensors)
    std::ranges::move(estimates.of_sums(system, tensor), std::back_inserter(result.others));
  std::ranges::stable_sort(result.others, {}, &Placement::cycles);
  for (const auto* placements : {&result.defaults, &result.others}) {
    for (const auto& placement : *placements | std::views::take(most_dealt))
      std::ranges::move(estimates.dealt(placement), std::back_inserter(result.dealt));
    for (const auto& placement : *placements | std::views::take(most_dealt))
      std::ranges::move(estimates.narrower(placement), std::back_inserter(result.narrower));
  }
  return result;
}

}  // namespace cyclotron::schedule
