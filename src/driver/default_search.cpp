#include "default_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <cyclotron/poly/effort.hpp>
#include <cyclotron/recurrence/reduce_descending.hpp>
#include <cyclotron/recurrence/reduce_inwards.hpp>

#include "candidates.hpp"
#include "choices.hpp"
#include "default_placements.hpp"
#include "simulated_cycles.hpp"
#include "slow_defaults.hpp"

namespace cyclotron::driver {

namespace {

/// Candidates that are compiled to find a better placement than the first: so many in about 0.2 s of kernels of one
/// equation, divided by what makes their analysis slow; and at least and most so many.
constexpr std::size_t candidates_of_one = 600, least_candidates = 4, most_candidates = 24;
/// Of kernels that cost so little, placements for which values come late are tried with values on long ways, too.
constexpr std::size_t small_kernel = candidates_of_one / most_candidates;
/// At most so many where even one PE takes long to analyse.
constexpr std::size_t least_candidates_of_long = 2;
/// A kernel whose candidates cost so much, and that takes so few cycles, gains less by a search than that takes: in
/// proportion, where they cost more.
constexpr std::size_t long_kernel = 900;
constexpr double few_cycles = 300;
/// One whose candidates cost so much runs on one PE first: that costs less, and tells what is worth to be tried.
constexpr std::size_t costly_kernel = 200;
/// Unless it takes so many times longer than the usual default, by their estimates: that is tried at once.
constexpr double hopeless = 8;
/// Operations of integer sets for that: some tenths of a second. A kernel that needs more has it in as many as a whole
/// analysis may take where no default compiles: unlikely placements would take far longer.
constexpr unsigned long most_operations_of_one_pe = 8'000'000, most_operations_of_very_long = 40'000'000;
/// For the first placement of a very long kernel, or another of a kernel that takes one PE.
constexpr unsigned long most_operations_of_long = 20'000'000;
/// For all others of a costly kernel that one PE refuses: they rarely compile.
constexpr unsigned long most_operations_without_one_pe = 12'000'000;
/// The same where no default compiles, of any kernel.
constexpr std::size_t most_in_need = 64;
/// Of one placement: other orders of time rarely help. The third is a wavefront: of 32 that were tried for long kernels
/// that run on one PE, two compiled.
constexpr std::size_t most_of_one = 3, most_of_one_long = 2;
constexpr auto no_time = std::numeric_limits<double>::infinity();
constexpr auto no_limit = std::numeric_limits<std::size_t>::max();
/// Operations of integer sets for all that is tried where nothing else compiles: about a second, and half of that where
/// as much was tried before.
constexpr unsigned long most_operations_in_need = 10'000'000, most_operations_in_need_of_costly = 5'000'000;
/// Placements whose values have to pass PEs on long ways, and operations for each: they have more to analyse.
constexpr std::size_t most_routed = 4, most_routed_of_long = 2;
constexpr unsigned long most_operations_of_routes = 8'000'000;
/// Of these, ways that take more operations: each is a second or two that finds nothing.
constexpr std::ptrdiff_t most_lacking = 2;
/// So many where that is more, for each unit of a kernel's cost: long kernels have as many more values.
constexpr unsigned long operations_of_cost = 10'000;
/// A placement whose estimate is so many times better is tried before the usual default.
constexpr double far_faster = 2;
/// One that takes seconds to analyse is tried in the end where its estimate is so many times better than one PE, or than
/// the best; some tenths of a second where it is `much_faster`, of long kernels where `far_faster`.
constexpr double worth_seconds = 1.75, many_times = 4;
/// Operations of integer sets for each of its analyses: some milliseconds.
constexpr unsigned long most_operations = 500'000;
/// For the analysis of the one that promises the most of those that need more: some tenths of a second.
constexpr unsigned long most_operations_again = 4'000'000;
/// One that is so much faster is missed.
constexpr double much_faster = 1.25;
/// On fewer PEs, placements are tried up to this factor of the estimate: it does not see what overlaps.
constexpr double uncertainty = 1.25;
/// So many others are tried up to this factor of the best time, as estimates are about as far off: of kernels that are not
/// costly, whatever was tried before.
constexpr std::size_t most_by_chance = 2;
constexpr double by_chance = 1.35;
/// The same operations where reductions of a placement that compiles have another order, which is as legal: some tenths
/// of a second; and for so many placements.
constexpr unsigned long most_operations_reordered = 20'000'000;
constexpr std::size_t most_reordered = 3;
/// So many placements that deal values out in turn are tried, of kernels that are not long.
constexpr std::size_t most_dealt = 2;

/// The time to compile a candidate, of which one for a kernel of one equation and one index takes 1, about.
std::size_t cost_of(const recurrence::System& system) {
  const auto dimensions = schedule::index_names(system).size();
  return std::max<std::size_t>(system.equations.size() * dimensions * dimensions, 1);
}

/// The order of reductions: those from both ends, in trees, and from the last term on.
using Order = std::tuple<std::vector<std::string>, std::vector<recurrence::Tree>, std::set<std::string>>;

class DefaultSearch {
 public:
  /// Reductions over the indices `descending` take their last term first. Of placements that are there already, `to_beat` is
  /// the time of the best: only those that promise less are tried, but where none of them compiles.
  DefaultSearch(const Reordered& system, const machine::Machine& machine, Array array,
                const std::vector<std::string>& descending, double to_beat, const Log& log)
      : system_(system),
        machine_(machine),
        log_(log),
        placements_(default_placements(system.system, machine, array, descending)),
        plain_{{}, {}, {descending.begin(), descending.end()}},
        cost_(cost_of(system.split)),
        to_beat_(to_beat / about_as_fast),
        budget_(std::clamp(candidates_of_one / cost_, least_candidates, most_candidates)) {}

  Expected<Compiled, Refusal> run() {
    const bool has_others = machine_.grid.empty() ||
                            std::ranges::any_of(machine_.grid, [](std::int64_t pes) { return pes != 1; });
    const bool one_pe_first = !has_others || (cost_ >= costly_kernel && !is_one_pe_hopeless());
    if (one_pe_first) {
      try_one_pe_within(most_operations_of_one_pe);
      is_very_long_ = first_refusal_ && first_refusal_->obstacle() == Obstacle::effort;
      has_one_pe_ = !choices_.empty();
      // Other orders take one PE as long; of several, other placements say more of what was refused.
      if (has_one_pe_ && !has_others && !loses_exits()) return choose();
      first_refusal_.reset();
      if (!has_one_pe_) budget_ = std::min(budget_, least_candidates_of_long);
    }
    {
      std::optional<poly::EffortBudget> budget;
      if (is_very_long_)
        budget.emplace(most_operations_of_long);  // the rest is for one PE, and for proofs
      else if (is_in_brief() || (one_pe_first && !has_one_pe_))
        budget.emplace(most_operations_without_one_pe);
      find_first();
      if (choices_.empty() && !is_very_long_) try_routes();
      if (choices_.empty() && !is_very_long_) try_turns();
    }
    if (choices_.empty() && (is_very_long_ || !one_pe_first))
      try_one_pe_within(is_very_long_ ? most_operations_of_very_long : most_operations_in_need);
    if (choices_.empty()) {
      if (!first_refusal_) std::rethrow_exception(misfit_);
      return *first_refusal_;
    }
    if (is_worth_it(best_time(choices_))) {
      try_rest();
      if (is_in_brief()) {
        try_reordered();
        return choose();
      }
      try_routes();
      try_swapped();
      try_turned();
      try_reordered();
      if (cost_ < long_kernel) try_dealt();
      try_long();
    } else {
      try_one_pe();
    }
    if (const auto* one = one_pe(); one != nullptr && loses_exits() && is_promising(*one))
      try_one_pe_in_full();
    return choose();
  }

  /// The placement that was chosen, without its program, and its time.
  [[nodiscard]] const Choice& taken() const { return choices_[taken_]; }
  [[nodiscard]] double time() const { return time_; }

  /// The least that any placement promises, if there is any: of its fullest PE, without ways, of which few values go all.
  [[nodiscard]] std::optional<double> promise() const {
    std::optional<double> least;
    for (const auto* placements : {&placements_.defaults, &placements_.others}) {
      for (const auto& placement : *placements)
        least = std::min(least.value_or(placement.fullest), placement.fullest);
    }
    return least;
  }

  /// That a refused placement would be much faster than the one that is taken. What loops compute in turn no placement
  /// makes faster for sure.
  [[nodiscard]] std::optional<Diagnostic> warning(const Choice& taken) const {
    const auto* best = much_better(taken);
    if (best == nullptr) return std::nullopt;
    auto times = taken.placement.cycles / best->placement.cycles;
    if (taken.cycles) {  // an estimate that was far too large promises no more than that
      const auto most = static_cast<double>(*taken.cycles) / best->placement.least;
      times = std::clamp(times, much_faster, std::max(much_faster, most));
    }
    return refused_is_faster(taken.variant->reordered.system.kernel, taken.pes, best->placement.schedule,
                             times, best->refusal.diagnostic);
  }

 private:
  /// A placement whose analysis took too many operations.
  struct Lacked {
    schedule::Placement placement;
    bool routed;
  };
  struct Refused {
    schedule::Placement placement;
    Refusal refusal;
  };

  [[nodiscard]] bool is_worth_it(double cycles) const {
    return cost_ < long_kernel ||
           cycles >= few_cycles * static_cast<double>(cost_) / static_cast<double>(long_kernel);
  }

  /// Of a costly kernel that has a placement already.
  [[nodiscard]] bool is_in_brief() const { return to_beat_ < no_time && cost_ >= costly_kernel; }

  /// Of time, for one placement.
  [[nodiscard]] std::size_t orders() const {
    return cost_ >= long_kernel && has_one_pe_ ? most_of_one_long : most_of_one;
  }

  /// The first that compiles: of those that promise far more than the usual default, of the defaults, or of all.
  void find_first() {
    const auto usual = placements_.defaults.front().cycles;
    if (is_worth_it(usual)) {
      try_others(budget_, [&](const schedule::Placement& placement) {
        return placement.cycles < usual / far_faster && is_promising(placement);
      });
    }
    if (!is_worth_it(usual)) {
      const poly::EffortLimit limit(operations_of_routes());
      try_defaults();
    }
    try_defaults();
    const auto in_need = is_very_long_ || is_in_brief() ? budget_ : most_in_need;
    if (choices_.empty()) try_others(tried() + in_need, [](const schedule::Placement&) { return true; });
  }

  [[nodiscard]] unsigned long operations_of_routes() const {
    return std::max(most_operations_of_routes, operations_of_cost * cost_);
  }

  /// A value that is late in one order rarely is in time in another, and each takes a second.
  [[nodiscard]] std::size_t orders_of_routes() const { return is_very_long_ ? 1 : orders(); }

  /// True where a placement compiles, other than one PE for a costly kernel.
  [[nodiscard]] bool is_found() const { return choices_.size() > (has_one_pe_ ? 1 : 0); }

  void try_defaults() {
    for (const auto& placement : placements_.defaults) {
      if (is_found() || !is_promising(placement)) return;
      try_placement(placement, cost_ < long_kernel ? no_limit : orders());
      if (is_found() || !is_far(placement)) continue;
      const poly::EffortLimit limit(operations_of_routes());
      try_order(placement, orders_of_routes(), true);
    }
  }

  /// The placements that promise more than the choices at hand.
  void try_rest() {
    auto rest = placements_.others;
    rest.insert(rest.end(), placements_.defaults.begin(), placements_.defaults.end());
    std::ranges::stable_sort(rest, {}, [&](const schedule::Placement& placement) { return hope(placement); });
    const poly::EffortLimit limit(most_operations);
    // Its estimate may have been far too large: iterations may follow each other as waves do.
    if (cost_ < long_kernel || placements_.defaults.front().least < best_time(choices_))
      try_placement(placements_.defaults.front(), orders());
    const auto most = spent() + budget_;
    for (const bool again : {false, true}) {
      for (const auto& placement : rest) {
        if (spent() >= most) break;
        if (is_promising(placement) && (again || !is_part_refused(placement, false)))
          try_placement(placement, orders());
      }
    }
    try_one_pe();
    std::size_t chances = most_by_chance;
    for (const auto& placement : rest) {
      if ((cost_ >= costly_kernel && spent() >= most) || chances == 0) break;
      if (tried_.contains(key(placement)) || !is_by_chance(placement)) continue;
      const auto before = choices_.size();
      try_placement(placement, orders());
      if (choices_.size() > before) --chances;
    }
  }

  /// True where the same is refused with some of its indices in space, with values on long ways or without: the others
  /// rarely help.
  [[nodiscard]] bool is_part_refused(const schedule::Placement& placement, bool routed) const {
    const auto& space = placement.schedule.space_indices;
    return std::ranges::any_of(routed ? unroutable_ : unreachable_, [&](const auto& part) {
      return !part.empty() && std::ranges::all_of(part, [&](const auto& index) {
        return std::ranges::find(space, index) != space.end();
      });
    });
  }

  /// True where one PE would take so long that its time tells nothing of others.
  [[nodiscard]] bool is_one_pe_hopeless() const {
    const auto* one = one_pe();
    return one == nullptr || one->cycles > hopeless * placements_.defaults.front().cycles;
  }

  /// The placement on one PE, which loses no early exit.
  [[nodiscard]] const schedule::Placement* one_pe() const {
    for (const auto* placements : {&placements_.others, &placements_.defaults}) {
      const auto one = std::ranges::find_if(*placements, [](const schedule::Placement& placement) {
        return schedule::is_on_one_pe(placement.schedule);
      });
      if (one != placements->end()) return &*one;
    }
    return nullptr;
  }

  void try_one_pe() {
    const auto* one = one_pe();
    if (one != nullptr && is_promising(*one)) try_placement(*one, orders());
  }

  void try_one_pe_within(unsigned long operations) {
    const poly::EffortBudget budget(operations);
    try_one_pe_in_full();
  }

  /// In all orders of its loops, whatever its analysis takes.
  void try_one_pe_in_full() {
    const auto* one = one_pe();
    if (one == nullptr) return;
    tried_.insert(key(*one));
    try {
      auto& variant = this->variant(one->schedule);
      keep(*one, variant, variant.search.run(one->schedule, {.prove = false}));
    } catch (const ShapeError&) {
      if (!misfit_) misfit_ = std::current_exception();
    }
  }

  /// True where loops of all choices run to their bound that another placement may end early.
  [[nodiscard]] bool loses_exits() const {
    return std::ranges::all_of(choices_, [](const Choice& choice) { return choice.lost_iterations > 1; });
  }

  /// The usual default and the best of the placements that links are missing for, where they promise more than the choices.
  void try_routes() {
    const poly::EffortLimit limit(most_operations_of_routes);
    const auto most = cost_ < long_kernel ? most_routed : most_routed_of_long;
    std::ranges::stable_sort(refused_, {}, [&](const Refused& refused) {
      const bool usual = key(refused.placement) == key(placements_.defaults.front());
      return std::tuple(!usual, refused.placement.in_turn, refused.placement.cycles);
    });
    const auto too_long = [&](const schedule::Placement& placement) {
      return std::ranges::any_of(lacked_, [&](const Lacked& lacked) {
        return lacked.routed && key(lacked.placement) == key(placement);
      });
    };
    const auto lacking = [&] { return std::ranges::count_if(lacked_, &Lacked::routed); };
    for (std::size_t tried = 0, n = 0; n < refused_.size() && tried < most && lacking() < most_lacking; ++n) {
      const auto& [placement, refusal] = refused_[n];
      const bool may_be =
          is_promising(placement) || (cost_ < costly_kernel && !choices_.empty() && is_by_chance(placement));
      if (!is_far(placement) || tried_.contains(key(placement, true)) || too_long(placement) || !may_be ||
          is_part_refused(placement, true) ||
          (cost_ >= costly_kernel && !choices_.empty() &&
           hope(placement) * (is_very_long_ ? far_faster : much_faster) >= best_time(choices_)))
        continue;
      ++tried;
      const auto before = choices_.size();
      const bool is_late = try_order(placement, orders_of_routes(), true) == Obstacle::late_value;
      const bool compiles = choices_.size() > before;
      const auto* other = is_late ? reordered(placement, 1) : nullptr;
      if (other != nullptr && !compiles_as(*other)) try_order(*other, orders_of_routes(), true);
      if (compiles) refused_.erase(refused_.begin() + static_cast<std::ptrdiff_t>(n--));
    }
  }

  [[nodiscard]] bool compiles_as(const schedule::Placement& placement) const {
    return std::ranges::any_of(choices_,
                               [&](const Choice& choice) { return key(choice.placement) == key(placement); });
  }

  /// The defaults with all that is legal: in need.
  void try_turns() {
    const poly::EffortBudget budget(cost_ < costly_kernel ? most_operations_in_need
                                                          : most_operations_in_need_of_costly);
    for (const auto& placement : placements_.defaults) {
      if (!is_far(placement)) continue;
      for (const auto way : {dataflow::Relays::routed, dataflow::Relays::routed_in_turns}) {
        if (!choices_.empty()) return;
        auto& variant = this->variant(placement.schedule);
        keep(placement, variant, variant.search.run(placement.schedule, {.prove = false, .way = way}), true);
      }
    }
  }

  template <typename Condition>
  void try_others(std::size_t most, const Condition& condition) {
    for (const auto& placement : placements_.others) {
      if (is_found() || tried() >= most) return;
      if (condition(placement)) try_placement(placement, orders());
    }
  }

  /// With reductions in another order where that is much faster by the estimates, as the kernel has them where not or where
  /// that is refused.
  void try_placement(const schedule::Placement& placement, std::size_t most) {
    const auto before = choices_.size();
    const auto* first = is_very_long_ ? nullptr : reordered(placement);
    if (first != nullptr) {
      if (tried_.contains(key(*first))) return;
      try_order(*first, std::min(most, orders()));
    }
    if (choices_.size() > before) return;
    const bool is_late = try_order(placement, most) == Obstacle::late_value;
    const auto* other = reordered(placement, 1);
    // Joined at each PE's end, and not at the text's, totals may come in time, or let PEs compute at once.
    const bool is_slow =
        cost_ < costly_kernel && choices_.size() > before &&
        static_cast<double>(choices_.back().cycles.value_or(0)) > far_faster * placement.cycles;
    if ((is_late || is_slow) && other != nullptr && other != first)
      try_order(*other, std::min(most, orders()));
    const auto* trees = same_space(placements_.in_trees, placement);
    if (is_late && choices_.size() == before && cost_ < costly_kernel && trees != nullptr)
      try_order(*trees, std::min(most, orders()));
  }

  static Order order(const schedule::Schedule& schedule) {
    return {schedule.inward_indices,
            schedule.reductions,
            {schedule.descending_indices.begin(), schedule.descending_indices.end()}};
  }

  using Key = std::tuple<std::vector<std::string>, Order, std::vector<std::string>, bool, bool>;
  static Key key(const schedule::Placement& placement, bool routed = false) {
    const auto& schedule = placement.schedule;
    std::vector<std::string> dealt;
    std::ranges::transform(schedule.folds, std::back_inserter(dealt), &schedule::Fold::dimension);
    return {schedule.space_indices, order(schedule), dealt, !schedule.movements.empty(), routed};
  }

  /// The placement with its reductions in the order that suits it, if that is so many times better.
  [[nodiscard]] const schedule::Placement* reordered(const schedule::Placement& placement,
                                                     double times = much_faster) const {
    const auto* found = same_space(placements_.reordered, placement);
    return found == nullptr || placement.cycles < times * found->cycles ? nullptr : found;
  }

  /// The first with the same space.
  static const schedule::Placement* same_space(const std::vector<schedule::Placement>& others,
                                               const schedule::Placement& placement) {
    const auto found = std::ranges::find_if(others, [&](const schedule::Placement& other) {
      return other.schedule.space_indices == placement.schedule.space_indices &&
             other.schedule.movements == placement.schedule.movements;
    });
    return found == others.end() ? nullptr : &*found;
  }

  /// True where links were missing for some order of it.
  [[nodiscard]] bool is_far(const schedule::Placement& placement) const {
    return far_.contains(key(placement));
  }

  /// The estimate of the order that is tried first.
  [[nodiscard]] double hope(const schedule::Placement& placement) const {
    const auto* other = reordered(placement);
    const auto& first = other == nullptr ? placement : *other;
    // On a line many iterations follow each other as waves do.
    return to_beat_ < no_time ? first.least : first.cycles;
  }

  /// Returns why it is refused, if it is.
  std::optional<Obstacle> try_order(const schedule::Placement& placement, std::size_t most,
                                    bool routed = false) {
    if (!tried_.insert(key(placement, routed)).second) return std::nullopt;
    try {
      const auto variant = attempt([&] { return &this->variant(placement.schedule); });
      if (!variant) return std::nullopt;  // terms of an extremum that are not the same everywhere
      auto& search = (*variant)->search;
      CandidateSearch::Limits limits{.most = most, .prove = false, .orders = schedule::Orders::likely};
      if (cost_ >= long_kernel) limits.more_of_far = 0;
      if (routed) limits.way = dataflow::Relays::routed;
      auto compiled = search.run(placement.schedule, limits);
      if (!compiled && search.lacked_effort()) tried_.erase(key(placement, routed));
      if (!compiled) note_lack(placement, routed, search);
      if (!compiled && (search.is_far() || (cost_ <= small_kernel && search.may_route())))
        far_.insert(key(placement));
      const auto obstacle = compiled ? std::nullopt : std::optional(compiled.error().obstacle());
      keep(placement, **variant, std::move(compiled), routed);
      return obstacle;
    } catch (const ShapeError&) {  // memories of a machine of any size cannot be shared by a grid of this one
      if (!misfit_) misfit_ = std::current_exception();
      return std::nullopt;
    }
  }

  /// Another form of a placement that compiles, and the cycles that its time and the estimates of both promise.
  struct Hope {
    double cycles;
    const schedule::Placement* placement;
    bool routed;
  };

  /// Those of all choices, the best first.
  [[nodiscard]] std::vector<Hope> hopes(const std::vector<schedule::Placement>& others) const {
    const auto times = times_of(choices_);
    std::vector<Hope> result;
    for (const auto& other : others) {
      for (std::size_t n = 0; n < choices_.size(); ++n) {
        const auto& plain = choices_[n].placement;
        if (plain.schedule.space_indices == other.schedule.space_indices &&
            plain.schedule.movements == other.schedule.movements && plain.schedule.folds.empty())
          result.push_back({times[n] * other.cycles / plain.cycles, &other, choices_[n].routed});
      }
    }
    std::ranges::stable_sort(result, {}, &Hope::cycles);
    return result;
  }

  /// Reductions in another order, where that is the fastest as far as times and estimates tell.
  void try_reordered() {
    const poly::EffortLimit limit(most_operations_reordered);
    for (const auto& [cycles, other, routed] :
         hopes(placements_.reordered) | std::views::take(most_reordered)) {
      const auto& schedule = other->schedule;
      const bool from_both_ends = !schedule.reductions.empty() && !schedule.inward_indices.empty();
      const bool is_long = cost_ >= (from_both_ends ? costly_kernel : long_kernel);
      const auto worth = is_very_long_ ? far_faster : is_long ? much_faster : 1;
      if (cycles * worth < best_time(choices_)) try_order(*other, orders(), routed);
    }
  }

  /// The best placement with its dimensions the other way round, where the machine's are alike: a PE then goes through
  /// the values that share it in another order, which estimates do not tell.
  void try_swapped() {
    const poly::EffortLimit limit(cost_ < costly_kernel ? most_operations_again : most_operations);
    const auto& best = choices_[best_first(choices_).front()];
    const auto& grid = best.compiled.program.grid;
    if (!best.placement.is_folded || best.placement.schedule.space_indices.size() != 2 || grid[0] == 1 ||
        grid[1] == 1 || machine_.grid.size() != 2 || machine_.grid[0] != machine_.grid[1])
      return;
    auto swapped = best.placement;
    auto& space = swapped.schedule.space_indices;
    std::swap(space[0], space[1]);
    try_order(swapped, 1, best.routed);
    // It promises no more than the best, which it is like.
    std::erase_if(lacked_, [&](const Lacked& lacked) { return key(lacked.placement) == key(swapped); });
  }

  /// The best placement with a dimension the other way, where it takes far longer than its estimate: values that pass PEs
  /// in turn may then come to their last one sooner, which estimates do not tell.
  void try_turned() {
    const poly::EffortLimit limit(most_operations);
    const auto& best = choices_[best_first(choices_).front()];
    if (cost_ >= costly_kernel || best.routed || !best.placement.in_turn ||
        static_cast<double>(best.cycles.value_or(0)) < far_faster * best.placement.cycles)
      return;
    const auto placement = best.placement;
    const auto grid = best.compiled.program.grid;
    for (std::size_t d = 0; d < placement.schedule.space_indices.size(); ++d) {
      if (grid[d] == 1) continue;
      auto turned = placement;
      auto& index = turned.schedule.space_indices[d];
      index = fmt::format("-{}", index);
      try_order(turned, 1);
    }
  }

  /// Values dealt out in turn level what differs along an index, and share it among more PEs than blocks of a whole number
  /// do; estimates tell the first only in part.
  void try_dealt() {
    const poly::EffortLimit limit(most_operations_again);
    for (const auto& [cycles, dealt, routed] : hopes(placements_.dealt) | std::views::take(most_dealt)) {
      if (cycles >= best_time(choices_)) break;
      try_order(*dealt, 1, routed);
      if (is_far(*dealt)) try_order(*dealt, 1, true);
    }
  }

  void note_lack(const schedule::Placement& placement, bool routed, const CandidateSearch& search) {
    if (search.lacked_effort()) lacked_.push_back({placement, routed});
  }

  /// The most promising placement whose analysis took too long, with more operations, where its estimate is much better
  /// than the best time: where that is of one PE, and others promise no more than that, it is worth some seconds.
  void try_long() {
    const auto& choice = choices_[best_first(choices_).front()];
    if (!choice.placement.in_turn)
      std::erase_if(lacked_, [](const Lacked& lacked) { return lacked.placement.in_turn; });
    const auto best =
        std::ranges::min_element(lacked_, {}, [&](const Lacked& lacked) { return hope(lacked.placement); });
    if (is_very_long_ || best == lacked_.end()) return;
    const bool on_one_pe = choice.pes == 1;
    const auto worth = on_one_pe ? worth_seconds : cost_ < long_kernel ? much_faster : far_faster;
    // An estimate that is too large for the best is so for others.
    const auto gain =
        std::max(best_time(choices_), on_one_pe ? 0 : choice.placement.cycles) / hope(best->placement);
    const auto operations = gain >= hopeless                  ? most_operations_of_very_long
                            : on_one_pe || gain >= many_times ? most_operations_of_long
                                                              : most_operations_again;
    if (gain <= worth || (best->routed && (operations <= most_operations_of_routes || gain < many_times)))
      return;
    const poly::EffortBudget budget(operations);
    try_order(schedule::Placement(best->placement), orders(), best->routed);
  }

  Variant& variant(const schedule::Schedule& schedule) {
    const auto found = variants_.find(order(schedule));
    if (found != variants_.end()) return found->second;
    Log log = log_;
    auto system = order(schedule) == Order() ? system_ : reorder(system_.system, schedule, machine_, log);
    return variants_.try_emplace(order(schedule), std::move(system), machine_, log_).first->second;
  }

  [[nodiscard]] std::size_t tried() const {
    std::size_t result = 0;
    for (const auto& [order, variant] : variants_) result += variant.search.tried();
    return result;
  }

  /// The same, with those that are refused before their analysis ends as half.
  [[nodiscard]] std::size_t spent() const { return tried() - refusals_ / 2; }

  void keep(const schedule::Placement& placement, const Variant& variant,
            Expected<Compiled, Refusal> compiled, bool routed = false) {
    if (!compiled) {
      if (compiled.error().obstacle() != Obstacle::effort) ++refusals_;
      const bool is_plain = order(placement.schedule) == plain_ && placement.schedule.folds.empty();
      if (!is_plain) return;  // as it is, it says more
      if (!first_refusal_) first_refusal_ = compiled.error();
      if (compiled.error().obstacle() == Obstacle::effort) return;
      (routed ? unroutable_ : unreachable_).push_back(placement.schedule.space_indices);
      if (!routed) refused_.push_back({placement, compiled.error()});
      return;
    }
    const auto cycles = simulated_cycles(compiled->program);
    const auto pes = pe_count(compiled->program);
    double lost_iterations = 1;
    for (const auto& loop : compiled->lost_loops)
      lost_iterations *= loop.by_placement() ? static_cast<double>(loop.steps) : 1;
    choices_.push_back({&variant, std::move(*compiled), placement, cycles, pes, routed, lost_iterations});
  }

  /// Of what it tells of the choices at hand, an estimate is trusted where it is not far too small; on more PEs a
  /// placement is to be faster than about as fast.
  [[nodiscard]] bool is_promising(const schedule::Placement& placement) const {
    if (placement.fullest >= to_beat_) return false;
    // Of costly kernels estimates miss as much on all placements.
    if (has_one_pe_ && placement.pes > 1) {
      const auto estimate = choices_.front().placement.cycles;
      if (estimate >= few_cycles && hope(placement) * about_as_fast >= estimate) return false;
    }
    return std::ranges::all_of(choices_, [&](const Choice& choice) {
      const auto& other = choice.placement;
      const auto cycles =
          choice.lost_iterations * std::max(other.cycles, static_cast<double>(choice.cycles.value_or(0)));
      if (placement.pes > other.pes)
        return hope(placement) * about_as_fast <
               (cycles < uncertainty * other.cycles ? other.cycles : cycles);
      return hope(placement) < cycles * (placement.pes < other.pes ? uncertainty : 1);
    });
  }

  /// True where a placement may be faster than the best if its estimate is too large, as those of all choices at least are.
  [[nodiscard]] bool is_by_chance(const schedule::Placement& placement) const {
    double share = 0;
    for (const auto& choice : choices_)
      share = std::max(share, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
    return hope(placement) * std::min(share, 1.0) < by_chance * best_time(choices_);
  }

  /// The refused placement that promises the most, where that is much more than another.
  [[nodiscard]] const Refused* much_better(const Choice& other) const {
    const auto best = std::ranges::min_element(refused_, {}, [](const Refused& refused) {
      return std::pair(refused.placement.in_turn, refused.placement.cycles);
    });
    if (best == refused_.end() || best->placement.in_turn) return nullptr;
    const bool is_better = other.placement.cycles / best->placement.cycles >= much_faster;
    return is_better ? &*best : nullptr;  // nor where both take no time
  }

  /// In all orders of time and all ways, what would be warned of.
  void try_refused() {
    const auto* best = much_better(choices_[best_first(choices_).front()]);
    if (is_very_long_ || best == nullptr) return;
    const auto placement = best->placement;
    const poly::EffortBudget budget(most_operations_in_need_of_costly);
    auto& variant = this->variant(placement.schedule);
    auto compiled = variant.search.run(placement.schedule, {.prove = false});
    if (!compiled) return;
    std::erase_if(refused_, [&](const Refused& refused) { return key(refused.placement) == key(placement); });
    keep(placement, variant, std::move(compiled));
  }

  Expected<Compiled, Refusal> choose() {
    try_refused();
    std::optional<Refusal> first;
    const auto times = times_of(choices_);
    for (const auto n : best_first(choices_)) {
      const auto& reordered = choices_[n].variant->reordered;
      auto compiled = proven(std::move(choices_[n].compiled), reordered.split);
      if (compiled) {
        compiled->system = reordered.system;
        compiled->warning = warning(choices_[n]);
        time_ = times[n];
        taken_ = n;
        return compiled;
      }
      if (!first) first = compiled.error();
    }
    return first.value();
  }

  const Reordered& system_;
  const machine::Machine& machine_;
  const Log& log_;
  schedule::Placements placements_;
  Order plain_;  ///< Of reductions, where placements say nothing of them.
  std::size_t cost_;
  double to_beat_;      ///< Infinite where there is none.
  std::size_t budget_;  ///< Candidates to compile, by the size of the system alone.
  std::map<Order, Variant> variants_;
  std::set<Key>
      tried_;  ///< Space, the order of reductions, indices dealt out, whether PEs load tables, and with routes.
  std::set<Key> far_;  ///< Of these, those that may compile with values on long ways.
  std::vector<Choice> choices_;
  bool has_one_pe_ = false;    ///< First.
  bool is_very_long_ = false;  ///< One PE takes more than that first try may.
  std::vector<Refused> refused_;
  std::size_t refusals_ = 0;  ///< But for want of effort; those of other orders of reductions, too.
  std::vector<Lacked> lacked_;
  std::vector<std::vector<std::string>> unreachable_, unroutable_;  ///< Spaces that are refused.
  std::optional<Refusal> first_refusal_;
  std::size_t taken_ = 0;
  double time_ = no_time;
  std::exception_ptr misfit_;  ///< The first error of a grid that the machine cannot have.
};

struct Found {
  Expected<Compiled, Refusal> compiled;
  double time;  ///< Of a run; infinite where none compiles.
};

/// The faster one; about as fast, the first.
Found faster(Found one, Found other) {
  return other.compiled && other.time * about_as_fast < one.time ? std::move(other) : std::move(one);
}

/// On the grid, and on a line through its rows where that promises much more.
Found search_in_order(const Reordered& system, const machine::Machine& machine,
                      const std::vector<std::string>& descending, double to_beat, const Log& log) {
  DefaultSearch on_grid(system, machine, Array::grid, descending, to_beat, log);
  Found taken{on_grid.run(), no_time};
  taken.time = on_grid.time();
  const bool has_rows = machine.grid.size() == 2 && std::ranges::min(machine.grid) > 1;
  if (!has_rows) return taken;
  DefaultSearch on_line(system, machine, Array::line, descending, std::min(taken.time, to_beat), log);
  const auto promise = on_line.promise();
  const auto wanted = taken.compiled ? std::min(taken.time, on_grid.taken().placement.cycles) : no_time;
  if (!promise || *promise * much_faster >= wanted) return taken;
  Found other{on_line.run(), no_time};
  other.time = on_line.time();
  if (taken.compiled && !other.compiled && !taken.compiled->warning)
    taken.compiled->warning = on_line.warning(on_grid.taken());
  return faster(std::move(taken), std::move(other));
}

}  // namespace

Expected<Compiled, Refusal> search_defaults(const Reordered& system, const machine::Machine& machine,
                                            const Log& log) {
  const auto last_first = recurrence::indices_with_newest_first(system.system);
  const auto free = recurrence::indices_in_any_order(system.system);
  std::vector<std::string> in_any_order, in_text_order;
  std::ranges::partition_copy(
      last_first, std::back_inserter(in_any_order), std::back_inserter(in_text_order),
      [&](const std::string& index) { return std::ranges::find(free, index) != free.end(); });
  auto found = search_in_order(system, machine, {}, no_time, log);
  if (!in_any_order.empty()) {
    auto other = search_in_order(system, machine, in_any_order, found.time, log);
    found = faster(std::move(found), std::move(other));
  }
  if (!found.compiled || in_text_order.empty() || cost_of(system.split) >= costly_kernel)
    return std::move(found.compiled);
  const auto other = search_in_order(system, machine, last_first, found.time, log);
  if (other.compiled && other.time * much_faster < found.time)
    found.compiled->warning = newest_comes_first(system.system, in_text_order, found.time / other.time);
  return std::move(found.compiled);
}

}  // namespace cyclotron::driver
