#include "placement_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <ranges>
#include <utility>

#include <cyclotron/poly/effort.hpp>

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
/// For each placement of a costly kernel at first, by its cost, and at most; and for all of these together, about.
constexpr unsigned long operations_of_one = 6'000, least_operations_of_first = 1'000'000,
                        most_operations_of_first = 3'000'000, most_operations_together = 16'000'000;
/// One that needs so many times the operations is tried where it promises to be so many times as fast; and any, where it
/// promises to be so much faster than the best.
constexpr unsigned long times_more = 3;
constexpr double price_of_more = 1.25, worth_trying = 1.1;
/// For the first placement of a very long kernel, or another of a kernel that takes one PE.
constexpr unsigned long most_operations_of_long = 20'000'000;
/// For all others of a costly kernel that one PE refuses: they rarely compile.
constexpr unsigned long most_operations_without_one_pe = 12'000'000;
/// The same where no default compiles, of any kernel.
constexpr std::size_t most_in_need = 64;
/// Of one placement: other orders of time rarely help. The third is a wavefront: of 32 that were tried for long kernels
/// that run on one PE, two compiled.
constexpr std::size_t most_of_one = 3, most_of_one_long = 2;
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
/// One whose PEs take so many times longer than estimated may wait for each other where they need not.
constexpr double far_slower = 1.3;
/// One that takes seconds to analyse is tried in the end where its estimate is so many times better than one PE, or than
/// the best; some tenths of a second where it is `much_faster`, of long kernels where `far_faster`.
constexpr double worth_seconds = 1.75, many_times = 4;
/// Operations for one with long ways where its estimate is `hopeless` times better: many stages have many ways. And for
/// the best of all where nothing else compiles: half a minute, or a minute.
constexpr unsigned long most_operations_of_stages = 100'000'000, most_operations_at_last = 400'000'000;
/// Operations of integer sets for each of its analyses: some milliseconds.
constexpr unsigned long most_operations = 500'000;
/// For the analysis of the one that promises the most of those that need more: some tenths of a second.
constexpr unsigned long most_operations_again = 4'000'000;
/// So many of these in the end of a search, while their operations suffice.
constexpr std::size_t most_long = 2;
/// On fewer PEs, placements are tried up to this factor of the estimate: it does not see what overlaps.
constexpr double uncertainty = 1.25;
/// So many others are tried up to this factor of the best time, as estimates are about as far off, whatever was tried
/// before: of kernels that are not costly, and of all in brief.
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

/// Dimensions of a grid with several PEs.
std::ptrdiff_t wide(const std::vector<std::int64_t>& grid) {
  return std::ranges::count_if(grid, [](std::int64_t pes) { return pes > 1; });
}

}  // namespace

bool is_costly(const Reordered& system) { return cost_of(system.split) >= costly_kernel; }

PlacementSearch::PlacementSearch(const Reordered& system, const machine::Machine& machine, Array array,
                                 const std::vector<std::string>& descending, double to_beat, const Log& log)
    : system_(system),
      machine_(machine),
      log_(log),
      placements_(default_placements(system.system, machine, array, descending)),
      plain_{{}, {}, {descending.begin(), descending.end()}},
      cost_(cost_of(system.split)),
      to_beat_(to_beat / about_as_fast),
      budget_(std::clamp(candidates_of_one / cost_, least_candidates, most_candidates)) {}

Expected<Compiled, Refusal> PlacementSearch::run() {
  if (is_in_brief()) return run_in_brief();
  const bool has_others =
      machine_.grid.empty() || std::ranges::any_of(machine_.grid, [](std::int64_t pes) { return pes != 1; });
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
    else if (one_pe_first && !has_one_pe_)
      budget.emplace(most_operations_without_one_pe);
    find_first();
    if (choices_.empty() && !is_very_long_) try_routes();
    if (choices_.empty() && !is_very_long_) try_turns();
  }
  if (choices_.empty() && (is_very_long_ || !one_pe_first))
    try_one_pe_within(is_very_long_ ? most_operations_of_very_long : most_operations_in_need);
  if (choices_.empty()) try_all_long();
  if (choices_.empty()) {
    if (!first_refusal_) std::rethrow_exception(misfit_);
    return *first_refusal_;
  }
  if (is_worth_it(best_time(choices_))) {
    try_rest();
    try_routes();
    try_swapped();
    try_turned();
    try_reordered();
    if (cost_ < long_kernel) try_dealt();
    try_all_long();
  } else {
    try_one_pe();
  }
  if (const auto* one = one_pe(); one != nullptr && loses_exits() && is_promising(*one)) try_one_pe_in_full();
  return choose();
}

void PlacementSearch::go_on_from(const PlacementSearch& other) {
  tried_ = other.tried_;
  far_ = other.far_;
  unreachable_ = other.unreachable_;
  unroutable_ = other.unroutable_;
  lacked_ = other.lacked_;
}

bool PlacementSearch::is_narrow(const Choice& taken) const {
  return taken.wide < std::min<std::ptrdiff_t>(wide(machine_.grid), 2);
}

bool PlacementSearch::lacked_effort() const {
  return std::ranges::any_of(lacked_, [&](const Lacked& one) { return is_open(one); });
}

double PlacementSearch::expected() const {
  if (!is_slow(taken())) return std::min(time_, taken().placement.cycles);
  // All estimates of a kernel may be as much too small.
  auto times = no_time;
  for (const auto& choice : choices_)
    times = std::min(times, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
  return time_ / std::max(times, 1.0);
}

double PlacementSearch::largest_estimate() const {
  double times = 1;
  for (const auto& choice : choices_) {
    if (choice.cycles.value_or(0) > 0)
      times = std::max(times, choice.placement.cycles / static_cast<double>(*choice.cycles));
  }
  return time_ * times;
}

std::optional<double> PlacementSearch::promise() const {
  std::optional<double> least;
  for (const auto* placements : {&placements_.defaults, &placements_.others}) {
    for (const auto& placement : *placements)
      least = std::min(least.value_or(placement.fullest), placement.fullest);
  }
  return least;
}

std::optional<Diagnostic> PlacementSearch::warning(const Choice& taken) const {
  const auto& system = taken.variant->reordered.system;
  if (const auto* best = much_better(taken); best != nullptr) {
    return refused_is_faster(system.kernel, taken.pes, best->placement.schedule,
                             times(taken, best->placement), best->refusal.diagnostic);
  }
  if (!is_narrow(taken)) return std::nullopt;
  auto left = lacked_ | std::views::filter([&](const Lacked& lacked) { return is_open(lacked); });
  const auto best =
      std::ranges::min_element(left, {}, [&](const Lacked& lacked) { return lacked.placement.cycles; });
  if (best == left.end() || taken.placement.cycles < much_faster * best->placement.cycles)
    return std::nullopt;
  return unknown_may_be_faster(system, taken.pes, best->placement.schedule, times(taken, best->placement));
}

double PlacementSearch::times(const Choice& taken, const schedule::Placement& other) {
  const auto estimate = taken.placement.cycles / other.cycles;
  if (!taken.cycles) return estimate;
  const auto most = static_cast<double>(*taken.cycles) / other.least;
  return std::clamp(estimate, much_faster, std::max(much_faster, most));
}

Expected<Compiled, Refusal> PlacementSearch::run_in_brief() {
  try_best_first();
  if (!choices_.empty()) {
    try_reordered();
    if (cost_ < long_kernel) try_dealt();
  }
  try_all_long();
  return choices_.empty() ? first_refusal_.value_or(Refusal{}) : choose();
}

bool PlacementSearch::is_worth_it(double cycles) const {
  return cost_ < long_kernel ||
         cycles >= few_cycles * static_cast<double>(cost_) / static_cast<double>(long_kernel);
}

bool PlacementSearch::is_in_brief() const { return to_beat_ < no_time && cost_ >= costly_kernel; }

std::size_t PlacementSearch::orders() const {
  return cost_ >= long_kernel && has_one_pe_ ? most_of_one_long : most_of_one;
}

void PlacementSearch::find_first() {
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
  const auto in_need = is_very_long_ ? budget_ : most_in_need;
  if (choices_.empty()) try_others(tried() + in_need, [](const schedule::Placement&) { return true; });
}

unsigned long PlacementSearch::operations_of_routes() const {
  return std::max(most_operations_of_routes, operations_of_cost * cost_);
}

bool PlacementSearch::is_found(const std::vector<std::string>& space) const {
  return std::ranges::any_of(
      choices_, [&](const Choice& choice) { return choice.placement.schedule.space_indices == space; });
}

void PlacementSearch::try_defaults() {
  for (const auto& placement : placements_.defaults) {
    if (is_found() || !is_promising(placement)) return;
    {
      const poly::EffortBudget budget(most_operations_of_very_long);  // as much is left for what follows
      try_placement(placement, cost_ < long_kernel ? no_limit : orders());
    }
    if (is_found() || !is_far(placement)) continue;
    const poly::EffortLimit limit(operations_of_routes());
    try_order(placement, orders_of_routes(), true);
  }
}

double PlacementSearch::time_to_beat() const {
  if (!choices_.empty()) return best_time(choices_) / worth_trying;
  return std::get<std::set<std::string>>(plain_).empty() ? std::max(to_beat_, estimate_to_beat_) : no_time;
}

void PlacementSearch::try_best_first() {
  const auto first =
      std::clamp(operations_of_one * cost_, least_operations_of_first, most_operations_of_first);
  std::vector<Attempt> open;
  for (const auto* placements : {&placements_.defaults, &placements_.others}) {
    for (const auto& placement : *placements) {
      if (schedule::is_on_one_pe(placement.schedule)) continue;
      // On a line many iterations follow each other as waves do.
      const auto promised = [](const schedule::Placement& one) {
        return one.schedule.is_serpentine ? one.least : one.cycles;
      };
      open.push_back({placement, false, first, promised(placement)});
      const auto* other = reordered(placement);
      if (other != nullptr) open.push_back({*other, false, first, promised(*other)});
    }
  }
  std::size_t chances = most_by_chance;
  for (auto left = most_operations_together; !open.empty();) {
    // Those on a line first: they cost less.
    const auto best = std::ranges::min_element(open, {}, [](const Attempt& attempt) {
      return std::pair(!attempt.placement.schedule.is_serpentine, attempt.cycles);
    });
    auto attempt = *best;
    open.erase(best);
    if (left < attempt.operations) continue;
    if (attempt.cycles >= time_to_beat()) {
      if (chances == 0 || attempt.routed || attempt.cycles >= by_chance * time_to_beat()) continue;
      --chances;
    }
    const auto& [placement, routed, operations, cycles] = attempt;
    if (!is_promising(placement) || is_part_refused(placement, routed) ||
        is_found(placement.schedule.space_indices))
      continue;
    const bool is_new = !tried_.contains(key(placement, routed));
    const poly::EffortLimit limit(operations);
    try_order(placement, routed ? orders_of_routes() : orders(), routed);
    if (is_open({placement, routed})) {
      left -= operations;
      attempt.operations *= times_more;
      attempt.cycles *= price_of_more;
      open.push_back(std::move(attempt));
      continue;
    }
    if (is_new) left -= std::min(left, operations / times_more);  // fewer than it might have taken
    if (!routed && is_far(placement)) {
      const bool again = has_lacked(placement, true);
      open.push_back({placement, true, again ? times_more * first : first, cycles});
    }
  }
}

void PlacementSearch::try_rest() {
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

bool PlacementSearch::is_part_refused(const schedule::Placement& placement, bool routed) const {
  const auto& space = placement.schedule.space_indices;
  return std::ranges::any_of(routed ? unroutable_ : unreachable_, [&](const auto& part) {
    return !part.empty() && part != space && std::ranges::all_of(part, [&](const auto& index) {
      return std::ranges::find(space, index) != space.end();
    });
  });
}

bool PlacementSearch::is_one_pe_hopeless() const {
  const auto* one = one_pe();
  return one == nullptr || one->cycles > hopeless * placements_.defaults.front().cycles;
}

const schedule::Placement* PlacementSearch::one_pe() const {
  for (const auto* placements : {&placements_.others, &placements_.defaults}) {
    const auto one = std::ranges::find_if(*placements, [](const schedule::Placement& placement) {
      return schedule::is_on_one_pe(placement.schedule);
    });
    if (one != placements->end()) return &*one;
  }
  return nullptr;
}

void PlacementSearch::try_one_pe() {
  const auto* one = one_pe();
  if (one != nullptr && is_promising(*one)) try_placement(*one, orders());
}

void PlacementSearch::try_one_pe_within(unsigned long operations) {
  const poly::EffortBudget budget(operations);
  try_one_pe_in_full();
}

void PlacementSearch::try_one_pe_in_full() {
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

bool PlacementSearch::loses_exits() const {
  return std::ranges::all_of(choices_, [](const Choice& choice) { return choice.lost_iterations > 1; });
}

void PlacementSearch::try_routes() {
  const poly::EffortLimit limit(most_operations_of_routes);
  const auto most = cost_ < long_kernel ? most_routed : most_routed_of_long;
  std::ranges::stable_sort(refused_, {}, [&](const Refused& refused) {
    const bool usual = key(refused.placement) == key(placements_.defaults.front());
    return std::tuple(!usual, refused.placement.in_turn, refused.placement.cycles);
  });
  const auto lacking = [&] { return std::ranges::count_if(lacked_, &Lacked::routed); };
  for (std::size_t tried = 0, n = 0; n < refused_.size() && tried < most && lacking() < most_lacking; ++n) {
    const auto& [placement, refusal] = refused_[n];
    const bool may_be =
        is_promising(placement) || (cost_ < costly_kernel && !choices_.empty() && is_by_chance(placement));
    if (!is_far(placement) || tried_.contains(key(placement, true)) || has_lacked(placement, true) ||
        !may_be || is_part_refused(placement, true) ||
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

bool PlacementSearch::compiles_as(const schedule::Placement& placement) const {
  return std::ranges::any_of(choices_,
                             [&](const Choice& choice) { return key(choice.placement) == key(placement); });
}

void PlacementSearch::try_turns() {
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
void PlacementSearch::try_others(std::size_t most, const Condition& condition) {
  for (const auto& placement : placements_.others) {
    if (is_found() || tried() >= most) return;
    if (condition(placement)) try_placement(placement, orders());
  }
}

void PlacementSearch::try_placement(const schedule::Placement& placement, std::size_t most) {
  const auto before = choices_.size();
  const auto* first = is_very_long_ ? nullptr : reordered(placement);
  if (first != nullptr) {
    if (tried_.contains(key(*first))) return;
    try_order(*first, std::min(most, orders()));
  }
  if (choices_.size() > before) return;
  const bool is_late = try_order(placement, most) == Obstacle::late_value;
  // Joined at each PE's end, and not at the text's, totals may come in time, or let PEs compute at once.
  const auto may_gain = [&] {
    return choices_.size() == before ? is_late : cost_ < costly_kernel && is_slow(choices_.back());
  };
  const auto* other = reordered(placement, 1);
  if (may_gain() && other != nullptr && other != first) try_order(*other, std::min(most, orders()));
  const auto* trees = same_space(placements_.in_trees, placement);
  if (may_gain() && cost_ < costly_kernel && trees != nullptr) try_order(*trees, std::min(most, orders()));
}

Order PlacementSearch::order(const schedule::Schedule& schedule) {
  return {schedule.inward_indices,
          schedule.reductions,
          {schedule.descending_indices.begin(), schedule.descending_indices.end()}};
}

PlacementSearch::Key PlacementSearch::key(const schedule::Placement& placement, bool routed) {
  const auto& schedule = placement.schedule;
  std::vector<std::string> dealt;
  std::ranges::transform(schedule.folds, std::back_inserter(dealt), &schedule::Fold::dimension);
  return {schedule.space_indices,      order(schedule),        dealt,
          !schedule.movements.empty(), schedule.is_serpentine, routed};
}

const schedule::Placement* PlacementSearch::reordered(const schedule::Placement& placement,
                                                      double times) const {
  const auto* found = same_space(placements_.reordered, placement);
  return found == nullptr || placement.cycles < times * found->cycles ? nullptr : found;
}

const schedule::Placement* PlacementSearch::same_space(const std::vector<schedule::Placement>& others,
                                                       const schedule::Placement& placement) {
  const auto found = std::ranges::find_if(others, [&](const schedule::Placement& other) {
    return other.schedule.space_indices == placement.schedule.space_indices &&
           other.schedule.movements == placement.schedule.movements;
  });
  return found == others.end() ? nullptr : &*found;
}

bool PlacementSearch::is_far(const schedule::Placement& placement) const {
  return far_.contains(key(placement));
}

double PlacementSearch::hope(const schedule::Placement& placement) const {
  const auto* other = reordered(placement);
  const auto& first = other == nullptr ? placement : *other;
  // On a line many iterations follow each other as waves do.
  return to_beat_ < no_time ? first.least : first.cycles;
}

std::optional<Obstacle> PlacementSearch::try_order(const schedule::Placement& placement, std::size_t most,
                                                   bool routed) {
  if (!tried_.insert(key(placement, routed)).second) return std::nullopt;
  try {
    const auto variant = attempt([&] { return &this->variant(placement.schedule); });
    if (!variant) return std::nullopt;  // terms of an extremum that are not the same everywhere
    auto& search = (*variant)->search;
    CandidateSearch::Limits limits{.most = most, .prove = false, .orders = schedule::Orders::likely};
    if (cost_ >= long_kernel && !routed) limits.more_of_far = 0;
    if (routed) limits.way = dataflow::Relays::routed;
    auto compiled = search.run(placement.schedule, limits);
    if (!compiled && search.lacked_effort()) {
      tried_.erase(key(placement, routed));
      if (!has_lacked(placement, routed)) lacked_.push_back({placement, routed});
    }
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

std::vector<PlacementSearch::Hope> PlacementSearch::hopes(
    const std::vector<schedule::Placement>& others) const {
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

void PlacementSearch::try_reordered() {
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

void PlacementSearch::try_swapped() {
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
  forget_lack(swapped);
}

void PlacementSearch::try_turned() {
  const poly::EffortLimit limit(most_operations_again);
  const auto& first = choices_[best_first(choices_).front()];
  const auto least = (first.placement.in_turn ? far_faster : far_slower) * first.placement.cycles;
  if (cost_ >= costly_kernel || first.routed || !(first.placement.in_turn || first.placement.is_folded) ||
      static_cast<double>(first.cycles.value_or(0)) < least)
    return;
  auto placement = first.placement;
  for (std::size_t d = 0; d < placement.schedule.space_indices.size(); ++d) {
    auto turned = placement;
    auto& index = turned.schedule.space_indices[d];
    if (index == "0") continue;
    index = fmt::format("-{}", index);
    const auto before = choices_.size();
    try_order(turned, 1);
    forget_lack(turned);
    // Both dimensions may be better the other way.
    if (choices_.size() > before && best_first(choices_).front() == before) placement = turned;
  }
}

void PlacementSearch::try_dealt() {
  const poly::EffortLimit limit(most_operations_again);
  for (const auto& [cycles, dealt, routed] : hopes(placements_.dealt) | std::views::take(most_dealt)) {
    if (cycles >= best_time(choices_)) break;
    try_order(*dealt, 1, routed);
    if (is_far(*dealt)) try_order(*dealt, 1, true);
  }
}

bool PlacementSearch::is_open(const Lacked& lacked) const {
  return !tried_.contains(key(lacked.placement, lacked.routed));
}

bool PlacementSearch::has_lacked(const schedule::Placement& placement, bool routed) const {
  return std::ranges::any_of(lacked_, [&](const Lacked& lacked) {
    return lacked.routed == routed && key(lacked.placement) == key(placement);
  });
}

void PlacementSearch::forget_lack(const schedule::Placement& placement) {
  std::erase_if(lacked_, [&](const Lacked& lacked) { return key(lacked.placement) == key(placement); });
}

void PlacementSearch::try_all_long() {
  for (std::size_t n = 0; n < most_long && try_long(); ++n) {
  }
}

bool PlacementSearch::try_long() {
  const auto* choice = choices_.empty() ? nullptr : &choices_[best_first(choices_).front()];
  const bool on_one_pe = choice == nullptr || choice->pes == 1;
  const bool in_turn =
      choice == nullptr || is_narrow(*choice) || choice->placement.in_turn || is_slow(*choice);
  const auto is_told = [&](const Lacked& lacked) {
    return is_open(lacked) && (in_turn || !lacked.placement.in_turn);
  };
  auto told = lacked_ | std::views::filter(is_told);
  const auto best = std::ranges::min_element(told, {}, [&](const Lacked& lacked) {
    return std::pair(to_beat_ < no_time && !lacked.placement.schedule.is_serpentine, hope(lacked.placement));
  });
  if ((is_very_long_ && choice != nullptr) || best == told.end()) return false;
  const auto worth = on_one_pe ? worth_seconds : cost_ < long_kernel ? much_faster : far_faster;
  // An estimate that is too large for the best is so for others.
  const auto time = choice == nullptr ? to_beat_
                    : on_one_pe       ? best_time(choices_)
                                      : std::max(best_time(choices_), choice->placement.cycles);
  const auto gain = time / hope(best->placement);
  const auto operations = choice == nullptr && to_beat_ == no_time ? most_operations_at_last
                          : gain >= hopeless && best->routed       ? most_operations_of_stages
                          : gain >= hopeless                       ? most_operations_of_very_long
                          : on_one_pe || gain >= many_times        ? most_operations_of_long
                                                                   : most_operations_again;
  if (gain <= worth ||
      (best->routed && (operations <= most_operations_of_routes || (gain < many_times && !on_one_pe))))
    return false;
  const poly::EffortBudget budget(operations);
  const Lacked lacked{best->placement, best->routed};  // others are added
  try_order(lacked.placement, orders(), lacked.routed);
  return !is_open(lacked);
}

Variant& PlacementSearch::variant(const schedule::Schedule& schedule) {
  const auto found = variants_.find(order(schedule));
  if (found != variants_.end()) return found->second;
  Log log = log_;
  auto system = order(schedule) == Order() ? system_ : reorder(system_.system, schedule, machine_, log);
  return variants_.try_emplace(order(schedule), std::move(system), machine_, log_).first->second;
}

std::size_t PlacementSearch::tried() const {
  std::size_t result = 0;
  for (const auto& [order, variant] : variants_) result += variant.search.tried();
  return result;
}

void PlacementSearch::keep(const schedule::Placement& placement, const Variant& variant,
                           Expected<Compiled, Refusal> compiled, bool routed) {
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
  const auto dimensions = wide(compiled->program.grid);
  choices_.push_back(
      {&variant, std::move(*compiled), placement, cycles, pes, dimensions, routed, lost_iterations});
}

bool PlacementSearch::is_promising(const schedule::Placement& placement) const {
  if (placement.fullest >= std::max(to_beat_, estimate_to_beat_)) return false;
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
      return hope(placement) * about_as_fast < (cycles < uncertainty * other.cycles ? other.cycles : cycles);
    return hope(placement) < cycles * (placement.pes < other.pes ? uncertainty : 1);
  });
}

bool PlacementSearch::is_slow(const Choice& choice) {
  return static_cast<double>(choice.cycles.value_or(0)) > far_slower * choice.placement.cycles;
}

bool PlacementSearch::is_by_chance(const schedule::Placement& placement) const {
  double share = 0;
  for (const auto& choice : choices_)
    share = std::max(share, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
  return hope(placement) * std::min(share, 1.0) < by_chance * best_time(choices_);
}

const PlacementSearch::Refused* PlacementSearch::much_better(const Choice& other) const {
  // With reductions in another order they may have been legal.
  auto others = refused_ | std::views::filter([&](const Refused& refused) {
                  return std::ranges::none_of(choices_, [&](const Choice& choice) {
                    const auto &found = choice.placement.schedule, &lost = refused.placement.schedule;
                    return found.space_indices == lost.space_indices && found.movements == lost.movements;
                  });
                });
  const auto best = std::ranges::min_element(others, {}, [](const Refused& refused) {
    return std::pair(refused.placement.in_turn, refused.placement.cycles);
  });
  if (best == others.end() || best->placement.in_turn) return nullptr;
  const bool is_better = other.placement.cycles / best->placement.cycles >= much_faster;
  return is_better ? &*best : nullptr;  // nor where both take no time
}

void PlacementSearch::try_refused() {
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

Expected<Compiled, Refusal> PlacementSearch::choose() {
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

}  // namespace cyclotron::driver
