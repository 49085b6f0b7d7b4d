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

#include <cyclotron/operators/operators.hpp>
#include <cyclotron/poly/set.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>
#include <cyclotron/recurrence/sets.hpp>
#include <cyclotron/schedule/schedule.hpp>

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
/// A test, a choice and a sum for each element of a table; by its address it takes as many.
constexpr double operators_of_selection = 3;
/// Elements that all PEs load of a table, each for itself: what the simulator has room for.
constexpr double most_copies = 1 << 20;

/// The values that an index has for one of another's.
struct Share {
  double most = 1, mean = 1;
  bool operator==(const Share&) const = default;
};

/// A loop around an operation, how many values its index has there, from which on, and in which steps.
struct Loop {
  std::size_t index = 0;
  double extent = 1;
  double first = 0;
  double step = 1;
  std::map<std::size_t, Share> within{};  ///< By the other index, of those that bound it.
  [[nodiscard]] double last() const { return first + (extent - 1) * step; }
  bool operator==(const Loop&) const = default;
};

/// The values that a coordinate has in a set.
Loop loop_of(const poly::Set& points, std::size_t coordinate) {
  const auto low = points.minimum(coordinate).value_or(0), high = points.maximum(coordinate).value_or(0);
  const auto step = high > low ? points.step(coordinate) : 1;
  return {.extent = static_cast<double>(std::max<std::int64_t>((high - low) / step + 1, 1)),
          .first = static_cast<double>(low),
          .step = static_cast<double>(step)};
}

/// Shares of the second of two coordinates in the values of the first, by three of these: exact where bounds are straight.
Share share_of(const poly::Set& both, const Loop& other) {
  const auto at = [&](double place) {
    const auto value = other.first + std::floor(place * (other.extent - 1)) * other.step;
    auto form = poly::variable(2, 0);
    form.constant = -static_cast<std::int64_t>(value);
    const auto there = both.intersect(poly::Constraint{std::move(form), true});
    return there.is_empty() ? 0 : loop_of(there, 1).extent;
  };
  const double first = at(0), middle = at(0.5), last = at(1);
  const auto most = std::max({first, middle, last, 1.0});
  return {most, std::clamp((first + 4 * middle + last) / 6, 1.0, most)};
}

/// The choice of an element of a table by its number: `value == j ? x[j] : 0` for each j. A PE that has the table finds it
/// by its address, which takes no more for a longer one.
struct Selection {
  std::vector<std::size_t> along;      ///< The table's indices, which number its elements.
  std::set<std::size_t> moving{};      ///< Indices that, in space, have PEs hand the table on.
  const std::string* input = nullptr;  ///< The table, where each PE may load it instead,
  double elements = 0;                 ///< all of these.
};

/// An input that iterations read which numbers bound, or of a loop that may end early: where each PE has it, it skips the
/// others.
struct BoundedRead {
  const recurrence::Tensor* input = nullptr;
  std::vector<std::size_t> along;   ///< The indices that its subscripts name.
  std::vector<std::size_t> moving;  ///< Others that, in space, have PEs hand it on.
  bool is_bounded = false;          ///< Along one of its own indices.
  bool is_ending =
      false;  ///< In a loop that each of the others ends by itself; so its own index is that loop's.
};

/// Operators of one PE: so many cycles at each point of the loops.
struct Work {
  double cycles = 0;
  std::vector<Loop> loops;
  std::optional<Selection> selection = std::nullopt;
};

/// The way of values from point to point along an index, where it is space: so many cycles a point, in each iteration of
/// the loops further out that run one after the other in time.
struct Way {
  Loop along;
  double cycles = 1;
  std::vector<Loop> around;
  bool computed = false;  ///< They start or end where a reduction does.
  bool reduced =
      false;  ///< Of a reduction's terms: a PE joins its own one after the other, once those before it are.
  const std::string* input = nullptr;  ///< That they hand on.
};

/// Collects the operators and ways of an equation.
class EquationCost {
 public:
  EquationCost(const System& system, const Names& names, const SequentialIndices& sequential)
      : system_(system), names_(names), sequential_(sequential) {
    for (const auto& equation : system.equations) find_bounds(equation);
  }

  void add(const Equation& equation) {
    const auto domain = recurrence::domain_of(poly::Context(), equation);
    if (domain.is_empty()) return;
    const recurrence::Scope scope{equation.indices, domain};
    const auto loops = loops_of(scope);
    add_operators(0, loops);  // a copy, too, is somewhere
    chain_ = 0;
    dimensions_ = equation.indices.size();
    if (!add_to_element(equation, loops)) add(equation.expr, scope, loops, 0);
    std::vector<Loop> outer;  // that run in turn
    for (const auto& loop : loops) {
      const bool carried = sequential_.carried.contains(names_[loop.index]);
      const auto way = found_.find(loop.index);
      if (way != found_.end()) way->second.around = outer;
      // From neighbour to neighbour, iterations of outer loops follow each other as wavefronts do.
      if (carried) found_[loop.index] = {loop, chain_ + 1, {}};
      if (carried || sequential_.exits.contains(names_[loop.index])) outer.push_back(loop);
    }
    for (auto& [index, way] : found_) {
      const bool reduced = std::ranges::find(loops, index, &Loop::index) == loops.end();
      if (reduced) way.around = outer;
      ways.push_back(std::move(way));
    }
    found_.clear();
  }

  std::vector<Work> works;
  std::vector<Way> ways;
  /// Indices of which numbers tell the first and the last value, as `first[i] <= k < last[i]`.
  std::set<std::size_t> bounded;
  std::vector<BoundedRead> bounded_reads;

 private:
  void find_bounds(const Equation& equation) {
    const auto operands = [&](ExprId id, recurrence::Op op) {
      const auto* apply = std::get_if<recurrence::Apply>(&system_.at(id).node);
      return apply != nullptr && apply->op == op ? apply->operands : std::vector<ExprId>{};
    };
    // The variable that a number, which does not depend on it, is compared with.
    const auto variable = [&](ExprId id, recurrence::Op op) -> std::optional<std::size_t> {
      const auto sides = operands(id, op);
      if (sides.empty()) return std::nullopt;
      const auto* number = std::get_if<recurrence::Access>(&system_.at(sides[0]).node);
      const auto* index = std::get_if<recurrence::Index>(&system_.at(sides[1]).node);
      if (number == nullptr || index == nullptr) return std::nullopt;
      for (std::size_t v = 0; v < index->form.coefficients.size(); ++v) {
        if (index->form.coefficients[v] != 0 && !names(*number, v)) return v;
      }
      return std::nullopt;
    };
    const auto sides = operands(equation.expr, recurrence::Op::logical_and);
    if (sides.empty()) return;
    const auto first = variable(sides[0], recurrence::Op::less_equal);
    if (first && first == variable(sides[1], recurrence::Op::greater))
      bounded.insert(
          static_cast<std::size_t>(std::ranges::find(names_, equation.indices[*first]) - names_.begin()));
  }

  [[nodiscard]] std::vector<Loop> loops_of(const recurrence::Scope& scope) const {
    std::vector<Loop> result;
    for (std::size_t v = 0; v < scope.names.size(); ++v) {
      result.push_back(loop_of(scope.points, v));
      result.back().index =
          static_cast<std::size_t>(std::ranges::find(names_, scope.names[v]) - names_.begin());
    }
    for (const auto& [u, v] : bounding(scope.points)) {
      if (result[u].extent == 1 || result[v].extent == 1) continue;
      result[u].within[result[v].index] = share_of(scope.points.project({v, u}), result[v]);
      result[v].within[result[u].index] = share_of(scope.points.project({u, v}), result[u]);
    }
    return result;
  }

  /// The pairs of coordinates that a constraint bounds together.
  [[nodiscard]] static std::set<std::pair<std::size_t, std::size_t>> bounding(const poly::Set& points) {
    std::set<std::pair<std::size_t, std::size_t>> result;
    for (const auto& part : points.conjunctions().value_or(std::vector<poly::Conjunction>())) {
      for (const auto& constraint : part.constraints) {
        const auto& factors = constraint.form.coefficients;
        for (std::size_t v = 0; v < factors.size(); ++v) {
          for (std::size_t u = 0; u < v; ++u) {
            if (factors[u] != 0 && factors[v] != 0) result.emplace(u, v);
          }
        }
      }
    }
    return result;
  }

  /// An expression whose value so many operators take before the equation's is known.
  void add(ExprId id, const recurrence::Scope& scope, const std::vector<Loop>& loops, double after) {
    const auto& node = system_.at(id).node;
    if (const auto* apply = std::get_if<recurrence::Apply>(&node)) {
      const bool takes_time = operators::info(apply->op).flops_per_element != 0;
      if (takes_time) add_operators(1, loops);
      for (const auto operand : apply->operands) add(operand, scope, loops, after + (takes_time ? 1 : 0));
    } else if (const auto* access = std::get_if<recurrence::Access>(&node)) {
      if (system_.at(access->tensor).role != recurrence::Role::input) chain_ = std::max(chain_, after);
      add_ways(*access, loops);
    } else if (const auto* reduce = std::get_if<recurrence::Reduce>(&node)) {
      add_reduction(*reduce, scope, after);
    }
  }

  void add_operators(double cycles, const std::vector<Loop>& loops) {
    if (works.empty() || works.back().selection || works.back().loops != loops) works.push_back({0, loops});
    works.back().cycles += cycles;
  }

  [[nodiscard]] static bool names(const recurrence::Access& access, std::size_t variable) {
    return std::ranges::any_of(access.index, [&](const recurrence::Affine& form) {
      return variable < form.coefficients.size() && form.coefficients[variable] != 0;
    });
  }

  /// The table of which sums, of which this is the innermost, take the element that `value == 4i + j` chooses, if they do.
  [[nodiscard]] const recurrence::Access* table_of(const recurrence::Reduce& reduce,
                                                   const recurrence::Scope& scope) const {
    const auto chosen = chosen_by(reduce.body);
    const auto last = scope.names.size() - 1;
    if (chosen.empty() || chosen.front() < dimensions_ || chosen.back() != last) return nullptr;
    const auto& choice = std::get<recurrence::Apply>(system_.at(reduce.body).node);
    const auto* table = std::get_if<recurrence::Access>(&system_.at(choice.operands[1]).node);
    const auto named = [&](std::size_t variable) { return names(*table, variable); };
    return table != nullptr && std::ranges::all_of(chosen, named) ? table : nullptr;
  }

  /// The variables of the number in `value == number ? ... : ...`, if an expression is that.
  [[nodiscard]] std::vector<std::size_t> chosen_by(ExprId id) const {
    const auto* choice = std::get_if<recurrence::Apply>(&system_.at(id).node);
    if (choice == nullptr || choice->op != recurrence::Op::where) return {};
    const auto* test = std::get_if<recurrence::Apply>(&system_.at(choice->operands[0]).node);
    if (test == nullptr || test->op != recurrence::Op::equal) return {};
    for (const auto operand : test->operands) {
      const auto* number = std::get_if<recurrence::Index>(&system_.at(operand).node);
      if (number == nullptr) continue;
      const auto& factors = number->form.coefficients;
      std::vector<std::size_t> result;
      for (std::size_t v = 0; v < factors.size(); ++v) {
        if (factors[v] != 0) result.push_back(v);
      }
      return result;
    }
    return {};
  }

  /// True where a sum's terms are sums of the elements that a number with its index, too, chooses.
  [[nodiscard]] bool sums_choices(const recurrence::Reduce& reduce, std::size_t variable) const {
    const auto* inner = std::get_if<recurrence::Reduce>(&system_.at(reduce.body).node);
    if (inner == nullptr) return false;
    const auto chosen = chosen_by(inner->body);
    const bool has = std::ranges::find(chosen, variable) != chosen.end() && chosen.front() >= dimensions_;
    return has || sums_choices(*inner, variable);
  }

  /// True where an equation adds to the element of a table that `value == index` chooses; adds its operators.
  bool add_to_element(const Equation& equation, const std::vector<Loop>& loops) {
    const auto* sum = std::get_if<recurrence::Apply>(&system_.at(equation.expr).node);
    if (sum == nullptr || (sum->op != recurrence::Op::add && sum->op != recurrence::Op::subtract))
      return false;
    const auto chosen = chosen_by(sum->operands[1]);
    const auto& before = system_.at(sum->operands[0]).node;
    const auto* last = std::get_if<recurrence::Access>(&before);
    const bool starts = std::holds_alternative<recurrence::Constant>(before);
    if (chosen.empty() || (!starts && (last == nullptr || last->tensor != equation.target))) return false;
    Selection selection;
    for (const auto v : chosen) selection.along.push_back(loops[v].index);
    for (const auto& loop : loops) {
      if (sequential_.carried.contains(names_[loop.index])) selection.moving.insert(loop.index);
    }
    works.push_back({operators_of_selection, loops, std::move(selection)});
    chain_ = 1;
    return true;
  }

  void add_bounded_read(const recurrence::Access& access, const std::vector<Loop>& loops) {
    const auto& tensor = system_.at(access.tensor);
    BoundedRead read{&tensor, {}, {}};
    bool of_rows = false;
    for (std::size_t v = 0; v < loops.size(); ++v) {
      const bool named = names(access, v);
      (named ? read.along : read.moving).push_back(loops[v].index);
      read.is_bounded = read.is_bounded || (named && bounded.contains(loops[v].index));
      of_rows = of_rows || (!named && sequential_.rows.contains(names_[loops[v].index]));
      read.is_ending = read.is_ending || (named && sequential_.exits.contains(names_[loops[v].index]));
    }
    read.is_ending = read.is_ending && of_rows;
    if ((read.is_bounded || of_rows) && tensor.role == recurrence::Role::input)
      bounded_reads.push_back(std::move(read));
  }

  /// A value is needed at all points along the indices that its subscripts do not name.
  void add_ways(const recurrence::Access& access, const std::vector<Loop>& loops) {
    add_bounded_read(access, loops);
    for (std::size_t v = 0; v < loops.size(); ++v) {
      const bool named = names(access, v);
      const auto& tensor = system_.at(access.tensor);
      const bool computed = tensor.role != recurrence::Role::input;
      if (named || loops[v].extent == 1) continue;
      const auto* input = computed ? nullptr : &tensor.name;
      auto& way =
          found_.try_emplace(loops[v].index, Way{loops[v], 1, {}, computed, false, input}).first->second;
      if (way.input != input) way.input = nullptr;
    }
  }

  /// A sum of products is one operator a term.
  void add_reduction(const recurrence::Reduce& reduce, const recurrence::Scope& outer, double after) {
    const auto count = outer.names.size();
    std::vector<poly::Affine> drop;
    for (std::size_t v = 0; v < count; ++v) drop.push_back(poly::variable(count + 1, v));
    recurrence::Scope scope{
        outer.names, outer.points.preimage(drop, count + 1)
                         .intersect(recurrence::to_set(outer.points.context(), reduce.domain, count + 1))};
    scope.names.push_back(reduce.index);
    if (scope.points.is_empty()) return;
    const auto loops = loops_of(scope);
    if (const auto* table = table_of(reduce, scope)) {
      Selection selection;
      for (const auto v : chosen_by(reduce.body)) selection.along.push_back(loops[v].index);
      const auto& tensor = system_.at(table->tensor);
      if (tensor.role == recurrence::Role::input) selection.input = &tensor.name;
      selection.elements = 1;
      for (const auto extent : tensor.extents()) selection.elements *= static_cast<double>(extent);
      for (std::size_t v = 0; v < loops.size(); ++v) {
        if (!names(*table, v)) selection.moving.insert(loops[v].index);
      }
      works.push_back({operators_of_selection, loops, std::move(selection)});
      found_.try_emplace(loops.back().index, Way{loops.back(), 1, {}});  // the number passes all of them
      add_ways(*table, loops);
      return;
    }
    const auto* body = std::get_if<recurrence::Apply>(&system_.at(reduce.body).node);
    const bool sums = sums_choices(reduce, loops.size() - 1);
    if (!sums && (body == nullptr || body->op != recurrence::Op::multiply)) add_operators(1, loops);
    found_.try_emplace(loops.back().index, Way{loops.back(), 1, {}, !sums, true});
    add(reduce.body, scope, loops, after + 1);
  }

  const System& system_;
  const Names& names_;
  const SequentialIndices& sequential_;
  std::map<std::size_t, Way> found_;  ///< Of the equation at hand, by index.
  std::size_t dimensions_ = 0;        ///< The indices of its points.
  double chain_ = 0;                  ///< The most operators of it from a value that is computed to its own.
};

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
      if (is_loaded(way.input)) continue;
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
      double copies = placement.pes;
      for (const auto extent : input->extents()) copies *= static_cast<double>(extent);
      for (const auto n : along) copies /= is_space(n) ? extents_[n] : 1;
      if (copies <= most_copies) load(input->name);
    }
    if (schedule.movements.empty()) return std::nullopt;
    return of(std::move(schedule));
  }

  /// The placement with values that PEs share dealt out in turn, along all of its dimensions and along each of them.
  [[nodiscard]] std::vector<Placement> dealt(const Placement& placement) const {
    std::vector<Fold> folds;
    const auto& space = placement.schedule.space_indices;
    for (std::size_t d = 0; d < std::min(space.size(), grid_.size()); ++d) {
      const auto n = static_cast<std::size_t>(std::ranges::find(names_, space[d]) - names_.begin());
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

  /// The placement with its reductions in the orders that suit the grid, where they may have any and are shorter so: those
  /// of the terms of a PE first, then of these, in turn or from both ends; or from both ends, where a PE has one term.
  [[nodiscard]] std::vector<Placement> reordered(const Placement& placement) const {
    auto schedule = placement.schedule;
    std::vector<std::string> of_pes;
    for (std::size_t d = 0; d < schedule.space_indices.size(); ++d) {
      const auto& index = schedule.space_indices[d];
      if (!in_any_order_.contains(index)) continue;
      const auto n = static_cast<std::size_t>(std::ranges::find(names_, index) - names_.begin());
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
      const auto n =
          static_cast<std::size_t>(std::ranges::find(names_, schedule.space_indices[d]) - names_.begin());
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
        spread.blocks[n] = 0;
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
  std::ranges::stable_sort(result.others, {}, &Placement::cycles);
  for (const auto* placements : {&result.defaults, &result.others}) {
    for (const auto& placement : *placements | std::views::take(most_dealt))
      std::ranges::move(estimates.dealt(placement), std::back_inserter(result.dealt));
  }
  return result;
}

}  // namespace cyclotron::schedule
