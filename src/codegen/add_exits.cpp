#include <cyclotron/codegen/add_exits.hpp>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
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

/// By class.
using Exits = std::vector<std::optional<Candidate>>;

bool is_constant(const std::vector<program::Bound>& bounds) {
  return std::ranges::all_of(bounds, [](const auto& bound) { return bound.numerator.coefficients.empty(); });
}

/// True where a loop runs, wherever it stands: its bounds are two constants.
bool surely_runs(const program::Loop& loop) {
  return loop.lower.size() == 1 && loop.upper.size() == 1 && is_constant(loop.lower) &&
         is_constant(loop.upper) && loop.lower[0].divisor == 1 && loop.upper[0].divisor == 1 &&
         loop.lower[0].numerator.constant <= loop.upper[0].numerator.constant;
}

/// The outermost loop around an instruction, and whether each of its iterations gets there.
struct EnclosingLoop {
  std::size_t begin;
  std::size_t end;
  bool surely;
};

std::optional<EnclosingLoop> enclosing_loop(const std::vector<Instruction>& code, std::size_t instruction) {
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < instruction; ++at) {
    const auto& action = code[at].action;
    if (std::holds_alternative<program::End>(action)) open.pop_back();
    if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action))
      open.push_back(at);
  }
  if (open.empty() || !std::holds_alternative<program::Loop>(code[open.front()].action)) return std::nullopt;
  EnclosingLoop result{open.front(), instruction, true};
  for (std::size_t n = 1; n < open.size(); ++n) {
    const auto* loop = std::get_if<program::Loop>(&code[open[n]].action);
    result.surely = result.surely && loop != nullptr && surely_runs(*loop);
  }
  for (std::size_t depth = open.size();; ++result.end) {
    const auto& action = code[result.end].action;
    if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action)) ++depth;
    if (std::holds_alternative<program::End>(action) && --depth == 0) return result;
  }
}

/// True where a form names only variables below this one.
bool is_below(const program::Affine& form, std::size_t variable) {
  return form.coefficients.size() <= variable;
}

/// The flags that slots hold at the ends of the class's outermost loops.
std::vector<Candidate> candidates(const program::PeClass& pe_class, std::size_t loop_variable,
                                  const std::vector<ExitFlag>& flags, const std::vector<FlagValue>& values) {
  std::map<std::pair<std::size_t, program::SlotId>, std::optional<Candidate>> last;  // By loop and slot.
  for (const FlagValue& value : values) {
    const auto loop = enclosing_loop(pe_class.code, value.instruction);
    if (!loop) continue;
    auto& found = last[{loop->begin, value.slot.slot}];
    found.reset();
    const auto& coefficients = value.element.coefficients;
    const bool counts =
        coefficients.size() == loop_variable + 1 && coefficients.back() == 1 &&
        std::all_of(coefficients.begin(), coefficients.end() - 1, [](auto c) { return c == 0; });
    const bool stays =
        is_below(value.slot.index, loop_variable + 1) && is_below(value.slot.wrap.form, loop_variable + 1);
    if (!counts || !stays || !loop->surely) continue;
    const std::int64_t lag = flags[value.flag].offset - value.element.constant;
    if (lag >= 0) found = Candidate{value.flag, lag, loop->begin, loop->end, value.slot};
  }
  std::vector<Candidate> result;
  for (auto& [place, candidate] : last) {
    if (candidate) result.push_back(std::move(*candidate));
  }
  return result;
}

/// An outermost loop in which a class sends or receives on a channel, once an iteration.
struct Use {
  std::size_t begin;
  std::size_t end;
  bool operator==(const Use&) const = default;
};

template <class Message>
bool is_on(const program::Action& action, std::size_t channel) {
  const auto* message = std::get_if<Message>(&action);
  return message != nullptr && message->channel.index() == channel;
}

/// Nothing where the class uses the channel in no loop; `regular` becomes false where it does so in another way.
template <class Message>
std::optional<Use> use_of(const std::vector<Instruction>& code, std::size_t channel, bool& regular) {
  std::optional<Use> found;
  std::vector<std::size_t> open;
  for (std::size_t at = 0; at < code.size(); ++at) {
    const auto& action = code[at].action;
    if (std::holds_alternative<program::End>(action)) {
      if (open.size() == 1 && found && found->begin == open.back()) found->end = at;
      open.pop_back();
    } else if (std::holds_alternative<program::Loop>(action) || std::holds_alternative<program::If>(action)) {
      open.push_back(at);
    } else if (is_on<Message>(action, channel) && !open.empty()) {
      regular = regular && !found && open.size() == 1 &&
                std::holds_alternative<program::Loop>(code[open.front()].action);
      found = Use{open.front(), at};
    }
  }
  return found;
}

/// Users of a link's channel in loops of one name, and the iterations in which all use it.
struct Users {
  std::vector<std::optional<Use>> senders, receivers;  // By class.
  std::int64_t first = std::numeric_limits<std::int64_t>::min();
  std::int64_t last = std::numeric_limits<std::int64_t>::max();
};

std::optional<Users> users_of(const program::Program& program, std::size_t channel) {
  if (program.channels[channel].kind != program::Channel::Kind::link) return std::nullopt;
  Users result;
  bool regular = true;
  std::optional<std::string> name;
  for (const auto& pe_class : program.classes) {
    result.senders.push_back(use_of<program::Send>(pe_class.code, channel, regular));
    result.receivers.push_back(use_of<program::Receive>(pe_class.code, channel, regular));
    for (const auto& use : {result.senders.back(), result.receivers.back()}) {
      if (!use || !regular) continue;
      const auto& own = std::get<program::Loop>(pe_class.code[use->begin].action);
      regular = surely_runs(own) && own.step == 1 && own.name == name.value_or(own.name);
      name = own.name;
      result.first = std::max(result.first, own.lower[0].numerator.constant);
      result.last = std::min(result.last, own.upper[0].numerator.constant);
    }
  }
  return regular && result.first <= result.last ? std::optional(std::move(result)) : std::nullopt;
}

void insert(Code& code, std::size_t pe_class, std::size_t at, program::Action action) {
  auto& instructions = code.program.classes[pe_class].code;
  instructions.insert(instructions.begin() + static_cast<std::ptrdiff_t>(at), {std::move(action), {}});
  for (FlagValue& value : code.flag_values[pe_class]) value.instruction += value.instruction >= at ? 1 : 0;
}

const program::Loop& loop_at(const Code& code, std::size_t pe_class, const Use& loop) {
  return std::get<program::Loop>(code.program.classes[pe_class].code[loop.begin].action);
}

/// Inserts at the end of an outermost loop, in the iterations in which all use it; returns the new end.
std::size_t insert_at_end(Code& code, std::size_t pe_class, const Use& loop, const Users& users,
                          program::Action action) {
  const auto& own = loop_at(code, pe_class, loop);
  program::Conjunction when;
  const auto add = [&](std::int64_t sign, std::int64_t constant) {
    program::Affine form{std::vector<std::int64_t>(code.program.grid.size() + 1, 0), constant};
    form.coefficients.back() = sign;
    when.push_back({program::Condition::Kind::non_negative, std::move(form), 0});
  };
  if (own.lower[0].numerator.constant < users.first) add(1, -users.first);
  if (own.upper[0].numerator.constant > users.last) add(-1, users.last);
  std::size_t end = loop.end;
  if (!when.empty()) insert(code, pe_class, end++, program::If{{when}});
  insert(code, pe_class, end++, std::move(action));
  if (!when.empty()) insert(code, pe_class, end++, program::End{});
  return end;
}

/// Sends the flag along with each message of a channel, from loops that end by it to loops that know of none, to end
/// those too. Returns false where it cannot.
bool forward_flag(Code& draft, std::size_t channel, Exits& exits) {
  program::Program& program = draft.program;
  const auto users = users_of(program, channel);
  if (!users) return false;
  bool needed = false;
  std::optional<Candidate> sent;
  std::string name;
  for (std::size_t c = 0; c < exits.size(); ++c) {
    if (const auto& use = users->senders[c]) {
      if (!exits[c] || exits[c]->end != use->end || users->receivers[c]) return false;
      sent = exits[c];
      name = program.classes[c].slots[sent->slot.slot.index()].name;
    }
    if (const auto& use = users->receivers[c]) {
      if (exits[c] && exits[c]->begin != use->begin) return false;
      needed = needed || !exits[c];
    }
  }
  if (!needed || !sent) return false;
  program::Channel flags = program.channels[channel];
  flags.dtype = program::DType::boolean;
  flags.tile = {};
  flags.name = name;
  const program::ChannelId id(program.channels.size());
  for (std::size_t c = 0; c < exits.size(); ++c) {
    auto& slots = program.classes[c].slots;
    if (const auto& use = users->senders[c]) {
      exits[c]->end = insert_at_end(draft, c, *use, *users, program::Send{id, exits[c]->slot});
    }
    if (const auto& use = users->receivers[c]) {
      const program::SlotRef slot{program::SlotId(slots.size()), {}};
      slots.push_back({.name = flags.name, .dtype = program::DType::boolean, .tile = {}});
      Use loop = *use;
      if (loop_at(draft, c, loop).lower[0].numerator.constant < users->first) {
        insert(draft, c, loop.begin,
               program::Move{slot, program::Constant{1}});  // it goes on until it hears of it
        ++loop.begin;
        ++loop.end;
      }
      const std::size_t end = insert_at_end(draft, c, loop, *users, program::Receive{id, slot, {}});
      if (!exits[c]) exits[c] = Candidate{sent->flag, sent->lag, loop.begin, end, slot};
      exits[c]->begin = loop.begin;
      exits[c]->end = end;
    }
  }
  program.channels.push_back(std::move(flags));
  return true;
}

/// The program with the EXITs of one flag, if iterations can be left out then.
std::optional<Code> with_exits(const Code& draft, const ExitFlag& flag, Exits exits) {
  Code result = draft;
  program::Program& program = result.program;
  for (std::size_t channel = 0; channel < program.channels.size();) {
    const bool more = std::ranges::any_of(exits, [](const auto& one) { return !one; });
    channel = more && forward_flag(result, channel, exits) ? 0 : channel + 1;
  }
  const program::ExitPlanId plan(program.exit_plans.size());
  program.exit_plans.push_back({.loop = flag.loop, .steps = flag.steps});
  for (std::size_t c = 0; c < exits.size(); ++c) {
    if (exits[c]) insert(result, c, exits[c]->end, program::Exit{plan, exits[c]->slot});
  }
  const auto widest = program::range_of(program, plan);
  if (!widest || widest->last - flag.settle <= widest->first) return std::nullopt;
  program.exit_plans.back() = *widest;
  program.exit_plans.back().last -= flag.settle;  // iterations that are run to see the last values
  return result;
}

/// The EXITs that classes may have by a flag, those of the same iteration together; the latest iteration first.
std::vector<Exits> exits_of(const Code& draft, const std::vector<ExitFlag>& flags, std::size_t flag) {
  std::map<std::int64_t, Exits> by_lag;
  for (std::size_t c = 0; c < draft.program.classes.size(); ++c) {
    for (const auto& one :
         candidates(draft.program.classes[c], draft.program.grid.size(), flags, draft.flag_values[c])) {
      if (one.flag != flag) continue;
      auto& exits = by_lag.try_emplace(one.lag, draft.program.classes.size()).first->second;
      if (!exits[c]) exits[c] = one;
    }
  }
  std::vector<Exits> result;
  for (auto& [lag, exits] : by_lag) result.push_back(std::move(exits));
  return result;
}

}  // namespace

program::Program add_exits(const Code& code, const std::vector<ExitFlag>& flags) {
  Code draft = code;
  // Loops have several flags where they have several exits: one serves, and a second does not fit.
  for (std::size_t f = 0; f < flags.size(); ++f) {
    for (const Exits& exits : exits_of(draft, flags, f)) {
      if (draft.program.exit_plans.size() == program::most_exit_plans) break;
      auto tried = with_exits(draft, flags[f], exits);
      if (!tried) continue;
      draft = *std::move(tried);
      break;
    }
  }
  return std::move(draft.program);
}

}  // namespace cyclotron::codegen
