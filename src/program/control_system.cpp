#include <cyclotron/program/control_system.hpp>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/sections.hpp>
#include <cyclotron/program/timing.hpp>

namespace cyclotron::program {
namespace {

constexpr std::int64_t merge_depth = 1000;  // words between merge PE and workers (MA-114)
// Of a section's number: the lengths and the addresses of its calls and of its arguments (MACH, Listing 4).
constexpr std::int64_t look_up_cycles = 4;
constexpr std::int64_t first_section = 1;  // number: a PE that hears of none has 0
constexpr std::size_t row_names = 2;       // coordinates before a loop's variable in an environment

Affine number(std::int64_t constant) { return {.coefficients = {}, .constant = constant}; }
Bound bound(std::int64_t constant) { return {.numerator = number(constant), .divisor = 1}; }
/// The variable of a loop that so many are around, plus a constant.
Affine variable(std::size_t loops, std::int64_t constant = 0) {
  Affine result{.coefficients = std::vector<std::int64_t>(row_names + loops + 1, 0), .constant = constant};
  result.coefficients.back() = 1;
  return result;
}
Condition is(std::size_t coordinate, std::int64_t value) {
  Affine form{.coefficients = std::vector<std::int64_t>(coordinate + 1, 0), .constant = -value};
  form.coefficients.back() = 1;
  return {.kind = Condition::Kind::zero, .form = std::move(form), .modulus = 0};
}

/// The words of a section that the control system sends: a word a call, and one an argument.
struct SectionWords {
  std::vector<std::int64_t> calls;
  std::vector<std::int64_t> arguments;
  std::vector<std::int64_t> ends;  ///< By call: of its arguments, in `arguments`.
  /// The number of arguments of so many calls, the first ones.
  [[nodiscard]] std::int64_t arguments_of(std::int64_t first_calls) const {
    return first_calls == 0 ? 0 : ends[std::size_t(first_calls - 1)];
  }
};

/// Its channels, by number.
enum class Way : std::uint8_t {
  flag_beside,
  flag_up,
  section,
  goes_on,
  calls_in,
  arguments_in,
  calls,
  arguments,
  reset
};
static_assert(std::size_t(Way::flag_beside) == 0 && std::size_t(Way::flag_up) == 1 &&
              std::size_t(Way::calls) == channel_of_calls &&
              std::size_t(Way::arguments) == channel_of_arguments);

/// The code of one PE, on its way.
class RoleCode {
 public:
  RoleCode(const std::string& name, std::int64_t row, std::int64_t column) : column_(column) {
    result_.name = name;
    result_.region = {{is(0, row), is(1, column)}};
    result_.region_text = fmt::format("{{ [row, column] : row = {} and column = {} }}", row, column);
  }

  SlotRef slot(const std::string& name, DType dtype, std::int64_t count = 1, bool persistent = false) {
    constexpr std::int64_t most_bytes = 8;  // of a word
    result_.slots.push_back({.name = name,
                             .dtype = dtype,
                             .tile = {},
                             .count = count,
                             .address = result_.memory_bytes,
                             .persistent = persistent});
    result_.memory_bytes += count * most_bytes;
    return {.slot = SlotId(result_.slots.size() - 1), .index = {}};
  }
  void add(Action action) { result_.code.push_back({std::move(action), {}}); }
  void open(const std::string& name, std::int64_t first, std::int64_t last) {
    add(Loop{.name = name, .lower = {bound(first)}, .upper = {bound(last)}, .step = 1});
    firsts_.push_back(first);
    iterations_.push_back(last - first + 1);
  }
  /// A condition: iterations [first, last] of the loop around.
  void open_if(std::int64_t first, std::int64_t last) {
    Affine below = variable(loops() - 1, -first), above = variable(loops() - 1, last);
    above.coefficients.back() = -1;
    const auto holds = [](Affine form) {
      return Condition{.kind = Condition::Kind::non_negative, .form = std::move(form), .modulus = 0};
    };
    add(If{{{holds(std::move(below)), holds(std::move(above))}}});
  }
  void close() {
    add(End{});
    firsts_.pop_back();
    iterations_.pop_back();
  }
  [[nodiscard]] std::size_t loops() const { return firsts_.size(); }

  void send(Way way, const SlotRef& source) {
    add(Send{.channel = ChannelId(std::size_t(way)), .source = source});
  }
  void receive(Way way, const SlotRef& to) {
    add(Receive{.channel = ChannelId(std::size_t(way)), .destination = to, .sender = {}});
  }
  /// Along the row.
  void receive(Way way, const SlotRef& to, std::int64_t sender) {
    add(Receive{.channel = ChannelId(std::size_t(way)), .destination = to, .sender = {number(sender)}});
  }
  void broadcast(Way way, const SlotRef& source, std::int64_t first, std::int64_t last) {
    if (first > last || (first == column_ && last == column_)) return;
    add(Broadcast{.channel = ChannelId(std::size_t(way)),
                  .source = source,
                  .lower = {bound(first)},
                  .upper = {bound(last)}});
  }
  /// Calls of_place(form) in a loop over places [first, end); without a loop of a single one.
  template <class OfPlace>
  void each(std::int64_t first, std::int64_t end, OfPlace of_place) {
    if (first >= end) return;
    if (first + 1 == end) return of_place(number(first));
    open("n", first, end - 1);
    of_place(variable(loops() - 1));
    close();
  }
  /// The flag of this iteration of the loops around, of an input.
  void load(TensorId tensor, const SlotRef& to) {
    std::vector<Affine> index;
    for (std::size_t l = 0; l < firsts_.size(); ++l) {
      Affine own = variable(l, -firsts_[l]);
      if (l == 0 || firsts_.size() - l < most_axes) {
        index.push_back(std::move(own));
        continue;
      }
      Affine& first = index.front();
      for (std::size_t n = 0; n < first.coefficients.size(); ++n)
        own.coefficients[n] = first.coefficients[n] * iterations_[l];
      own.constant += first.constant * iterations_[l];
      first = std::move(own);
    }
    add(Load{.destination = to, .tensor = tensor, .index = std::move(index)});
  }

  [[nodiscard]] PeClass take() { return std::move(result_); }

 private:
  std::int64_t column_;
  PeClass result_;
  std::vector<std::int64_t> firsts_, iterations_;  // Of the loops around.
};

class ControlBuilder {
 public:
  ControlBuilder(const Program& program, const std::vector<std::int64_t>& arguments)
      : of_(program),
        flow_(control_flow(program)),
        told_(arguments),
        computes_flags_(executive_of(program) != nullptr) {
    std::int64_t calls = 0, most_shares = 0;  // numbers are from 1, of arguments too
    for (const Section& section : flow_.sections) {
      most_shares = std::max<std::int64_t>(most_shares, std::ssize(section.calls));
      SectionWords words;
      for (const Call& call : section.calls) {
        words.calls.push_back(++calls);
        for (const std::string& name : call.arguments) words.arguments.push_back(tensor_of(name));
        words.ends.push_back(std::ssize(words.arguments));
      }
      words_.push_back(std::move(words));
    }
    // A worker takes a call's arguments before the next call, and the merge PE sends them after all calls of the share.
    const auto too_few = [&] {
      return table_bytes() > of_.machine.pe.memory_bytes - other_bytes ||
             longest(&SectionWords::calls) > merge_depth;
    };
    while (too_few() && responses_ < std::min(most_shares, most_responses())) ++responses_;
  }

  Program run(Workers workers) {
    make_machine();
    add_channels();
    std::vector<std::int64_t> shape;
    add_flags(flow_.program, shape);
    add_tables();
    result_.exit_plans = of_.exit_plans;
    add_executive();
    for (std::int64_t r = 0; r < responses_; ++r) add_response(r);
    add_merge();
    add_worker();
    if (workers == Workers::outside) result_.classes.back().code.clear();
    add_beside();
    if (workers == Workers::outside && computes_flags_) result_.classes.back().code.clear();
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t other_bytes = 64;  // of a response PE: its words and numbers

  [[nodiscard]] std::int64_t tensor_of(const std::string& name) const {
    const auto found = std::ranges::find(of_.tensors, name, &Tensor::name) - of_.tensors.begin();
    return told_.empty() ? found + 1 : told_[std::size_t(found)];
  }
  [[nodiscard]] std::int64_t most_responses() const { return control().pes - 2; }
  [[nodiscard]] machine::Control control() const { return of_.machine.control.value_or(machine::Control{}); }
  [[nodiscard]] std::int64_t merge_column() const { return (responses_ + 1) / 2; }
  [[nodiscard]] std::int64_t executive_column() const { return merge_column() + 1; }
  /// Of a response PE: from the middle outwards, left and right in turn.
  [[nodiscard]] std::int64_t column_of(std::int64_t response) const {
    return response % 2 == 0 ? merge_column() - 1 - response / 2 : executive_column() + 1 + response / 2;
  }
  using Kind = std::vector<std::int64_t> SectionWords::*;
  /// The words [first, second) of a section that a response PE has: of its calls, as evenly as can be; of the arguments those
  /// of its calls.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> share(const SectionWords& words, Kind kind,
                                                            std::int64_t response) const {
    const std::int64_t count = std::ssize(words.calls), each = count / responses_, more = count % responses_;
    const std::int64_t first = response * each + std::min(response, more);
    const std::int64_t end = first + each + (response < more ? 1 : 0);
    if (kind == &SectionWords::calls) return {first, end};
    return {words.arguments_of(first), words.arguments_of(end)};
  }
  /// The response PEs that have a share of a section, the first ones.
  [[nodiscard]] std::int64_t holders(std::size_t section) const {
    return std::min<std::int64_t>(responses_, std::ssize(words_[section].calls));
  }
  /// The outermost response PE with a share of a section, on the side of another one that has a share.
  [[nodiscard]] std::int64_t outermost(std::size_t section, std::int64_t response) const {
    const std::int64_t last = holders(section) - 1;
    return last - (last - response) % 2;
  }
  /// The longest share of a section's words.
  [[nodiscard]] std::int64_t longest(Kind kind) const {
    std::int64_t result = 0;
    for (const SectionWords& words : words_) {
      for (std::int64_t r = 0; r < responses_; ++r) {
        const auto [first, end] = share(words, kind, r);
        result = std::max(result, end - first);
      }
    }
    return result;
  }
  [[nodiscard]] std::int64_t table_bytes() const {
    return 8 * std::int64_t(words_.size()) *
           (longest(&SectionWords::calls) + longest(&SectionWords::arguments));
  }

  void make_machine() {
    const machine::Control control = this->control();
    const machine::Link hop{.latency_cycles = control.hop_cycles};
    result_.kernel = of_.kernel + "_control";
    result_.grid = {2, responses_ + 2};
    result_.grid_names = {"row", "column"};
    result_.machine = {.grid = result_.grid, .link = hop, .broadcast = hop, .pe = {}};
    result_.machine.spread = machine::Spread::distance;
    result_.machine.pe.memory_bytes = of_.machine.pe.memory_bytes;
    result_.machine.pe.holds = of_.machine.pe.holds;
    std::erase(result_.machine.pe.holds,
               machine::held_tensors);  // tables are in slots, and the rest in workers
    result_.machine.pe.cycles = {{"copy", look_up_cycles - address_cycles}, {"add", control.setup_cycles}};
    machine::Link up = hop;
    if (computes_flags_) up.latency_cycles = 0;  // they are there
    up.latency_cycles += control.latency_cycles;
    result_.machine.links = {{{-1, 0}, up}};
  }

  void add_channels() {
    const auto link = [&](const char* name, DType dtype, std::vector<std::int64_t> offset,
                          std::int64_t depth) {
      result_.channels.push_back(
          {.name = name, .dtype = dtype, .tile = {}, .offset = std::move(offset), .depth = depth});
    };
    const auto network = [&](const char* name, DType dtype) {
      result_.channels.push_back({.name = name,
                                  .kind = Channel::Kind::network,
                                  .dtype = dtype,
                                  .tile = {},
                                  .offset = {},
                                  .axis = 1});
    };
    link("flag beside", DType::boolean, {0, 1}, 0);
    link("flag up", DType::boolean, {-1, 0}, 0);
    network("section", DType::int64);
    network("goes on", DType::boolean);
    network("calls in", DType::int64);
    network("arguments in", DType::int64);
    link("calls", DType::int64, {1, 0}, merge_depth);
    link("arguments", DType::int64, {1, 0}, merge_depth);
    if (responses_ > 2) network("reset", DType::int64);
  }

  TensorId add_tensor(const std::string& name, DType dtype, Role role, std::vector<std::int64_t> shape) {
    std::vector<std::int64_t> tile(shape.size(), 1);
    result_.tensors.push_back(
        {.name = name, .dtype = dtype, .role = role, .shape = std::move(shape), .tile = std::move(tile)});
    return TensorId(result_.tensors.size() - 1);
  }

  /// An input for each loop that ends by data: whether it goes on, by iterations of the loops around and its own; the
  /// outermost of them, if they are more than a tensor's axes, are the first axis together.
  void add_flags(const ControlBlock& block, std::vector<std::int64_t>& shape) {
    for (const ControlLoop& loop : block.loops) {
      shape.push_back(std::max<std::int64_t>(0, loop.last - loop.first + 1));
      add_flags(loop.body, shape);
      if (loop.plan) {
        const std::string name = fmt::format("goes_on_{}", flags_.size());
        std::vector<std::int64_t> axes = shape;
        for (; axes.size() > most_axes; axes.erase(axes.begin())) axes[1] *= axes[0];
        flags_.push_back(add_tensor(name, DType::boolean, Role::input, std::move(axes)));
      }
      shape.pop_back();
    }
  }

  void add_tables() {
    calls_ = add_table("calls", &SectionWords::calls);
    arguments_ = add_table("arguments", &SectionWords::arguments);
  }
  /// The words by response PE, section and place in the share.
  TensorId add_table(const std::string& name, Kind kind) {
    const std::int64_t most = longest(kind), sections = std::ssize(words_);
    const TensorId id = add_tensor(name, DType::int64, Role::constant, {responses_, sections * most});
    std::vector<std::int64_t> values(std::size_t(responses_ * sections * most));
    for (std::int64_t r = 0; r < responses_; ++r) {
      for (std::int64_t s = 0; s < sections; ++s) {
        const auto& words = words_[std::size_t(s)].*kind;
        const auto [first, end] = share(words_[std::size_t(s)], kind, r);
        std::copy(words.begin() + first, words.begin() + end, values.begin() + (r * sections + s) * most);
      }
    }
    auto& bytes = result_.tensors[id.index()].values;
    bytes.resize(values.size() * sizeof(std::int64_t));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return id;
  }

  static const ControlLoop& first_to_end(const ControlBlock& block) {
    const ControlLoop& first = block.loops.front();
    return first.body.loops.empty() ? first : first_to_end(first.body);
  }

  /// The loops and sections of the program, with a PE's part of them: of a section that has calls, and of the end of each
  /// iteration in which a loop may end by data; that writes the flag.
  template <class OfSection, class Decide>
  void walk(RoleCode& role, const ControlBlock& block, const SlotRef& flag, OfSection of_section,
            Decide decide, std::size_t& loops) const {
    for (std::size_t n = 0; n < block.sections.size(); ++n) {
      if (!words_[block.sections[n]].calls.empty()) of_section(block.sections[n]);
      if (n == block.loops.size()) continue;
      const ControlLoop& loop = block.loops[n];
      role.open(loop.name, loop.first, loop.last);
      walk(role, loop.body, flag, of_section, decide, loops);
      if (loop.plan) {
        const ExitPlan& plan = of_.exit_plans[loop.plan->index()];
        const bool always = plan.first <= loop.first && plan.last >= loop.last;
        if (!always) role.open_if(plan.first, plan.last);
        decide(flags_[loops++]);
        if (!always) role.add(End{});
        role.add(Exit{.plan = *loop.plan, .runs = flag});
      }
      role.close();
    }
  }
  template <class OfSection, class Decide>
  void walk(RoleCode& role, const SlotRef& flag, OfSection of_section, Decide decide) const {
    const ControlLoop& loop = first_to_end(flow_.program);
    if (loop.plan &&
        loop.first < of_.exit_plans[loop.plan->index()].first)  // it reads the flag before there is one
      role.add(Move{.destination = flag, .source = Constant::of(std::int64_t{1})});
    std::size_t loops = 0;
    walk(role, flow_.program, flag, of_section, decide, loops);
  }

  /// MA-022, MA-026: control flow and numbers of sections.
  void add_executive() {
    const std::int64_t own = executive_column(), last = result_.grid[1] - 1;
    RoleCode role("executive", 0, own);
    const SlotRef section = role.slot("section", DType::int64), flag = role.slot("flag", DType::boolean);
    walk(
        role, flag,
        [&](std::size_t s) {
          role.add(Move{.destination = section, .source = Constant::of(std::int64_t(s) + first_section)});
          const std::int64_t most = holders(s) - 1;  // of response PEs: the one farthest out on each side
          role.broadcast(Way::section, section, column_of(most - most % 2), merge_column() - 1);
          if (most > 0) role.broadcast(Way::section, section, own + 1, column_of(most - (most + 1) % 2));
        },
        [&](TensorId) {
          role.receive(Way::flag_up, flag);
          role.broadcast(Way::goes_on, flag, 0, last);
        });
    result_.classes.push_back(role.take());
  }

  /// MA-024, MA-111: the share of the section whose number it hears.
  void add_response(std::int64_t number_of) {
    RoleCode role(fmt::format("response {}", number_of), 0, column_of(number_of));
    const SlotRef section = role.slot("section", DType::int64), word = role.slot("word", DType::int64);
    const SlotRef goes_on = role.slot("goes_on", DType::boolean);
    const SlotRef calls = add_own_table(role, number_of, calls_, &SectionWords::calls);
    const SlotRef arguments = add_own_table(role, number_of, arguments_, &SectionWords::arguments);
    walk(
        role, goes_on,
        [&](std::size_t s) {
          if (number_of >= holders(s)) return;
          role.receive(Way::section, section, executive_column());
          LookUp look_up{section, word};
          send_share(role, number_of, s, &SectionWords::calls, calls, Way::calls_in, look_up);
          send_share(role, number_of, s, &SectionWords::arguments, arguments, Way::arguments_in, look_up);
          end_turn(role, number_of, s, look_up);
        },
        [&](TensorId) { role.receive(Way::goes_on, goes_on, executive_column()); });
    result_.classes.push_back(role.take());
  }

  SlotRef add_own_table(RoleCode& role, std::int64_t number_of, TensorId table, Kind kind) const {
    const auto has_words = [&](const SectionWords& section) {
      const auto [first, end] = share(section, kind, number_of);
      return first < end;
    };
    if (std::ranges::none_of(words_, has_words)) return {};
    const std::int64_t words = std::ssize(words_) * longest(kind);
    const SlotRef slot = role.slot(result_.tensors[table.index()].name, DType::int64, words, true);
    role.each(0, words, [&](const Affine& place) {
      SlotRef element = slot;
      element.index = place;
      role.add(Load{.destination = element, .tensor = table, .index = {number(number_of), place}});
    });
    return slot;
  }

  /// The section's number leads to the first word of its share, and the others follow that.
  struct LookUp {
    SlotRef section, word;
    bool done = false;
  };
  void send_share(RoleCode& role, std::int64_t number_of, std::size_t section, Kind kind,
                  const SlotRef& table, Way way, LookUp& look_up) const {
    const auto [first, end] = share(words_[section], kind, number_of);
    const std::int64_t words = end - first, most = longest(kind);
    const bool looks_up = words > 0 && !std::exchange(look_up.done, look_up.done || words > 0);
    if (looks_up) {
      role.add(Compute{.op = Op::copy,
                       .operands = {table},
                       .destination = look_up.word,
                       .indexed = Indexed{.number = look_up.section,
                                          .lower = number(first_section),
                                          .upper = number(std::ssize(words_) - 1 + first_section),
                                          .stride = most,
                                          .neutral = {}}});
      role.broadcast(way, look_up.word, merge_column(), merge_column());
    }
    role.each(looks_up ? 1 : 0, words, [&](const Affine& place) {
      SlotRef element = table;
      element.index = place;
      element.index.constant += static_cast<std::int64_t>(section) * most;
      role.broadcast(way, element, merge_column(), merge_column());
    });
  }

  /// MA-029: a wavelet after each share, of which only that it comes counts, turns the merge PE's router to the other side and
  /// lets the share of the next PE on this one through. Those farther in send again when the outermost one is done.
  void end_turn(RoleCode& role, std::int64_t number_of, std::size_t section, const LookUp& wavelet) const {
    for (const Way way : {Way::calls_in, Way::arguments_in})
      role.broadcast(way, wavelet.section, merge_column(), merge_column());
    const std::int64_t last = outermost(section, number_of), own = column_of(number_of);
    if (number_of < last) return role.receive(Way::reset, wavelet.word, column_of(last));
    if (number_of < 2) return;  // the only one on its side
    const bool is_left = own < merge_column();
    role.broadcast(Way::reset, wavelet.section, is_left ? own + 1 : executive_column() + 1,
                   is_left ? merge_column() - 1 : own - 1);
  }

  /// MA-027, MA-028: the shares in order, from both sides in turn.
  void add_merge() {
    RoleCode role("merge", 0, merge_column());
    const SlotRef word = role.slot("word", DType::int64), goes_on = role.slot("goes_on", DType::boolean);
    if (machine::holds(result_.machine.pe, machine::held_queues)) {  // MA-114: Listing 6, line 8
      for (const char* name : {"calls", "arguments"}) role.slot(name, DType::int64, merge_depth, true);
    }
    walk(
        role, goes_on,
        [&](std::size_t s) {
          for (std::int64_t r = 0; r < responses_; ++r) {
            pass_on(role, r, share(words_[s], &SectionWords::calls, r), word, Way::calls_in, Way::calls);
            pass_on(role, r, share(words_[s], &SectionWords::arguments, r), word, Way::arguments_in,
                    Way::arguments);
            if (r >= holders(s)) continue;
            for (const Way way : {Way::calls_in, Way::arguments_in}) role.receive(way, word, column_of(r));
          }
        },
        [&](TensorId) { role.receive(Way::goes_on, goes_on, executive_column()); });
    result_.classes.push_back(role.take());
  }

  void pass_on(RoleCode& role, std::int64_t response, std::pair<std::int64_t, std::int64_t> words,
               const SlotRef& word, Way in, Way out) const {
    role.each(words.first, words.second, [&](const Affine&) {
      role.receive(in, word, column_of(response));
      role.send(out, word);
    });
  }

  /// The PE of the field that is next to the merge PE: it takes each call and its arguments, sets it up, and then tells the
  /// flag. At the end it stores what it was sent.
  void add_worker() {
    RoleCode role("worker", 1, merge_column());
    const SlotRef flag = role.slot("flag", DType::boolean), call = role.slot("call", DType::int64);
    std::vector<std::pair<SlotRef, SlotRef>> taken;
    for (std::size_t s = 0; s < words_.size(); ++s) {
      const auto slot = [&](const char* kind, std::size_t count) {
        return count == 0 ? SlotRef{}
                          : role.slot(fmt::format("{}_{}", kind, s), DType::int64, std::int64_t(count));
      };
      const SlotRef calls = slot("calls", words_[s].calls.size());
      taken.emplace_back(calls, slot("arguments", words_[s].arguments.size()));
    }
    walk(
        role, flag,
        [&](std::size_t s) {
          auto [number, argument] = taken[s];
          for (std::int64_t n = 0; n < std::ssize(words_[s].calls); ++n) {
            number.index.constant = n;
            role.receive(Way::calls, number);
            role.each(words_[s].arguments_of(n), words_[s].arguments_of(n + 1), [&](const Affine& place) {
              argument.index = place;
              role.receive(Way::arguments, argument);
            });
            role.add(Compute{.op = Op::add, .operands = {number, Constant{}}, .destination = call});
          }
        },
        [&](TensorId tensor) {
          role.load(tensor, flag);
          if (!computes_flags_) role.send(Way::flag_beside, flag);
        });
    for (std::size_t s = 0; s < words_.size(); ++s) {
      store(role, words_[s].calls.size(), taken[s].first, fmt::format("calls_{}", s));
      store(role, words_[s].arguments.size(), taken[s].second, fmt::format("arguments_{}", s));
    }
    result_.classes.push_back(role.take());
  }

  void store(RoleCode& role, std::size_t words, SlotRef from, const std::string& name) {
    if (words == 0) return;
    const auto count = static_cast<std::int64_t>(words);
    const TensorId to = add_tensor(name, DType::int64, Role::output, {count});
    role.each(0, count, [&](const Affine& place) {
      from.index = place;
      role.add(Store{.tensor = to, .index = {place}, .source = from});
    });
  }

  /// Next to the worker: what passes its flags on; or, of a program whose executive computes them, what has them there.
  void add_beside() {
    RoleCode role(computes_flags_ ? "global data" : "relay", 1, executive_column());
    const SlotRef flag = role.slot("flag", DType::boolean);
    walk(
        role, flag, [](std::size_t) {},
        [&](TensorId tensor) {
          if (computes_flags_)
            role.load(tensor, flag);
          else
            role.receive(Way::flag_beside, flag);
          role.send(Way::flag_up, flag);
        });
    result_.classes.push_back(role.take());
  }

  const Program& of_;
  ControlFlow flow_;
  std::vector<SectionWords> words_;        // By section.
  const std::vector<std::int64_t>& told_;  // Of each tensor.
  bool computes_flags_;                    // The executive, of global data.
  std::int64_t responses_ = 2;
  std::vector<TensorId> flags_;  // Of the loops that end by data, in the order of their ends.
  TensorId calls_, arguments_;
  Program result_;
};

}  // namespace

std::size_t channel_of_flags(const Program& program) {
  return std::size_t(executive_of(program) != nullptr ? Way::flag_up : Way::flag_beside);
}

Program control_system(const Program& program, Workers workers, const std::vector<std::int64_t>& arguments) {
  return ControlBuilder(program, arguments).run(workers);
}

}  // namespace cyclotron::program
