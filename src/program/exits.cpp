#include <cyclotron/program/exits.hpp>
#include <cyclotron/program/uses.hpp>

#include <algorithm>
#include <numeric>
#include <set>

#include <cyclotron/support/division.hpp>
#include <cyclotron/support/expected.hpp>
#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::program {
namespace {

constexpr std::int64_t longest_period = std::int64_t{1} << 20;

struct OpenBlock {
  std::size_t at;
  std::size_t variable;  ///< Of a loop, in the environment.
  bool is_loop;
};

/// A loop that an EXIT is directly in.
struct ExitLoop {
  std::size_t exit = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t variable = 0;
  std::int64_t runs = 1;  ///< Number of them, where none of the loops around it ends early; 0: unknown.
  std::vector<std::size_t> around;  ///< The beginnings of these.
};

/// Instruction of a class that keeps its iterations from being left out.
struct Unfit {
  std::size_t instruction;
  std::string what;
};

std::size_t end_of(const std::vector<Instruction>& code, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin;; ++at) {
    const Action& action = code[at].action;
    if (std::holds_alternative<Loop>(action) || std::holds_alternative<If>(action)) ++depth;
    if (std::holds_alternative<End>(action) && --depth == 0) return at;
  }
}

struct Range {
  std::int64_t first = INT64_MIN;
  std::int64_t last = INT64_MAX;
  [[nodiscard]] std::int64_t size() const { return std::max<std::int64_t>(last - first + 1, 0); }
};

bool is_constant(const std::vector<Bound>& bounds) {
  return std::ranges::all_of(bounds, [](const Bound& bound) {
    return std::ranges::all_of(bound.numerator.coefficients,
                               [](auto coefficient) { return coefficient == 0; });
  });
}

/// Of a loop between constants.
Range range_of(const Loop& loop) {
  Range result;
  for (const Bound& bound : loop.lower)
    result.first = std::max(result.first, ceil_divide(bound.numerator.constant, bound.divisor));
  for (const Bound& bound : loop.upper)
    result.last = std::min(result.last, floor_divide(bound.numerator.constant, bound.divisor));
  return result;
}

/// The times that the loops run what is in them, where that is one number.
Expected<std::int64_t, Unfit> runs_within(const Program& program, const std::vector<Instruction>& code,
                                          const std::vector<OpenBlock>& open, std::size_t exit) {
  std::int64_t result = 1;
  for (std::size_t n = 0; n + 1 < open.size(); ++n) {
    if (!open[n].is_loop) return Unfit{exit, "is an exit of a loop inside a condition"};
    const auto* outer = std::get_if<Exit>(&code[end_of(code, open[n].at) - 1].action);
    if (outer != nullptr && program.exit_plans[outer->plan.index()].per_pe)
      return Unfit{exit, "is an exit of a loop inside one that each PE ends on its own"};
    const auto& loop = std::get<Loop>(code[open[n].at].action);
    if (loop.step != 1 || !is_constant(loop.lower) || !is_constant(loop.upper))
      return Unfit{exit, "is an exit of a loop inside one that is not between constants"};
    if (__builtin_mul_overflow(result, range_of(loop).size(), &result))
      return Unfit{exit, "is an exit of a loop that runs too often"};
  }
  return result;
}

/// The loops of a class that the exit plan ends; none where it has no such EXIT. Classes run them in the order of time, so
/// that as many runs are the same ones, whichever are written out.
Expected<std::vector<ExitLoop>, Unfit> exit_loops(const Program& program, const PeClass& pe_class,
                                                  ExitPlanId plan) {
  std::vector<OpenBlock> open;
  std::size_t variable = program.grid.size();
  std::vector<ExitLoop> result;
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const Action& action = pe_class.code[at].action;
    if (std::holds_alternative<Loop>(action)) {
      open.push_back({at, variable++, true});
    } else if (std::holds_alternative<If>(action)) {
      open.push_back({at, 0, false});
    } else if (std::holds_alternative<End>(action)) {
      if (open.back().is_loop) --variable;
      open.pop_back();
    } else if (const auto* exit = std::get_if<Exit>(&action); exit != nullptr && exit->plan == plan) {
      if (open.empty() || !open.back().is_loop || !std::holds_alternative<End>(pe_class.code[at + 1].action))
        return Unfit{at, "is an exit that is not at the end of a loop"};
      if (!result.empty() && result.back().begin == open.back().at)
        return Unfit{at, "is a second exit of one ending"};
      std::int64_t runs = 0;
      if (!program.exit_plans[plan.index()].per_pe) {
        const auto counted = runs_within(program, pe_class.code, open, at);
        if (!counted) return counted.error();
        runs = *counted;
      }
      result.push_back(
          {at, open.back().at, end_of(pe_class.code, open.back().at), open.back().variable, runs, {}});
      for (std::size_t n = 0; n + 1 < open.size(); ++n) result.back().around.push_back(open[n].at);
    }
  }
  return result;
}

/// The structure that iterations of one loop of one class have in common.
class Uniformity {
 public:
  Uniformity(const PeClass& pe_class, const ExitLoop& loop) : code_(pe_class.code), loop_(loop) {}

  /// Returns the first instruction that has no such structure, if there is one.
  std::optional<Unfit> collect() {
    at_ = loop_.begin;
    const auto& loop = std::get<Loop>(code_[at_].action);
    if (loop.step != 1) refuse("is a loop that ends early and has another step than 1");
    if (!is_constant(loop.lower) || !is_constant(loop.upper))
      refuse("is a loop that ends early and has bounds that are not constant");
    iterations = range_of(loop);
    for (at_ = loop_.begin + 1; at_ < loop_.end; ++at_) {
      for (const auto slot : uses_of(code_[at_].action).written) written_.insert(slot);
    }
    for (at_ = loop_.begin + 1; at_ < loop_.end && !unfit_; ++at_)
      std::visit([this](const auto& action) { look(action); }, code_[at_].action);
    return unfit_;
  }

  Range iterations;
  std::int64_t period = 1;
  std::set<std::int64_t> breaks;  ///< Iterations that do not the same as those before them.

 private:
  /// Keeps the first reason.
  void refuse(const char* what) {
    if (!unfit_) unfit_ = Unfit{at_, what};
  }
  [[nodiscard]] std::int64_t own(const Affine& form) const {
    return loop_.variable < form.coefficients.size() ? form.coefficients[loop_.variable] : 0;
  }
  void require_same(const Affine& form) {
    if (own(form) != 0) refuse("depends on the iteration of a loop that ends early");
  }
  void require_same(const std::vector<Bound>& bounds) {
    for (const Bound& bound : bounds) require_same(bound.numerator);
  }
  void repeats_every(std::int64_t modulus, std::int64_t coefficient) {
    if (coefficient == 0 || unfit_) return;
    period = std::lcm(period, modulus / std::gcd(modulus, coefficient));
    if (period > longest_period)
      refuse("makes iterations of a loop that ends early the same after too many only");
  }

  void look(const SlotRef& reference) {
    require_same(reference.index);
    if (reference.wrap.modulus != 0) {
      if (reference.wrap.modulus > longest_period) require_same(reference.wrap.form);
      repeats_every(reference.wrap.modulus, own(reference.wrap.form));
    }
  }
  /// Of a slot that the loop does not write, a table say, any element.
  void look_read(const SlotRef& reference) {
    if (written_.contains(reference.slot.index())) look(reference);
  }
  void look(const Operand& operand) {
    if (const auto* reference = std::get_if<SlotRef>(&operand)) look_read(*reference);
  }
  void look(const Condition& condition) {
    const std::int64_t a = own(condition.form);
    if (a == 0) return;
    if (condition.kind == Condition::Kind::divisible) {
      if (condition.modulus > longest_period) require_same(condition.form);
      return repeats_every(condition.modulus, a);
    }
    const auto others = [&](std::int64_t coefficient) { return coefficient != 0; };
    if (std::ranges::count_if(condition.form.coefficients, others) > 1) require_same(condition.form);
    const std::int64_t b = condition.form.constant;
    if (condition.kind == Condition::Kind::non_negative) {
      breaks.insert(a > 0 ? ceil_divide(-b, a) : floor_divide(b, -a) + 1);
    } else if (b % a == 0) {
      breaks.insert({-b / a, -b / a + 1});
    }
  }

  void look(const Loop& loop) {
    ++depth_;
    require_same(loop.lower);
    require_same(loop.upper);
  }
  void look(const If& branch) {
    ++depth_;
    for (const auto& conjunction : branch.condition) {
      for (const auto& condition : conjunction) look(condition);
    }
    for (const auto& bound : branch.within) {
      look(bound.number);
      require_same(bound.form);
    }
  }
  void look(const End&) { --depth_; }
  void look(const Load& load) { look(load.destination); }
  void look(const Store& store) { look_read(store.source); }
  void look(const Send& send) { look_read(send.source); }
  void look(const Receive& receive) {
    look(receive.destination);
    for (const Affine& sender : receive.sender) require_same(sender);
  }
  void look(const Broadcast& broadcast) {
    look_read(broadcast.source);
    require_same(broadcast.lower);
    require_same(broadcast.upper);
  }
  /// The value of a form differs as an input's element does.
  void look(const Move& move) {
    look(move.destination);
    if (const auto* reference = std::get_if<SlotRef>(&move.source)) look_read(*reference);
  }
  void look(const Compute& compute) {
    look(compute.destination);
    for (const Operand& operand : compute.operands) look(operand);
    if (!compute.indexed) return;
    look(compute.indexed->number);
    require_same(compute.indexed->lower);
    require_same(compute.indexed->upper);
  }
  void look(const Exit& exit) {
    if (depth_ == 0 && at_ != loop_.exit) refuse("is a second exit of one loop");
    look(exit.runs);
  }

  const std::vector<Instruction>& code_;
  const ExitLoop& loop_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;          // Of blocks in the loop.
  std::set<std::size_t> written_;  // Slots.
  std::optional<Unfit> unfit_;
};

std::optional<ChannelId> channel_of(const Action& action) {
  if (const auto* send = std::get_if<Send>(&action)) return send->channel;
  if (const auto* receive = std::get_if<Receive>(&action)) return receive->channel;
  if (const auto* broadcast = std::get_if<Broadcast>(&action)) return broadcast->channel;
  return std::nullopt;
}

/// The use of these channels in a class without the EXIT, which may count on messages of iterations that are left out:
/// its own iterations may be written out.
std::optional<Unfit> use_of(const std::set<std::uint32_t>& channels, const PeClass& pe_class) {
  for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
    const auto channel = channel_of(pe_class.code[at].action);
    if (channel && channels.contains(channel->value))
      return Unfit{at, "uses a channel of a loop that ends early, and ends none"};
  }
  return std::nullopt;
}

/// The iterations between two breaks that are the most.
void widen(ExitPlan& plan, const std::set<std::int64_t>& breaks, std::int64_t first, std::int64_t last) {
  plan.first = first;
  plan.last = first - 1;
  const auto offer = [&](std::int64_t from, std::int64_t to) {
    if (to - from > plan.last - plan.first) plan.first = from, plan.last = to;
  };
  std::int64_t from = first;
  for (const std::int64_t next : breaks) {
    if (next <= from) continue;
    if (next > last) break;
    offer(from, next - 1);
    from = next;
  }
  offer(from, last);
}

ExitFault fault_at(const Program& program, std::size_t pe_class, const Unfit& unfit) {
  ExitFault result{pe_class, unfit.instruction, unfit.what, {}};
  if (pe_class < program.classes.size() && unfit.instruction < program.classes[pe_class].code.size())
    result.span = program.classes[pe_class].code[unfit.instruction].span;
  return result;
}

/// The loop of the class, if it has the EXIT, that leaves out other iterations than it may.
std::optional<Unfit> differing_iterations(const Program& program, const PeClass& pe_class,
                                          ExitPlanId number) {
  const auto loops = exit_loops(program, pe_class, number);
  if (!loops) return loops.error();
  const ExitPlan& plan = program.exit_plans[number.index()];
  for (const ExitLoop& loop : *loops) {
    Uniformity same(pe_class, loop);
    if (auto unfit = same.collect()) return unfit;
    const auto next = same.breaks.upper_bound(plan.first);
    const bool breaks = next != same.breaks.end() && *next <= plan.last;
    const bool outside = plan.first < same.iterations.first || plan.last > same.iterations.last;
    if (outside || breaks || plan.period % same.period != 0)
      return Unfit{loop.begin, "is a loop that leaves out iterations that differ"};
  }
  return std::nullopt;
}

/// An instruction of a program whose loops have ended.
struct Copy {
  std::uint32_t origin = 0;
  bool cut = false;  ///< A loop that runs from `first` to `last` now.
  std::int64_t first = 0;
  std::int64_t last = 0;
  bool operator==(const Copy&) const = default;
};

/// The code that a class has executed.
class Replay {
 public:
  Replay(const Program& program, const PeClass& pe_class, const std::vector<ExitOutcome>& outcomes,
         std::size_t most)
      : code_(pe_class.code),
        outcomes_(outcomes),
        most_(most),
        decided_(program.machine.control.has_value()) {
    runs_.assign(outcomes.size(), 0);
  }

  /// None where that are more instructions than `most`.
  std::optional<std::vector<Copy>> run() {
    auto result = block(0, code_.size());
    return too_many_ ? std::nullopt : std::optional(std::move(result));
  }

 private:
  std::vector<Copy> block(std::size_t begin, std::size_t end) {
    std::vector<Copy> result;
    for (std::size_t at = begin; at < end && !too_many_; ++at) {
      const Action& action = code_[at].action;
      if (std::holds_alternative<Loop>(action)) {
        const std::size_t past = end_of(code_, at);
        if (!plans_within(at, past).empty()) {
          loop(result, at, past);
          at = past;
          continue;
        }
      }
      if (std::holds_alternative<Exit>(action) && !decided_) continue;
      result.push_back({.origin = static_cast<std::uint32_t>(at)});
    }
    return result;
  }

  /// A loop that ends early, or has such loops inside.
  void loop(std::vector<Copy>& result, std::size_t begin, std::size_t end) {
    const auto& bounds = std::get<Loop>(code_[begin].action);
    if (!is_constant(bounds.lower) || !is_constant(bounds.upper)) {  // it has loops inside that all end alike
      result.push_back({.origin = static_cast<std::uint32_t>(begin)});
      std::ranges::copy(block(begin + 1, end), std::back_inserter(result));
      result.push_back({.origin = static_cast<std::uint32_t>(end)});
      return;
    }
    const Range all = range_of(bounds);
    if (decided_ && all.size() == 0) {  // it keeps what is before it and after it apart
      for (std::size_t at = begin; at <= end; ++at)
        result.push_back({.origin = static_cast<std::uint32_t>(at)});
      return;
    }
    const auto* exit = std::get_if<Exit>(&code_[end - 1].action);
    const ExitOutcome::Run* run = nullptr;
    if (exit != nullptr) run = outcomes_[exit->plan.index()].find(runs_[exit->plan.index()]++);
    if (run == nullptr) return iterations(result, begin, end, all);
    iterations(result, begin, end, {all.first, run->at});
    iterations(result, begin, end, {run->at + run->skipped + 1, all.last});
  }

  /// Iterations of a loop, those that do the same together.
  void iterations(std::vector<Copy>& result, std::size_t begin, std::size_t end, Range range) {
    std::vector<Copy> body;
    std::int64_t from = range.first;
    const auto write = [&](std::int64_t last) {
      if (last < from) return;
      result.push_back({static_cast<std::uint32_t>(begin), true, from, last});
      result.insert(result.end(), body.begin(), body.end());
      result.push_back({.origin = static_cast<std::uint32_t>(end)});
      too_many_ = too_many_ || result.size() > most_;
    };
    const bool alike = all_alike(plans_within(begin + 1, end - 1));
    for (std::int64_t v = range.first; v <= range.last && !too_many_; ++v) {
      auto next = block(begin + 1, end);
      if (v == range.first || next != body) {
        write(v - 1);
        body = std::move(next);
        from = v;
      }
      if (alike) break;
    }
    write(range.last);
  }

  /// True where all runs of their loops end alike.
  [[nodiscard]] bool all_alike(const std::set<std::size_t>& plans) const {
    return std::ranges::all_of(
        plans, [&](std::size_t plan) { return outcomes_[plan].each_run || outcomes_[plan].runs.empty(); });
  }

  [[nodiscard]] std::set<std::size_t> plans_within(std::size_t begin, std::size_t end) const {
    std::set<std::size_t> result;
    for (std::size_t at = begin; at < end; ++at) {
      if (const auto* exit = std::get_if<Exit>(&code_[at].action)) result.insert(exit->plan.index());
    }
    return result;
  }

  const std::vector<Instruction>& code_;
  const std::vector<ExitOutcome>& outcomes_;
  std::size_t most_;
  bool decided_;
  bool too_many_ = false;
  std::vector<std::int64_t> runs_;  // By exit plan: of its loops, so far.
};

/// The iterations that an exit plan can leave out by the classes that have been looked at.
struct Common {
  ExitPlan widest;
  Range iterations{-(std::int64_t{1} << 61), std::int64_t{1} << 61};
  std::optional<std::int64_t> runs;
  std::set<std::int64_t> breaks;
  std::set<std::uint32_t> channels;  ///< Of the loops.

  /// Adds a class's loops. Returns the first that has nothing in common, if there is one.
  std::optional<Unfit> add(const PeClass& pe_class, const std::vector<ExitLoop>& loops) {
    std::int64_t own_runs = 0;
    for (const ExitLoop& loop : loops) {
      if (__builtin_add_overflow(own_runs, loop.runs, &own_runs) ||
          own_runs > most_iterations / std::max<std::int64_t>(widest.steps, 1))
        return Unfit{loop.exit, "is an exit of a loop that runs too often"};
      Uniformity same(pe_class, loop);
      if (auto unfit = same.collect()) return unfit;
      iterations = {std::max(iterations.first, same.iterations.first),
                    std::min(iterations.last, same.iterations.last)};
      widest.period = std::lcm(widest.period, same.period);
      if (widest.period > longest_period)
        return Unfit{loop.begin,
                     "is a loop that ends early whose iterations are the same after too many only"};
      breaks.merge(same.breaks);
      for (std::size_t at = loop.begin; at < loop.end; ++at) {
        const auto channel = channel_of(pe_class.code[at].action);
        if (channel && widest.per_pe)
          return Unfit{at, "has a message in a loop that each PE ends on its own"};
        if (channel) channels.insert(channel->value);
      }
    }
    if (widest.per_pe) own_runs = widest.runs;
    if (runs.value_or(own_runs) != own_runs)
      return Unfit{loops.front().begin,
                   "is a loop that ends early and runs more or less often than in others"};
    runs = own_runs;
    return std::nullopt;
  }
};

}  // namespace

Expected<ExitPlan, ExitFault> range_of(const Program& program, ExitPlanId plan) {
  Common common{.widest = program.exit_plans[plan.index()], .runs = {}, .breaks = {}, .channels = {}};
  common.widest.period = 1;
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const auto loops = exit_loops(program, program.classes[c], plan);
    if (!loops) return fault_at(program, c, loops.error());
    if (loops->empty()) {
      others.push_back(c);
    } else if (const auto unfit = common.add(program.classes[c], *loops)) {
      return fault_at(program, c, *unfit);
    }
  }
  if (!common.runs) return fault_at(program, 0, {0, "has no exit"});
  for (const std::size_t other : others) {
    if (const auto unfit = use_of(common.channels, program.classes[other]))
      return fault_at(program, other, *unfit);
  }
  common.widest.runs = *common.runs;
  const auto [first, last] = common.iterations;
  widen(common.widest, common.breaks, first, std::max(first, last));
  return std::move(common.widest);
}

std::optional<ExitFault> fault_of(const Program& program, ExitPlanId plan) {
  const auto range = range_of(program, plan);
  if (!range) return range.error();
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    if (const auto unfit = differing_iterations(program, program.classes[c], plan))
      return fault_at(program, c, *unfit);
  }
  if (range->runs != program.exit_plans[plan.index()].runs)
    return fault_at(program, 0, {0, "runs a loop that ends early more or less often than its plan says"});
  return std::nullopt;
}

namespace {

/// The runs of an exit plan's loop where all runs of the loops around end alike.
std::int64_t times_of(const Program& program, ExitPlanId plan, const std::vector<ExitOutcome>& outcomes) {
  for (const PeClass& pe_class : program.classes) {
    std::int64_t result = 0;
    const auto loops = exit_loops(program, pe_class, plan);
    const bool per_pe = program.exit_plans[plan.index()].per_pe;
    for (const ExitLoop& loop : *loops) {
      std::int64_t times = per_pe ? program.exit_plans[plan.index()].runs : loop.runs;
      for (const std::size_t begin : loop.around) {
        const auto* exit = std::get_if<Exit>(&pe_class.code[end_of(pe_class.code, begin) - 1].action);
        const auto* run = exit == nullptr ? nullptr : outcomes[exit->plan.index()].find(0);
        if (run == nullptr) continue;
        const auto iterations = range_of(std::get<Loop>(pe_class.code[begin].action)).size();
        times = times / iterations * (iterations - run->skipped);
      }
      if (per_pe) return times;
      result += times;
    }
    if (result > 0) return result;
  }
  return 0;
}

}  // namespace

std::vector<ExitOutcome> outcomes_of(const Program& program, const std::vector<std::int64_t>& steps) {
  std::vector<ExitOutcome> result(program.exit_plans.size());
  for (std::size_t e = 0; e < result.size(); ++e) {
    const ExitPlan& plan = program.exit_plans[e];
    if (steps[e] < 0) continue;
    const std::int64_t wanted = std::min(plan.steps - steps[e], plan.last - plan.first);
    const std::int64_t skipped = wanted / plan.period * plan.period;
    if (skipped > 0) result[e].each_run = {.at = plan.last - skipped, .skipped = skipped};
  }
  for (std::size_t e = 0; e < result.size(); ++e) result[e].times = times_of(program, ExitPlanId(e), result);
  return result;
}

const ExitOutcome::Run* ExitOutcome::find(std::int64_t number) const {
  if (each_run) return &*each_run;
  const auto found = std::ranges::lower_bound(runs, number, {}, &Run::number);
  return found != runs.end() && found->number == number ? &*found : nullptr;
}

std::int64_t skipped_iterations(const ExitPlan& plan, const ExitOutcome& outcome) {
  if (outcome.each_run)
    return outcome.times * outcome.each_run->skipped + (plan.runs - outcome.times) * plan.steps;
  if (outcome.times == 0 && !plan.per_pe) return 0;
  std::int64_t result = (plan.runs - outcome.times) * plan.steps + outcome.skipped;
  for (const auto& run : outcome.runs) result += run.skipped;
  return result;
}

std::optional<Unrolled> without_skipped(const Program& program, const std::vector<ExitOutcome>& outcomes) {
  constexpr std::size_t most_copies = 16, most_instructions = std::size_t{1} << 18;
  Unrolled result{program, {}};
  auto& exit_plans = result.program.exit_plans;
  if (program.machine.control) {
    for (ExitPlan& plan : exit_plans) plan.period = plan.last - plan.first + 1;  // leaves nothing out
  } else {
    exit_plans.clear();
  }
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const auto& code = program.classes[c].code;
    const std::size_t most = most_copies * code.size() + most_instructions / program.classes.size();
    const auto copies = Replay(program, program.classes[c], outcomes, most).run();
    if (!copies) return std::nullopt;
    std::vector<Instruction> written;
    std::vector<std::uint32_t> origin;
    for (const Copy& copy : *copies) {
      written.push_back(code[copy.origin]);
      origin.push_back(copy.origin);
      if (!copy.cut) continue;
      auto& loop = std::get<Loop>(written.back().action);
      loop.lower = {{.numerator = {{}, copy.first}}};
      loop.upper = {{.numerator = {{}, copy.last}}};
    }
    result.program.classes[c].code = std::move(written);
    result.origin.push_back(std::move(origin));
  }
  return result;
}

}  // namespace cyclotron::program
