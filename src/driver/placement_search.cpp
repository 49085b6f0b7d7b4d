#include "placement_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include <cyclotron/poly/effort.hpp>

#include "simulated_cycles.hpp"

namespace cyclotron::driver {

namespace {

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

bool is_sum(const std::string& index) { return index.find('+') != std::string::npos; }

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
    try_narrower();
    try_shorter_sums();
    try_statements_last();
    try_loaded();
    try_harder();
  } else {
    try_one_pe();
    try_refused();
  }
  if (const auto* one = one_pe(); one != nullptr && loses_exits() && is_promising(*one)) try_one_pe_in_full();
  return choose();
}

void PlacementSearch::go_on_from(const PlacementSearch& other) {
  tried_ = other.tried_;
  far_ = other.far_;
  unreachable_ = other.unreachable_;
  unroutable_ = other.unroutable_;
  std::ranges::copy_if(other.lacked_, std::back_inserter(lacked_), [&](const Lacked& lacked) {
    return !other.is_found(lacked.placement.schedule.space_indices);
  });
}

bool PlacementSearch::is_narrow(const Choice& taken) const {
  return taken.wide < std::min<std::ptrdiff_t>(wide(machine_.grid), 2);
}

Expected<Compiled, Refusal> PlacementSearch::run_in_brief() {
  try_best_first();
  if (!choices_.empty()) {
    try_reordered();
    if (cost_ < long_kernel) try_dealt();
  }
  try_harder();
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
    if (left < attempt.operations / 2) continue;  // the last may take somewhat more than is left
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
    if (is_open({.placement = placement, .routed = routed})) {
      left -= std::min(left, operations);
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
      if (!has_lacked(placement, false) && is_promising(placement) &&
          (again || !is_part_refused(placement, false)))
        try_placement(placement, orders());
    }
  }
  try_one_pe();
  std::size_t chances = most_by_chance;
  for (const auto& placement : rest) {
    if ((cost_ >= costly_kernel && spent() >= most) || chances == 0) break;
    if (tried_.contains(key(placement)) || has_lacked(placement, false) || !is_by_chance(placement)) continue;
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
  bool is_late_worth =
      cost_ < costly_kernel && !choices_.empty() && is_slow(choices_[best_first(choices_).front()]);
  for (std::size_t tried = 0, n = 0; n < refused_.size() && tried < most && lacking() < most_lacking; ++n) {
    const auto& [placement, refusal] = refused_[n];
    const bool may_be =
        is_promising(placement) || (cost_ < costly_kernel && !choices_.empty() && is_by_chance(placement));
    const bool may_route = is_far(placement) || (is_late_worth && late_.contains(key(placement)));
    if (!may_route || tried_.contains(key(placement, true)) || has_lacked(placement, true) || !may_be ||
        is_part_refused(placement, true) ||
        (cost_ >= costly_kernel && !choices_.empty() &&
         hope(placement) * (is_very_long_ ? far_faster : much_faster) >= best_time(choices_)))
      continue;
    ++tried;
    const auto before = choices_.size();
    const bool is_late = try_order(placement, orders_of_routes(), true) == Obstacle::late_value;
    const bool compiles = choices_.size() > before;
    is_late_worth = is_late_worth && !compiles;
    const auto* other = is_late ? reordered(placement, 1) : nullptr;
    if (other != nullptr && !compiles_as(*other)) try_order(*other, orders_of_routes(), true);
    if (compiles) refused_.erase(refused_.begin() + static_cast<std::ptrdiff_t>(n--));
  }
  if (choices_.empty()) return;
  const auto& best = choices_[best_first(choices_).front()];
  const bool in_waves = std::ranges::any_of(best.compiled.schedule.time_indices, is_sum);
  if (in_waves && !best.routed && is_slow(best, far_faster))
    try_order(schedule::Placement(best.placement), 1, true);
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
  std::vector<std::string> folds;
  for (const auto& fold : schedule.folds)
    folds.push_back(fmt::format("{} {} {}", fold.dimension, schedule::name(fold.kind), fold.parts));
  return {schedule.space_indices,      order(schedule),        folds,
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
      note_lack(placement, routed);
    }
    if (!compiled && (search.is_far() || (cost_ <= small_kernel && search.may_route())))
      far_.insert(key(placement));
    else if (!compiled && search.may_route())
      late_.insert(key(placement));
    const auto obstacle = compiled ? std::nullopt : std::optional(compiled.error().obstacle());
    keep(placement, **variant, std::move(compiled), routed);
    return obstacle;
  } catch (const ShapeError&) {  // memories of a machine of any size cannot be shared by a grid of this one
    if (!misfit_) misfit_ = std::current_exception();
    return std::nullopt;
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

void PlacementSearch::note_lack(const schedule::Placement& placement, bool routed) {
  const auto operations = poly::EffortLimit::of_each().value_or(0);
  const auto known = std::ranges::find_if(lacked_, [&](const Lacked& lacked) {
    return lacked.routed == routed && key(lacked.placement) == key(placement);
  });
  if (known == lacked_.end())
    lacked_.push_back({placement, routed, operations});
  else
    known->operations = std::max(known->operations, operations);
}

void PlacementSearch::forget_lack(const schedule::Placement& placement) {
  std::erase_if(lacked_, [&](const Lacked& lacked) { return key(lacked.placement) == key(placement); });
}

void PlacementSearch::try_harder() {
  const auto time = choices_.empty() ? no_time : best_time(choices_);
  try_all_long();
  if (choices_.empty()) return;
  try_refused();
  if (best_time(choices_) * about_as_fast >= time) return;
  try_swapped();
  try_reordered();
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
  // An estimate that is too large for the best is so for others.
  const auto time = choice == nullptr ? to_beat_
                    : on_one_pe       ? best_time(choices_)
                                      : std::max(best_time(choices_), choice->placement.cycles);
  const auto operations = [&](const Lacked& lacked) {
    const auto gain = time / hope(lacked.placement);
    return choice == nullptr && to_beat_ == no_time ? most_operations_at_last
           : gain >= hopeless && lacked.routed      ? most_operations_of_stages
           : gain >= hopeless                       ? most_operations_of_very_long
           : on_one_pe || gain >= many_times ||
                   (gain >= far_faster && choice != nullptr && is_slow(*choice, far_faster))
               ? most_operations_of_long
               : most_operations_again;
  };
  const auto is_told = [&](const Lacked& lacked) {
    return is_open(lacked) && (in_turn || !lacked.placement.in_turn) &&
           operations(lacked) > lacked.operations &&
           (!lacked.routed || operations(lacked) > most_operations_of_routes);
  };
  auto told = lacked_ | std::views::filter(is_told);
  const auto best = std::ranges::min_element(told, {}, [&](const Lacked& lacked) {
    return std::pair(to_beat_ < no_time && !lacked.placement.schedule.is_serpentine, hope(lacked.placement));
  });
  if ((is_very_long_ && choice != nullptr) || best == told.end()) return false;
  const auto worth = on_one_pe ? worth_seconds : cost_ < long_kernel ? much_faster : far_faster;
  if (time / hope(best->placement) <= worth) return false;
  const poly::EffortBudget budget(operations(*best));
  const auto [placement, routed] = std::pair(best->placement, best->routed);  // others are added
  try_order(placement, orders(), routed);
  return !is_open({.placement = placement, .routed = routed});
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
    if (!routed) {
      refused_.push_back({placement, compiled.error()});
      return;
    }
    // Links that are missing are no reason where values may pass other PEs.
    for (auto& refused : refused_) {
      if (key(refused.placement) == key(placement)) refused.refusal = compiled.error();
    }
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

bool PlacementSearch::is_slow(const Choice& choice, double times) {
  return static_cast<double>(choice.cycles.value_or(0)) > times * choice.placement.cycles;
}

bool PlacementSearch::is_by_chance(const schedule::Placement& placement) const {
  double share = 0;
  for (const auto& choice : choices_)
    share = std::max(share, static_cast<double>(choice.cycles.value_or(0)) / choice.placement.cycles);
  return hope(placement) * std::min(share, 1.0) < by_chance * best_time(choices_);
}

void PlacementSearch::try_refused() {
  const auto* best = much_better(choices_[best_first(choices_).front()]);
  if (is_very_long_ || best == nullptr) return;
  const auto placement = best->placement;
  const poly::EffortBudget budget(most_operations_in_need);
  auto& variant = this->variant(placement.schedule);
  auto compiled = variant.search.run(placement.schedule, {.prove = false});
  if (!compiled && compiled.error().obstacle() != Obstacle::effort) return;
  std::erase_if(refused_, [&](const Refused& refused) { return key(refused.placement) == key(placement); });
  if (compiled) {
    keep(placement, variant, std::move(compiled), variant.search.is_routed());
  } else {
    tried_.erase(key(placement, true));
    note_lack(placement, true);
  }
}

void PlacementSearch::simulate_best() {
  for (std::size_t n = 0; n < most_simulated_long; ++n) {
    auto& best = choices_[best_first(choices_).front()];
    if (best.cycles || best.at_least > 0) return;
    best.cycles = simulated_cycles(best.compiled.program, Patience::much);
    best.at_least = static_cast<double>(most_work(Patience::much)) / static_cast<double>(best.pes);
  }
}

Expected<Compiled, Refusal> PlacementSearch::choose() {
  simulate_best();
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
