#include <cyclotron/codegen/add_exits.hpp>

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <cyclotron/program/exits.hpp>

namespace cyclotron::codegen {

namespace {

using program::Instruction;

/// An EXIT that a class may have.
struct Candidate {
  std::size_t flag = 0;
  std::int64_t lag = 0;   ///< Of the flag's iteration, behind the loop's.
  std::size_t begin = 0;  ///< Of the loop.
  std::size_t end = 0;
  program::SlotRef slot;
};

/// By class, one a loop.
using Exits = std::vector<std::vector<Candidate>>;

bool is_constant(const std::vector<program::Bound>& bounds) {
  return std::ranges::all_of(bounds, [](const auto& bound) { return bound.numerator.coefficients.empty(); });
}

/// True where a loop runs, wherever it stands: its bounds are two constants.
bool surely_runs(const program::Loop& loop) {
  return loop.lower.size() == 1 && loop.upper.size() == 1 && is_constant(loop.lower) &&
         is_constant(loop.upper) && loop.lower[0].divisor == 1 && loop.upper[0].divisor == 1 &&
         loop.lower[0].numerator.constant <= loop.upper[0].numerator.constant;
}

bool opens(const program::Action& action) {
  return std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action);
}

/// Calls visit(at, open) for each instruction that opens and ends no block, with where those around it begin.
template <class Visit>
void each_instruction(const std::vector<Instruction>& code, Visit visit) {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    if (opens(code[at].action)) {
      open.push_back(at);
    } else if (std::holds_alternative<program::End>(code[at].action)) {
      open.pop_back();
    } else {
      visit(at, open);
    }
  }
}

std::size_t end_of(const std::vector<Instruction>& code, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin;; ++at) {
    if (opens(code[at].action)) ++depth;
    if (std::holds_alternative<program::End>(code[at].action) && --depth == 0) return at;
  }
}

/// The loop at an instruction that is surely run; null where it is none.
const program::Loop* sure_loop(const std::vector<Instruction>& code, std::size_t at) {
  const auto* loop = std::get_if<program::Loop>(&code[at].action);
  return loop != nullptr && surely_runs(*loop) ? loop : nullptr;
}

/// True where a form names only variables below this one.
bool is_below(const program::Affine& form, std::size_t variable) {
  return form.coefficients.size() <= variable;
}

/// The variable that a form is but for a constant.
std::optional<std::size_t> counted_variable(const program::Affine& form) {
  const auto& coefficients = form.coefficients;
  const bool counts =
      !coefficients.empty() && coefficients.back() == 1 &&
      std::all_of(coefficients.begin(), coefficients.end() - 1, [](auto c) { return c == 0; });
  return counts ? std::optional(coefficients.size() - 1) : std::nullopt;
}

/// The flags that slots hold at the ends of the class's loops; with `per_pe` those too by which a PE ends its own.
std::vector<Candidate> candidates(const program::PeClass& pe_class, std::size_t coordinates,
                                  const std::vector<ExitFlag>& flags, const std::vector<FlagValue>& values,
                                  bool per_pe) {
  std::map<std::pair<std::size_t, program::SlotId>, std::optional<Candidate>> last;  // By loop and slot.
  std::map<std::size_t, std::vector<std::size_t>> open;                              // By instruction.
  for (const FlagValue& value : values) open[value.instruction];
  each_instruction(pe_class.code, [&](std::size_t at, const std::vector<std::size_t>& around) {
    if (const auto known = open.find(at); known != open.end()) known->second = around;
  });
  for (const FlagValue& value : values) {
    const auto& around = open[value.instruction];
    // Whatever loop it is in, what its slot held before it holds no more.
    for (const std::size_t begin : around) last[{begin, value.slot.slot}].reset();
    const auto variable = counted_variable(value.element);
    if (!variable || *variable < coordinates) continue;
    const auto is_fixed = [&](const program::Affine& form) { return is_below(form, *variable); };
    if (per_pe ? !std::ranges::all_of(value.run, is_fixed) : !value.of_this_run) continue;
    std::vector<std::size_t> loops;
    for (const std::size_t begin : around) {
      if (std::holds_alternative<program::Loop>(pe_class.code[begin].action)) loops.push_back(begin);
    }
    const std::size_t depth = *variable - coordinates;
    if (depth >= loops.size()) continue;
    const std::size_t begin = loops[depth];
    const auto inside = std::ranges::find(around, begin) + 1;
    const bool surely = std::all_of(inside, around.end(),
                                    [&](std::size_t at) { return sure_loop(pe_class.code, at) != nullptr; });
    const bool stays =
        is_below(value.slot.index, *variable + 1) && is_below(value.slot.wrap.form, *variable + 1);
    const std::int64_t lag = flags[value.flag].offset - value.element.constant;
    if (surely && stays && lag >= 0)
      last[{begin, value.slot.slot}] =
          Candidate{value.flag, lag, begin, end_of(pe_class.code, begin), value.slot};
  }
  std::vector<Candidate> result;
  for (auto& [place, candidate] : last) {
    if (candidate) result.push_back(std::move(*candidate));
  }
  return result;
}

/// A loop in which a class sends or receives on a channel, once an iteration.
struct Use {
  std::size_t begin = 0;
  std::size_t variable = 0;
};

template <class Message>
bool is_on(const program::Action& action, std::size_t channel) {
  const auto* message = std::get_if<Message>(&action);
  return message != nullptr && message->channel.index() == channel;
}

/// The uses of a channel in loops of a flag's name; `runs`: of them all. `regular` becomes false where the class uses it in
/// such loops in another way.
template <class Message>
std::vector<Use> uses_of(const program::Program& program, const std::vector<Instruction>& code,
                         std::size_t channel, const std::string& name, std::int64_t& runs, bool& regular) {
  std::vector<Use> result;
  each_instruction(code, [&](std::size_t at, const std::vector<std::size_t>& open) {
    if (!is_on<Message>(code[at].action, channel)) return;
    const auto is_named = [&](std::size_t begin) {
      const auto* loop = std::get_if<program::Loop>(&code[begin].action);
      return loop != nullptr && loop->name == name;
    };
    if (std::ranges::none_of(open, is_named)) return;
    std::int64_t own = 1;
    for (const std::size_t begin : open) {
      const auto* loop = sure_loop(code, begin);
      regular = regular && loop != nullptr && loop->step == 1;
      if (begin != open.back() && loop != nullptr)
        own *= loop->upper[0].numerator.constant - loop->lower[0].numerator.constant + 1;
    }
    regular = regular && is_named(open.back()) && (result.empty() || result.back().begin != open.back());
    runs += own;
    result.push_back({open.back(), program.grid.size() + open.size() - 1});
  });
  return result;
}

/// Users of a link's channel in the loops of a flag, and the iterations in which all use it.
struct Users {
  std::vector<std::vector<Use>> senders, receivers;  // By class.
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

std::optional<Users> users_of(const program::Program& program, std::size_t channel, const ExitFlag& flag) {
  if (program.channels[channel].kind != program::Channel::Kind::link) return std::nullopt;
  Users result;
  bool regular = true;
  for (const auto& pe_class : program.classes) {
    std::int64_t sent = 0, received = 0;
    result.senders.push_back(
        uses_of<program::Send>(program, pe_class.code, channel, flag.loop, sent, regular));
    result.receivers.push_back(
        uses_of<program::Receive>(program, pe_class.code, channel, flag.loop, received, regular));
    if (!regular || (sent != 0 && sent != flag.runs) || (received != 0 && received != flag.runs))
      return std::nullopt;
    for (const auto* uses : {&result.senders.back(), &result.receivers.back()}) {
      for (const Use& use : *uses) {
        const auto& own = std::get<program::Loop>(pe_class.code[use.begin].action);
        result.first = std::max(result.first, own.lower[0].numerator.constant);
        result.last = std::min(result.last, own.upper[0].numerator.constant);
      }
    }
  }
  return result.first <= result.last ? std::optional(std::move(result)) : std::nullopt;
}

/// A program whose flags are on their way.
struct Draft {
  Code code;
  Exits exits;

  [[nodiscard]] program::Program& program() { return code.program; }

  void insert(std::size_t pe_class, std::size_t at, program::Action action) {
    auto& instructions = code.program.classes[pe_class].code;
    instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(at), {std::move(action), {}});
    for (FlagValue& value : code.flag_values[pe_class]) value.instruction += value.instruction >= at ? 1 : 0;
    for (Candidate& exit : exits[pe_class]) {
      exit.begin += exit.begin >= at ? 1 : 0;
      exit.end += exit.end >= at ? 1 : 0;
    }
  }

  /// Inserts at the end of a loop, in the iterations in which all use it.
  void insert_at_end(std::size_t pe_class, const Use& use, const Users& users, program::Action action) {
    const auto& instructions = code.program.classes[pe_class].code;
    const auto& own = std::get<program::Loop>(instructions[use.begin].action);
    program::Conjunction when;
    const auto add = [&](std::int64_t sign, std::int64_t constant) {
      program::Affine form{std::vector<std::int64_t>(use.variable + 1, 0), constant};
      form.coefficients.back() = sign;
      when.push_back({program::Condition::Kind::non_negative, std::move(form), 0});
    };
    if (own.lower[0].numerator.constant < users.first) add(1, -users.first);
    if (own.upper[0].numerator.constant > users.last) add(-1, users.last);
    std::size_t end = end_of(instructions, use.begin);
    if (!when.empty()) insert(pe_class, end++, program::If{{when}});
    insert(pe_class, end++, std::move(action));
    if (!when.empty()) insert(pe_class, end++, program::End{});
  }

  [[nodiscard]] const Candidate* exit_of(std::size_t pe_class, const Use& use) const {
    const auto found = std::ranges::find(exits[pe_class], use.begin, &Candidate::begin);
    return found == exits[pe_class].end() ? nullptr : &*found;
  }
};

/// By which a flag goes from PEs that have it to others, once an iteration.
struct Passage {
  program::ChannelId channel;
  const std::vector<std::vector<Use>>& senders;  // By class.
  const std::vector<std::vector<Use>>& receivers;
  const Users& users;
  std::optional<Candidate> exit;  ///< One of the senders'.
  std::string name;               ///< Of the flag.
};

bool has(const std::vector<Use>& uses, std::size_t begin) {
  return std::ranges::find(uses, begin, &Use::begin) != uses.end();
}

/// Sends and receives the flag at the ends of a class's loops; those that have no EXIT get one by what they receive, and
/// send that on.
void write_passage(Draft& draft, std::size_t pe_class, const Passage& passage) {
  const auto& senders = passage.senders[pe_class];
  const auto& receivers = passage.receivers[pe_class];
  auto& slots = draft.program().classes[pe_class].slots;
  const program::SlotRef received{program::SlotId(slots.size()), {}};
  if (!receivers.empty())
    slots.push_back({.name = passage.name, .dtype = program::DType::boolean, .tile = {}});
  std::map<std::size_t, Use, std::greater<>>
      loops;  // The last first, so that the others stay where they are.
  for (const auto* uses : {&senders, &receivers}) {
    for (const Use& use : *uses) loops.emplace(use.begin, use);
  }
  for (auto [begin, use] : loops) {
    const bool sends = has(senders, begin), receives = has(receivers, begin);
    const auto& own = std::get<program::Loop>(draft.program().classes[pe_class].code[begin].action);
    if (receives && own.lower[0].numerator.constant < passage.users.first)
      draft.insert(pe_class, use.begin++,
                   program::Move{received, program::Constant{1}});  // it goes on until it hears of it
    const auto* exit = draft.exit_of(pe_class, use);
    const auto slot = exit != nullptr ? exit->slot : received;
    const auto send = [&] {
      if (sends) draft.insert_at_end(pe_class, use, passage.users, program::Send{passage.channel, slot});
    };
    if (exit != nullptr) send();
    if (receives)
      draft.insert_at_end(pe_class, use, passage.users, program::Receive{passage.channel, received, {}});
    if (exit != nullptr) continue;
    Candidate heard = *passage.exit;
    heard.slot = received;
    heard.begin = use.begin;
    heard.end = end_of(draft.program().classes[pe_class].code, use.begin);
    draft.exits[pe_class].push_back(heard);
    send();
  }
}

/// Sends the flag along with each message of a channel, or `back` to where that comes from, from loops that end by it to
/// loops that know of none, to end those too. Returns false where it cannot.
bool pass_flag(Draft& draft, std::size_t channel, const ExitFlag& flag, bool back) {
  program::Program& program = draft.program();
  const bool around = machine::wraps_around(program.machine);
  if (back && (around || !program.channels[channel].scale.empty())) return false;
  const auto users = users_of(program, channel, flag);
  if (!users) return false;
  Passage passage{program::ChannelId(program.channels.size()),
                  back ? users->receivers : users->senders,
                  back ? users->senders : users->receivers,
                  *users,
                  {},
                  {}};
  bool needed = false;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    for (const Use& use : passage.receivers[c]) needed = needed || draft.exit_of(c, use) == nullptr;
    for (const Use& use : passage.senders[c]) {
      if (const auto* exit = draft.exit_of(c, use)) {
        passage.exit = *exit;
        passage.name = program.classes[c].slots[exit->slot.slot.index()].name;
      } else if (around || !has(passage.receivers[c], use.begin)) {
        return false;
      }
    }
  }
  if (!needed || !passage.exit) return false;
  program::Channel flags = program.channels[channel];
  flags.dtype = program::DType::boolean;
  flags.tile = {};
  flags.name = passage.name;
  if (back) {
    for (auto& hop : flags.offset) hop = -hop;
  }
  program.channels.push_back(std::move(flags));
  for (std::size_t c = 0; c < program.classes.size(); ++c) write_passage(draft, c, passage);
  return true;
}

bool lacks_exits(const Exits& exits) {
  return std::ranges::any_of(exits, [](const auto& own) { return own.empty(); });
}

/// True where every class that has the flag's loop ends it.
bool ends_all(const program::Program& program, const Exits& exits, const ExitFlag& flag) {
  for (std::size_t c = 0; c < exits.size(); ++c) {
    const auto is_own = [&](const Instruction& instruction) {
      const auto* loop = std::get_if<program::Loop>(&instruction.action);
      return loop != nullptr && loop->name == flag.loop;
    };
    if (exits[c].empty() && std::ranges::any_of(program.classes[c].code, is_own)) return false;
  }
  return true;
}

/// The program with the EXITs of one flag, if iterations can be left out then.
std::optional<Code> with_exits(Draft draft, const ExitFlag& flag, bool per_pe) {
  program::Program& program = draft.program();
  if (per_pe && !ends_all(program, draft.exits, flag)) return std::nullopt;
  const std::size_t channels = program.channels.size();
  for (bool more = !per_pe; more;) {
    more = false;
    for (const bool back : {false, true}) {
      for (std::size_t channel = 0; channel < channels && !more; ++channel)
        more = lacks_exits(draft.exits) && pass_flag(draft, channel, flag, back);
    }
  }
  const program::ExitPlanId plan(program.exit_plans.size());
  program.exit_plans.push_back({.loop = flag.loop, .steps = flag.steps, .runs = flag.runs, .per_pe = per_pe});
  for (std::size_t c = 0; c < draft.exits.size(); ++c) {
    for (std::size_t e = 0; e < draft.exits[c].size(); ++e) {
      const Candidate exit = draft.exits[c][e];
      draft.insert(c, exit.end, program::Exit{plan, exit.slot});
    }
  }
  const auto widest = program::range_of(program, plan);
  if (!widest || widest->last - flag.settle <= widest->first || widest->runs != flag.runs)
    return std::nullopt;
  program.exit_plans.back() = *widest;
  program.exit_plans.back().last -= flag.settle;  // iterations that are run to see the last values
  for (program::ExitPlanId other(0); other != plan;
       ++other.value) {  // loops inside those that PEs end on their own
    if (per_pe && program::fault_of(program, other)) return std::nullopt;
  }
  return std::move(draft.code);
}

/// The EXITs that classes may have by a flag, those of the same iteration together; the latest iteration first.
std::vector<Exits> exits_of(const Code& draft, const std::vector<ExitFlag>& flags, std::size_t flag,
                            bool per_pe) {
  std::map<std::int64_t, Exits> by_lag;
  for (std::size_t c = 0; c < draft.program.classes.size(); ++c) {
    for (const auto& one : candidates(draft.program.classes[c], draft.program.grid.size(), flags,
                                      draft.flag_values[c], per_pe)) {
      if (one.flag != flag) continue;
      auto& exits = by_lag.try_emplace(one.lag, draft.program.classes.size()).first->second[c];
      if (std::ranges::find(exits, one.begin, &Candidate::begin) == exits.end()) exits.push_back(one);
    }
  }
  std::vector<Exits> result;
  for (auto& [lag, exits] : by_lag) result.push_back(std::move(exits));
  return result;
}

}  // namespace

program::Program add_exits(const Code& code, const std::vector<ExitFlag>& flags) {
  Code draft = code;
  // Loops have several flags where they have several exits: one serves, and a second does not fit. All PEs end together
  // where they can.
  const auto add = [&](std::size_t f, bool per_pe) {
    for (const Exits& exits : exits_of(draft, flags, f, per_pe)) {
      if (draft.program.exit_plans.size() == program::most_exit_plans) break;
      auto tried = with_exits({draft, exits}, flags[f], per_pe);
      if (!tried) continue;
      draft = *std::move(tried);
      return true;
    }
    return false;
  };
  for (std::size_t f = 0; f < flags.size(); ++f) {
    if (!add(f, false) && !flags[f].around.empty() && !draft.program.machine.control) add(f, true);
  }
  return std::move(draft.program);
}

}  // namespace cyclotron::codegen
