#include <cyclotron/program/exits.hpp>

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

/// The loop that an EXIT is directly in.
struct ExitLoop {
  std::size_t exit = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t variable = 0;
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

/// The loop of a class that the exit plan ends; nothing where it has no such EXIT.
Expected<std::optional<ExitLoop>, Unfit> exit_loop(const Program& program, const PeClass& pe_class,
                                                   ExitPlanId plan) {
  std::vector<OpenBlock> open;
  std::size_t variable = program.grid.size();
  std::optional<ExitLoop> found;
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
      if (found) return Unfit{at, "is a second exit of one ending"};
      if (open.empty() || !open.back().is_loop || !std::holds_alternative<End>(pe_class.code[at + 1].action))
        return Unfit{at, "is an exit that is not at the end of a loop"};
      if (open.size() > 1) return Unfit{at, "is an exit of a loop inside another block"};
      found = ExitLoop{at, open.back().at, end_of(pe_class.code, open.back().at), open.back().variable};
    }
  }
  return found;
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
    for (const Bound& bound : loop.lower)
      first = std::max(first, ceil_divide(constant_of(bound), bound.divisor));
    for (const Bound& bound : loop.upper)
      last = std::min(last, floor_divide(constant_of(bound), bound.divisor));
    for (at_ = loop_.begin + 1; at_ < loop_.end && !unfit_; ++at_)
      std::visit([this](const auto& action) { look(action); }, code_[at_].action);
    return unfit_;
  }

  std::int64_t first = INT64_MIN;
  std::int64_t last = INT64_MAX;
  std::int64_t period = 1;
  std::set<std::int64_t> breaks;  ///< Iterations that do not the same as those before them.

 private:
  /// Keeps the first reason.
  void refuse(const char* what) {
    if (!unfit_) unfit_ = Unfit{at_, what};
  }
  [[nodiscard]] std::int64_t constant_of(const Bound& bound) {
    for (const std::int64_t coefficient : bound.numerator.coefficients) {
      if (coefficient != 0) refuse("is a loop that ends early and has bounds that are not constant");
    }
    return bound.numerator.constant;
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
  void look(const Operand& operand) {
    if (const auto* reference = std::get_if<SlotRef>(&operand)) look(*reference);
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
  }
  void look(const End&) { --depth_; }
  void look(const Load& load) { look(load.destination); }
  void look(const Store& store) { look(store.source); }
  void look(const Send& send) { look(send.source); }
  void look(const Receive& receive) {
    look(receive.destination);
    for (const Affine& sender : receive.sender) require_same(sender);
  }
  void look(const Broadcast& broadcast) {
    look(broadcast.source);
    require_same(broadcast.lower);
    require_same(broadcast.upper);
  }
  /// The value of a form differs as an input's element does.
  void look(const Move& move) {
    look(move.destination);
    if (const auto* reference = std::get_if<SlotRef>(&move.source)) look(*reference);
  }
  void look(const Compute& compute) {
    look(compute.destination);
    for (const Operand& operand : compute.operands) look(operand);
  }
  void look(const Exit& exit) {
    if (depth_ == 0 && at_ != loop_.exit) refuse("is a second exit of one loop");
    look(exit.runs);
  }

  const std::vector<Instruction>& code_;
  const ExitLoop& loop_;
  std::size_t at_ = 0;
  std::size_t depth_ = 0;  // Of blocks in the loop.
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

/// Of a loop with constant bounds.
std::int64_t last_of(const Loop& loop) {
  std::int64_t result = INT64_MAX;
  for (const Bound& bound : loop.upper)
    result = std::min(result, floor_divide(bound.numerator.constant, bound.divisor));
  return result;
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
  const auto loop = exit_loop(program, pe_class, number);
  if (!loop) return loop.error();
  if (!*loop) return std::nullopt;
  const ExitPlan& plan = program.exit_plans[number.index()];
  Uniformity same(pe_class, **loop);
  if (auto unfit = same.collect()) return unfit;
  const auto next = same.breaks.upper_bound(plan.first);
  const bool breaks = next != same.breaks.end() && *next <= plan.last;
  if (plan.first < same.first || plan.last > same.last || breaks || plan.period % same.period != 0)
    return Unfit{(*loop)->begin, "is a loop that leaves out iterations that differ"};
  return std::nullopt;
}

}  // namespace

Expected<ExitPlan, ExitFault> range_of(const Program& program, ExitPlanId plan) {
  constexpr std::int64_t far = std::int64_t{1} << 61;
  ExitPlan widest = program.exit_plans[plan.index()];
  widest.period = 1;
  std::int64_t first = -far, last = far;
  std::set<std::int64_t> breaks;
  std::set<std::uint32_t> channels;
  std::vector<std::size_t> others;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const PeClass& own = program.classes[c];
    const auto loop = exit_loop(program, own, plan);
    if (!loop) return fault_at(program, c, loop.error());
    if (!*loop) {
      others.push_back(c);
      continue;
    }
    Uniformity same(own, **loop);
    if (const auto unfit = same.collect()) return fault_at(program, c, *unfit);
    first = std::max(first, same.first);
    last = std::min(last, same.last);
    widest.period = std::lcm(widest.period, same.period);
    if (widest.period > longest_period) {
      constexpr auto what = "is a loop that ends early whose iterations are the same after too many only";
      return fault_at(program, c, {(*loop)->begin, what});
    }
    breaks.merge(same.breaks);
    for (std::size_t at = (*loop)->begin; at < (*loop)->end; ++at) {
      if (const auto channel = channel_of(own.code[at].action)) channels.insert(channel->value);
    }
  }
  if (others.size() == program.classes.size()) return fault_at(program, 0, {0, "has no exit"});
  for (const std::size_t other : others) {
    if (const auto unfit = use_of(channels, program.classes[other])) return fault_at(program, other, *unfit);
  }
  widen(widest, breaks, first, std::max(first, last));
  return widest;
}

std::optional<ExitFault> fault_of(const Program& program, ExitPlanId plan) {
  if (const auto range = range_of(program, plan); !range) return range.error();
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    if (const auto unfit = differing_iterations(program, program.classes[c], plan))
      return fault_at(program, c, *unfit);
  }
  return std::nullopt;
}

Unrolled without_skipped(const Program& program, const std::vector<ExitOutcome>& outcomes) {
  Unrolled result{program, {}};
  auto& exit_plans = result.program.exit_plans;
  const bool decided = program.machine.control.has_value();
  if (!decided) exit_plans.clear();
  for (std::size_t e = 0; e < exit_plans.size(); ++e) {
    if (outcomes[e].skipped > 0) exit_plans[e].last = outcomes[e].at;
  }
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const auto& code = program.classes[c].code;
    std::vector<Instruction> written;
    std::vector<std::uint32_t> origin;
    const auto write = [&](std::size_t from, std::size_t to, bool with_exits) {
      for (std::size_t at = from; at < to; ++at) {
        if (std::holds_alternative<Exit>(code[at].action) && !with_exits) continue;
        written.push_back(code[at]);
        origin.push_back(static_cast<std::uint32_t>(at));
      }
    };
    std::vector<std::pair<ExitLoop, ExitOutcome>> loops;  // Outermost ones, so one after the other.
    for (std::size_t e = 0; e < outcomes.size(); ++e) {
      const auto loop = exit_loop(program, program.classes[c], ExitPlanId(e));
      if (*loop && outcomes[e].skipped > 0) loops.emplace_back(**loop, outcomes[e]);
    }
    std::ranges::sort(loops, {}, [](const auto& one) { return one.first.begin; });
    std::size_t done = 0;
    for (const auto& [loop, outcome] : loops) {
      write(done, loop.begin, decided);
      const std::size_t first = written.size();
      write(loop.begin, loop.end + 1, decided);
      std::get<Loop>(written[first].action).upper = {{.numerator = {{}, outcome.at}}};
      const std::size_t rest = written.size();
      const std::int64_t next = outcome.at + outcome.skipped + 1;
      done = loop.end + 1;
      if (next > last_of(std::get<Loop>(code[loop.begin].action))) continue;
      write(loop.begin, loop.end + 1, false);
      std::get<Loop>(written[rest].action).lower = {{.numerator = {{}, next}}};
    }
    write(done, code.size(), decided);
    result.program.classes[c].code = std::move(written);
    result.origin.push_back(std::move(origin));
  }
  return result;
}

}  // namespace cyclotron::program
