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

#include <cyclotron/machine/memories.hpp>
#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/roles.hpp>
#include <cyclotron/program/uses.hpp>

#include "data_flow.hpp"
#include "least_cut.hpp"
#include "streams.hpp"
#include "to_program.hpp"
#include "visit_forms.hpp"

namespace cyclotron::codegen {

namespace {

using program::Action;
using program::Affine;
using program::Bound;
using program::Broadcast;
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
using program::Move;
using program::Op;
using program::PeClass;
using program::Program;
using program::Receive;
using program::Send;
using program::SlotId;
using program::SlotRef;
using program::Store;
using program::TensorId;
using program::Uses;
using Instructions = std::vector<Instruction>;

bool is_block(const Action& action) { return program::opens(action) || std::holds_alternative<End>(action); }

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

  /// Finds flags: the values that EXITs decide by, truth values that all PEs have, and the ones that this is made of, flags of iterations before among them; and of those
  /// after them, what lines write to the same places.
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
    if (flags_.empty()) return;
    for (const Stream& stream : streams_of(program_, number_, flow_, truth_values())) {
      if (!reaches_all(stream)) continue;
      for (const Places& message : stream.messages)
        std::ranges::for_each(flow_.writers[*message.begin()], add);
    }
    while (!next.empty()) {
      const std::size_t at = next.back();
      const SlotId slot = destination(action(at))->slot;
      next.pop_back();
      std::ranges::for_each(flow_.writers[at], add);
      for (std::size_t other = 0; other < class_.code.size(); ++other) {
        const SlotRef* to = destination(action(other));
        if (to != nullptr && to->slot == slot && class_.code[other].span == class_.code[at].span) add(other);
      }
    }
  }

  [[nodiscard]] Places truth_values() const {
    Places result;
    for (std::size_t at = 0; at < class_.code.size(); ++at) {
      const SlotRef* to = destination(action(at));
      if (to != nullptr && class_.slots[to->slot.index()].dtype == DType::boolean && is_movable(at))
        result.insert(at);
    }
    return result;
  }
  [[nodiscard]] bool reaches_all(const Stream& stream) const {
    for (std::size_t c = 0; c < program_.classes.size(); ++c) {
      const bool hears = std::ranges::any_of(program_.classes[c].code, [&](const Instruction& one) {
        const auto* receive = std::get_if<Receive>(&one.action);
        return receive != nullptr && stream.channels.contains(receive->channel);
      });
      if (c != number_ && !hears) return false;
    }
    return true;
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
  Division(Program program, std::size_t pe_class, std::vector<std::int64_t> place,
           std::vector<Stream> streams)
      : result_(std::move(program)),
        number_(pe_class),
        place_(std::move(place)),
        streams_(std::move(streams)) {}

  Program run(const Places& global, const DataFlow& flow) {
    result_.machine.memories = machine::on_longer(std::move(result_.machine.memories), result_.grid);
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
    for (const Stream& stream : streams_) tell_all(stream);
    divide(global, flow);
    result_.classes.back().code = without_empty(std::move(executive_));
    delay_receives();
    result_.classes[number_].code = std::move(worker_);
    drop_unused_channels();
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

  /// From the executive, what PEs of other classes are sent and send on: these do so no more.
  void tell_all(const Stream& stream) {
    const ChannelId channel(result_.channels.size());
    const Channel& first = result_.channels[stream.channels.begin()->index()];
    result_.channels.push_back({.name = fmt::format("{} from the executive", first.name),
                                .kind = Channel::Kind::network,
                                .dtype = first.dtype,
                                .tile = {},
                                .offset = {},
                                .axis = static_cast<std::uint32_t>(result_.grid.size()),
                                .link = result_.machine.link});
    for (std::size_t c = 0; c < result_.classes.size(); ++c) {
      if (c == number_) continue;
      Instructions& code = result_.classes[c].code;
      std::erase_if(code, [&](const Instruction& one) {
        const auto* send = std::get_if<Send>(&one.action);
        return send != nullptr && stream.channels.contains(send->channel);
      });
      for (Instruction& one : code) {
        if (auto* receive = std::get_if<Receive>(&one.action);
            receive != nullptr && stream.channels.contains(receive->channel))
          one.action = Receive{.channel = channel,
                               .destination = receive->destination,
                               .sender = {program::executive_number(result_)}};
      }
      code = without_empty(std::move(code));
    }
    for (const Places& message : stream.messages) {
      for (const std::size_t at : message) told_.emplace(at, std::nullopt);
      told_[*message.begin()] = channel;
    }
  }
  void tell(const PeClass& given, std::size_t at, ChannelId channel) {
    const std::int64_t row = result_.grid.front();
    const auto number = [](std::int64_t n) {
      return Bound{.numerator = {.coefficients = {}, .constant = n}, .divisor = 1};
    };
    const auto& send = std::get<Send>(given.code[at].action);
    const std::int64_t workers =
        result_.line_extent(static_cast<std::uint32_t>(result_.grid.size())) / row * (row - 1);
    add(given,
        {Broadcast{
             .channel = channel, .source = send.source, .lower = {number(0)}, .upper = {number(workers - 1)}},
         given.code[at].span});
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
      const auto is_read_there = [&](std::size_t reader) {
        return exits(reader) || global.contains(reader) || told_.contains(reader);
      };
      const auto is_read_here = [&](std::size_t reader) {
        return exits(reader) || (!global.contains(reader) && !told_.contains(reader));
      };
      const Places& readers = flow.readers[at];
      if (const auto told = told_.find(at); told != told_.end()) {
        if (told->second) tell(given, at, *told->second);
        continue;
      }
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

  void drop_unused_channels() {
    std::map<ChannelId, ChannelId> numbers;
    const auto each_channel = [&](auto visit) {
      for (PeClass& pe_class : result_.classes) {
        for (Instruction& one : pe_class.code) {
          if (auto* send = std::get_if<Send>(&one.action)) visit(send->channel);
          if (auto* receive = std::get_if<Receive>(&one.action)) visit(receive->channel);
          if (auto* broadcast = std::get_if<Broadcast>(&one.action)) visit(broadcast->channel);
        }
      }
    };
    each_channel([&](ChannelId id) { numbers.emplace(id, id); });
    std::vector<Channel> used;
    for (auto& [id, number] : numbers) {
      number = ChannelId(used.size());
      used.push_back(std::move(result_.channels[id.index()]));
    }
    each_channel([&](ChannelId& id) { id = numbers.at(id); });
    result_.channels = std::move(used);
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
  std::vector<Stream> streams_;
  std::map<std::size_t, std::optional<ChannelId>>
      told_;  // SENDs of the class that the executive's messages take the places of: its channel at the first of a message.
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
  return machine.control && machine.control->global_data && !program.exit_plans.empty();
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
    if (global.empty()) continue;
    auto streams = streams_of(changed, c, code.flow(), global);
    return Division(changed, c, *place, std::move(streams)).run(global, code.flow());
  }
  return program;
}

}  // namespace cyclotron::codegen
