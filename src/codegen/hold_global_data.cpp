#include <cyclotron/codegen/hold_global_data.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/uses.hpp>

#include "least_cut.hpp"
#include "to_program.hpp"
#include "visit_forms.hpp"

namespace cyclotron::codegen {

namespace {

using program::Action;
using program::Affine;
using program::Channel;
using program::ChannelId;
using program::Compute;
using program::Condition;
using program::Conjunction;
using program::DType;
using program::End;
using program::Exit;
using program::If;
using program::Instruction;
using program::Load;
using program::Loop;
using program::Move;
using program::Op;
using program::PeClass;
using program::Program;
using program::Receive;
using program::Send;
using program::Slot;
using program::SlotId;
using program::SlotRef;
using program::Store;
using program::TensorId;
using program::Uses;
using Instructions = std::vector<Instruction>;
using Places = std::set<std::size_t>;  ///< Instructions of a class.

std::size_t block_end(const Instructions& code, std::size_t begin) {
  std::size_t depth = 0;
  for (std::size_t at = begin;; ++at) {
    if (program::opens(code[at].action)) ++depth;
    if (std::holds_alternative<End>(code[at].action) && --depth == 0) return at;
  }
}

bool is_block(const Action& action) { return program::opens(action) || std::holds_alternative<End>(action); }

/// A value that stays where it is.
bool is_in_place(const Action& action) {
  const auto* move = std::get_if<Move>(&action);
  const auto* source = move == nullptr ? nullptr : std::get_if<SlotRef>(&move->source);
  return source != nullptr && *source == move->destination;
}

const SlotRef* destination(const Action& action) {
  if (const auto* compute = std::get_if<Compute>(&action)) return &compute->destination;
  if (const auto* move = std::get_if<Move>(&action)) return &move->destination;
  if (const auto* load = std::get_if<Load>(&action)) return &load->destination;
  if (const auto* receive = std::get_if<Receive>(&action)) return &receive->destination;
  return nullptr;
}

bool is_scalar(const PeClass& pe_class, const SlotRef& ref) {
  const Slot& slot = pe_class.slots[ref.slot.index()];
  return slot.count == 1 && slot.tile == operators::Shape{} && !slot.persistent;
}

/// A copy of a scalar, or of a number, which takes no time: it may be on both sides.
bool is_copy(const PeClass& pe_class, const Action& action) {
  const auto* move = std::get_if<Move>(&action);
  if (move == nullptr || is_in_place(action) || !is_scalar(pe_class, move->destination)) return false;
  const auto* source = std::get_if<SlotRef>(&move->source);
  return source == nullptr || is_scalar(pe_class, *source);
}

/// The instructions that read what an instruction writes, and those that wrote what it reads, through copies; of a copy, those
/// that read it or copies of it.
class DataFlow {
 public:
  explicit DataFlow(const PeClass& pe_class)
      : class_(pe_class), readers(pe_class.code.size()), writers(pe_class.code.size()) {
    State state(pe_class.slots.size());
    walk(0, pe_class.code.size(), state);
    for (std::vector<Places>* all : {&readers, &writers}) {
      const std::vector<Places> direct = *all;
      for (Places& one : *all) one = through_copies(direct, one);
    }
  }

 private:
  using State = std::vector<Places>;  // By slot: who may have written it last.

  [[nodiscard]] Places through_copies(const std::vector<Places>& direct, const Places& from) const {
    Places result, seen = from;
    std::vector<std::size_t> next(from.begin(), from.end());
    while (!next.empty()) {
      const std::size_t at = next.back();
      next.pop_back();
      if (!is_copy(class_, class_.code[at].action)) {
        result.insert(at);
        continue;
      }
      for (const std::size_t other : direct[at]) {
        if (seen.insert(other).second) next.push_back(other);
      }
    }
    return result;
  }

  static void merge(State& into, const State& from) {
    for (std::size_t s = 0; s < into.size(); ++s) into[s].insert(from[s].begin(), from[s].end());
  }

  void walk(std::size_t at, std::size_t end, State& state) {
    for (; at < end; ++at) {
      look(at, state);
      if (!program::opens(class_.code[at].action)) continue;
      const std::size_t past = block_end(class_.code, at);
      State before;
      do {
        before = state;
        State inside = state;
        walk(at + 1, past, inside);
        merge(state, inside);
      } while (state != before);
      at = past;
    }
  }
  void look(std::size_t at, State& state) {
    const Action& action = class_.code[at].action;
    if (is_in_place(action)) return;
    const Uses uses = program::uses_of(action);
    for (const std::size_t slot : uses.read) {
      for (const std::size_t writer : state[slot]) {
        readers[writer].insert(at);
        writers[at].insert(writer);
      }
    }
    for (const std::size_t slot : uses.written) {
      if (class_.slots[slot].count == 1) state[slot].clear();
      state[slot].insert(at);
    }
  }

  const PeClass& class_;

 public:
  std::vector<Places> readers, writers;  ///< By instruction.
};

/// The instructions of a class that go to the executive.
class GlobalCode {
 public:
  GlobalCode(const Program& program, std::size_t pe_class)
      : program_(program), number_(pe_class), class_(program.classes[pe_class]), flow_(class_) {
    for (std::size_t at = 0; at < class_.code.size(); ++at) {
      depths_.push_back(depth_);
      if (program::opens(class_.code[at].action)) ++depth_;
      if (std::holds_alternative<End>(class_.code[at].action)) --depth_;
    }
  }

  /// Empty where it computes no flag.
  Places run() {
    find_flags();
    if (flags_.empty()) return {};
    drop_others();
    keep_what_flags_need();
    cut();
    add_stores();
    return std::move(global_);
  }
  [[nodiscard]] const DataFlow& flow() const { return flow_; }

 private:
  [[nodiscard]] const Action& action(std::size_t at) const { return class_.code[at].action; }

  [[nodiscard]] bool is_scalar(const SlotRef& ref) const { return codegen::is_scalar(class_, ref); }
  /// Tells whether an instruction could be on the executive by itself.
  [[nodiscard]] bool is_movable(std::size_t at) const {
    if (std::holds_alternative<Move>(action(at)) || std::holds_alternative<Receive>(action(at))) return false;
    const auto is_word = [&](std::size_t slot) { return class_.slots[slot].tile == operators::Shape{}; };
    if (!std::ranges::all_of(program::uses_of(action(at)).read, is_word)) return false;
    if (const auto* store = std::get_if<Store>(&action(at))) return is_scalar(store->source);
    if (const auto* load = std::get_if<Load>(&action(at)); load != nullptr && !is_own(load->tensor))
      return false;
    const SlotRef* to = destination(action(at));
    return to != nullptr && is_scalar(*to);
  }
  /// Of a tensor that no other class loads.
  [[nodiscard]] bool is_own(TensorId tensor) const {
    for (std::size_t c = 0; c < program_.classes.size(); ++c) {
      if (c != number_ && std::ranges::any_of(program_.classes[c].code, [&](const Instruction& other) {
            const auto* load = std::get_if<Load>(&other.action);
            return load != nullptr && load->tensor == tensor;
          }))
        return false;
    }
    return true;
  }

  /// Finds flags: the values that EXITs decide by, and the truth values that this is made of, flags of iterations before among them; and of those
  /// after them, what is written to the same places.
  void find_flags() {
    std::vector<std::size_t> next;
    const auto add = [&](std::size_t writer) {
      const SlotRef* to = destination(action(writer));
      const bool is_truth = class_.slots[to->slot.index()].dtype == DType::boolean;
      if (is_truth && is_movable(writer) && flags_.insert(writer).second) next.push_back(writer);
    };
    for (std::size_t at = 0; at < class_.code.size(); ++at) {
      if (std::holds_alternative<Exit>(action(at))) std::ranges::for_each(flow_.writers[at], add);
    }
    while (!next.empty()) {
      const std::size_t at = next.back();
      const SlotId slot = destination(action(at))->slot;
      next.pop_back();
      std::ranges::for_each(flow_.writers[at], add);
      for (std::size_t other = 0; other < class_.code.size(); ++other) {
        const SlotRef* to = destination(action(other));
        if (to != nullptr && to->slot == slot) add(other);
      }
    }
  }

  /// Leaves what only it reads, but for flags, which may go back.
  void drop_others() {
    for (std::size_t at = 0; at < class_.code.size(); ++at) {
      if (is_movable(at)) global_.insert(at);
    }
    drop_read_elsewhere();
  }
  void drop_read_elsewhere() {
    const auto is_read_elsewhere = [&](std::size_t at) {
      return !flags_.contains(at) && std::ranges::any_of(flow_.readers[at], [&](std::size_t reader) {
        return !global_.contains(reader) && !std::holds_alternative<Exit>(action(reader));
      });
    };
    while (std::erase_if(global_, is_read_elsewhere) > 0) {
    }
  }

  void keep_what_flags_need() {
    all_ = global_;
    std::vector<std::size_t> next(flags_.begin(), flags_.end());
    Places needed = flags_;
    while (!next.empty()) {
      const std::size_t at = next.back();
      next.pop_back();
      for (const std::size_t writer : flow_.writers[at]) {
        if (global_.contains(writer) && needed.insert(writer).second) next.push_back(writer);
      }
    }
    global_ = std::move(needed);
  }

  void cut() {
    constexpr std::int64_t of_a_loop = 16;  // iterations, about
    LeastCut least(class_.code.size());
    Places sources;
    for (const std::size_t at : global_) {
      std::int64_t weight = 1;
      for (std::size_t n = 0; n < std::min<std::size_t>(depths_[at], 8); ++n) weight *= of_a_loop;
      least.passes(at, flags_.contains(at) ? LeastCut::never : weight);
      if (flags_.contains(at)) least.ends_at(at);
      for (const std::size_t writer : flow_.writers[at]) {
        least.reads(writer, at);
        if (!global_.contains(writer)) sources.insert(writer);
      }
    }
    for (const std::size_t at : sources) {
      std::int64_t weight = 1;
      for (std::size_t n = 0; n < std::min<std::size_t>(depths_[at], 8); ++n) weight *= of_a_loop;
      least.begins_at(at);
      least.passes(at, weight);
    }
    for (const std::size_t at : least.before()) {
      if (!flags_.contains(at)) global_.erase(at);
    }
    drop_read_elsewhere();
  }

  /// Results that are computed of what is there anyway.
  void add_stores() {
    Places there;  // what the executive is sent
    for (const std::size_t at : global_) there.insert(flow_.writers[at].begin(), flow_.writers[at].end());
    Places wanted = all_;
    for (const std::size_t at : global_) wanted.erase(at);
    const auto lacks = [&](std::size_t at) {
      const auto is_there = [&](std::size_t writer) {
        return there.contains(writer) || global_.contains(writer) || wanted.contains(writer);
      };
      const auto is_read = [&](std::size_t reader) {
        return global_.contains(reader) || wanted.contains(reader);
      };
      return !std::ranges::all_of(flow_.writers[at], is_there) ||
             !std::ranges::all_of(flow_.readers[at], is_read);
    };
    while (std::erase_if(wanted, lacks) > 0) {
    }
    // Of these, those that lead to a store and are made of a value that is global or sent.
    const auto is_of = [&](std::size_t at) {
      return std::ranges::any_of(flow_.writers[at], [&](std::size_t writer) {
        return there.contains(writer) || global_.contains(writer);
      });
    };
    for (bool more = true; more;) {
      more = false;
      for (const std::size_t at : Places(wanted)) {
        if (!is_of(at)) continue;
        more = true;
        wanted.erase(at);
        global_.insert(at);
      }
    }
    for (bool more = true; more;) {  // and what these read besides
      more = false;
      for (const std::size_t at : Places(wanted)) {
        const bool is_read = std::ranges::any_of(
            flow_.readers[at], [&](std::size_t reader) { return global_.contains(reader); });
        if (!is_read) continue;
        more = true;
        wanted.erase(at);
        global_.insert(at);
      }
    }
  }

  const Program& program_;
  std::size_t number_;
  const PeClass& class_;
  DataFlow flow_;
  std::vector<std::size_t> depths_;  // By instruction: blocks around.
  std::size_t depth_ = 0;
  Places flags_, all_, global_;
};

/// Both parts of a class.
class Division {
 public:
  Division(Program program, std::size_t pe_class, std::vector<std::int64_t> place)
      : result_(std::move(program)), number_(pe_class), place_(std::move(place)) {}

  Program run(const Places& global, const DataFlow& flow) {
    ++result_.grid.front();
    result_.machine.grid = result_.grid;
    for (std::size_t c = 0; c < result_.classes.size(); ++c) leave_row(result_.classes[c]);
    PeClass& executive = result_.classes.emplace_back();
    executive.name = "executive";
    executive.executive = true;
    const std::vector<std::int64_t> own = program::executive_place(result_);
    executive.region = program::executive_region(result_);
    for (std::size_t d = 0; d < own.size(); ++d)
      executive.region_text += fmt::format("{}{} = {}", d > 0 ? " and " : "", result_.grid_names[d], own[d]);
    divide(global, flow);
    result_.classes.back().code = without_empty(std::move(executive_));
    delay_receives();
    result_.classes[number_].code = std::move(worker_);
    program::time_executive(result_);
    return std::move(result_);
  }

 private:
  /// The last row along the first dimension is the executive's.
  void leave_row(PeClass& pe_class) const {
    const std::int64_t last = result_.grid.front() - 2;
    bool changes = false;
    for (Conjunction& all : pe_class.region) {
      const auto ends_before = [&](const Condition& one) {
        const auto& by = one.form.coefficients;
        if (by.empty() || std::any_of(by.begin() + 1, by.end(), [](auto c) { return c != 0; })) return false;
        const std::int64_t there = by.front() * (last + 1) + one.form.constant;
        if (one.kind == Condition::Kind::zero) return there != 0;
        return one.kind == Condition::Kind::non_negative && there < 0;
      };
      if (std::ranges::any_of(all, ends_before)) continue;
      all.push_back({.kind = Condition::Kind::non_negative,
                     .form = {.coefficients = {-1}, .constant = last},
                     .modulus = 0});
      changes = true;
    }
    if (!changes) return;
    const auto region = to_set(poly::Context(), result_.grid.size(), pe_class.region);
    pe_class.region_text = region.coalesce().constraints_text(result_.grid_names);
  }

  void divide(const Places& global, const DataFlow& flow) {
    const PeClass given = result_.classes[number_];
    slots_.resize(given.slots.size());
    for (std::size_t at = 0; at < given.code.size(); ++at) {
      const Instruction& one = given.code[at];
      if (is_block(one.action) || std::holds_alternative<Exit>(one.action)) {
        worker_.push_back(one);
        add(given, one);
        continue;
      }
      const auto exits = [&](std::size_t reader) {
        return std::holds_alternative<Exit>(given.code[reader].action);
      };
      const auto is_read_there = [&](std::size_t reader) { return exits(reader) || global.contains(reader); };
      const auto is_read_here = [&](std::size_t reader) { return exits(reader) || !global.contains(reader); };
      const Places& readers = flow.readers[at];
      if (is_copy(given, one.action)) {
        if (std::ranges::any_of(readers, is_read_there)) add(given, one);
        if (std::ranges::any_of(readers, is_read_here)) worker_.push_back(one);
        continue;
      }
      const bool is_global = global.contains(at);
      if (is_global)
        add(given, one);
      else
        worker_.push_back(one);
      const bool crosses = is_global ? std::ranges::any_of(readers, is_read_here)
                                     : std::ranges::any_of(readers, is_read_there);
      if (!crosses) continue;
      const SlotRef& value = *destination(one.action);
      const ChannelId channel = channel_of(given.slots[value.slot.index()].dtype, is_global);
      const Instruction send{Send{.channel = channel, .source = value}, one.span};
      const Instruction receive{Receive{.channel = channel, .destination = value, .sender = {}}, one.span};
      add(given, is_global ? send : receive);
      worker_.push_back(is_global ? receive : send);
    }
  }

  /// Has the PE go on without what it receives from the executive, in the same order, until it reads that.
  void delay_receives() {
    const auto is_own = [&](ChannelId channel) { return result_.channels[channel.index()].link.has_value(); };
    for (std::size_t at = worker_.size(); at-- > 0;) {
      const auto* receive = std::get_if<Receive>(&worker_[at].action);
      if (receive == nullptr || !is_own(receive->channel)) continue;
      const std::size_t slot = receive->destination.slot.index();
      const auto stops = [&](const Instruction& other) {
        const Action& action = other.action;
        if (is_block(action) || std::holds_alternative<Exit>(action)) return true;
        const auto* send = std::get_if<Send>(&action);
        const auto* next = std::get_if<Receive>(&action);
        if ((send != nullptr && is_own(send->channel)) || (next != nullptr && is_own(next->channel)))
          return true;
        const Uses uses = program::uses_of(action);
        return std::ranges::find(uses.read, slot) != uses.read.end() ||
               std::ranges::find(uses.written, slot) != uses.written.end();
      };
      const auto from = worker_.begin() + static_cast<std::ptrdiff_t>(at);
      std::rotate(from, from + 1, std::find_if(from + 1, worker_.end(), stops));
    }
  }

  ChannelId channel_of(DType dtype, bool from_executive) {
    const auto [found, is_new] =
        channels_.try_emplace({dtype, from_executive}, ChannelId(result_.channels.size()));
    if (!is_new) return found->second;
    const std::vector<std::int64_t> own = program::executive_place(result_);
    Channel channel{
        .name = fmt::format("{} {} the executive", operators::name(dtype), from_executive ? "from" : "to"),
        .dtype = dtype,
        .tile = {},
        .offset = {},
        .link = result_.machine.link};
    for (std::size_t d = 0; d < own.size(); ++d)
      channel.offset.push_back(from_executive ? place_[d] - own[d] : own[d] - place_[d]);
    result_.channels.push_back(std::move(channel));
    return found->second;
  }

  /// Adds an instruction of the class to the executive's. There the coordinates are those of the PE that it is from.
  void add(const PeClass& given, Instruction one) {
    visit_forms(
        one.action,
        [this](Affine& form) {
          for (std::size_t d = 0; d < std::min(place_.size(), form.coefficients.size()); ++d)
            form.constant += std::exchange(form.coefficients[d], 0) * place_[d];
          trim(form);
        },
        [&](SlotRef& ref) {
          auto& own = slots_[ref.slot.index()];
          if (!own) {
            auto& slots = result_.classes.back().slots;
            own = SlotId(slots.size());
            slots.push_back(given.slots[ref.slot.index()]);
          }
          ref.slot = *own;
        });
    executive_.push_back(std::move(one));
  }

  static Instructions without_empty(Instructions code) {
    for (std::size_t at = code.size(); at-- > 0;) {
      if (at + 1 < code.size() && program::opens(code[at].action) &&
          std::holds_alternative<End>(code[at + 1].action))
        code.erase(code.begin() + static_cast<std::ptrdiff_t>(at),
                   code.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    }
    return code;
  }

  Program result_;
  std::size_t number_;
  std::vector<std::int64_t> place_;
  Instructions worker_, executive_;
  std::vector<std::optional<SlotId>> slots_;  // By slot of the class: the executive's.
  std::map<std::pair<DType, bool>, ChannelId> channels_;
};

/// The coordinates of a class's PE, if its region has a single one.
std::optional<std::vector<std::int64_t>> single_place(const Program& program, const PeClass& pe_class) {
  const auto count = program.grid.size();
  std::vector<poly::Constraint> grid;
  for (std::size_t d = 0; d < count; ++d) {
    const auto at = poly::variable(count, d);
    grid.push_back({at, false});
    grid.push_back({poly::constant(count, program.grid[d] - 1) - at, false});
  }
  const auto pes = to_set(poly::Context(), count, pe_class.region).intersect(grid);
  std::vector<std::int64_t> place;
  for (std::size_t d = 0; d < count; ++d) {
    const auto first = pes.minimum(d);
    if (!first || first != pes.maximum(d)) return std::nullopt;
    place.push_back(*first);
  }
  return place;
}

bool has_number_bounds(const PeClass& pe_class) {
  return std::ranges::any_of(pe_class.code, [](const Instruction& one) {
    const auto* branch = std::get_if<If>(&one.action);
    return branch != nullptr && !branch->within.empty();
  });
}

/// Without choices between a value and itself.
void copy_choices_of_one(PeClass& pe_class) {
  for (Instruction& one : pe_class.code) {
    const auto* compute = std::get_if<Compute>(&one.action);
    if (compute == nullptr || compute->op != Op::where || compute->indexed ||
        !(compute->operands[1] == compute->operands[2]))
      continue;
    const auto* value = std::get_if<SlotRef>(&compute->operands[1]);
    if (value != nullptr &&
        pe_class.slots[value->slot.index()].dtype == pe_class.slots[compute->destination.slot.index()].dtype)
      one.action = Move{.destination = compute->destination, .source = *value};
  }
}

bool may_hold_data(const Program& program) {
  const auto& machine = program.machine;
  return machine.control && machine.control->global_data && !program.exit_plans.empty() &&
         machine.link_maps.empty() && !machine.chiplets && machine.memories.empty() &&
         !machine::wraps_around(machine, 0);
}

}  // namespace

program::Program hold_global_data(const program::Program& program) {
  if (!may_hold_data(program)) return program;
  for (std::size_t c = 0; c < program.classes.size(); ++c) {
    const auto place = single_place(program, program.classes[c]);
    if (!place || program.classes.size() == 1 || has_number_bounds(program.classes[c])) continue;
    Program changed = program;
    copy_choices_of_one(changed.classes[c]);
    GlobalCode code(changed, c);
    const Places global = code.run();
    if (!global.empty()) return Division(changed, c, *place).run(global, code.flow());
  }
  return program;
}

}  // namespace cyclotron::codegen
