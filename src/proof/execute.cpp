#include "execute.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <optional>

#include <fmt/format.h>

#include <cyclotron/program/timing.hpp>
#include <cyclotron/program/units.hpp>
#include <cyclotron/program/wires.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "memory.hpp"
#include "poll.hpp"
#include "violations.hpp"

namespace cyclotron::proof {
namespace {

using namespace program;

/// Tells whether an operator may write its result over the slot element of that operand.
bool works_in_place(Op op, std::size_t operand) {
  return operators::is_elementwise(op) || (operators::is_accumulating(op) && operand == 0);
}

/// Tells whether an operator has a result for all values of its operands, which fit it.
bool is_total(Op op) {
  switch (op) {
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::maximum:
    case Op::minimum:
    case Op::first_maximum:
    case Op::first_minimum:
    case Op::where:
    case Op::negative:
    case Op::absolute:
    case Op::exp:
    case Op::transpose:
    case Op::matmul:
    case Op::syrk:
    case Op::row_sum:
    case Op::row_max:
    case Op::multiply_add:
    case Op::multiply_subtract:
    case Op::matmul_add:
    case Op::matmul_subtract:
    case Op::syrk_add:
    case Op::syrk_subtract:
    case Op::join:
    case Op::correlate_add: return true;
    default: return false;
  }
}

struct Message {
  TermId term;
  std::int64_t arrival;
};

/// Messages of one queue, in order; those before `next` were received.
struct Messages {
  std::vector<Message> all;
  std::size_t next = 0;
  std::int64_t link_free = 0;
  bool receiver_waits = false;
};

struct Pe {
  Memory memory;
  std::size_t next = 0;                 // Event.
  std::int64_t now = 0;                 // Cycle.
  std::vector<std::int64_t> port_free;  // By channel, for broadcasts.
};

class Executor {
 public:
  Executor(const Program& program, const Trace& trace, TermTable& terms, const Allowed& allowed,
           const OnStore& on_store)
      : program_(program),
        trace_(trace),
        wires_(program),
        terms_(terms),
        allowed_(allowed),
        on_store_(on_store),
        messages_(trace.queues.size()) {
    result_.times.resize(trace.queues.size());
    for (const auto& pe_class : program.classes) {
      maps_.emplace_back(pe_class);
      add_costs(pe_class);
    }
    std::int64_t places = 0;
    for (const auto& pe : trace.pes) {
      const auto& map = maps_[pe.pe_class];
      if (map.granules <= allowed.places) places += map.granules;
      if (map.granules > allowed.places || places > allowed.places) {
        throw CapacityError(
            {.code = "CYC669",
             .span = {},
             .message = fmt::format("the PEs' memories have more than {} places", allowed.places),
             .notes = {},
             .help = "check it exhaustively with a larger limit, or compile a smaller size"});
      }
      pes_.push_back({Memory(map), 0, 0, std::vector<std::int64_t>(program.channels.size(), 0)});
    }
    add_tensors();
  }

  Executed run() {
    for (std::uint32_t pe = 0; pe < pes_.size(); ++pe) ready_.push_back(pe);
    while (!ready_.empty()) {
      pe_ = ready_.front();
      ready_.pop_front();
      if (!run_pe()) continue;
      ++done_;
    }
    result_.finished = done_ == pes_.size();
    return std::move(result_);
  }

 private:
  /// Cycles of each operator that the machine fixes; -1 where they depend on the shapes, as words in banks do.
  void add_costs(const PeClass& pe_class) {
    auto& costs = costs_.emplace_back(pe_class.code.size(), 0);
    const auto inputs = program::unit_inputs(program_.machine.pe, pe_class);
    for (std::size_t at = 0; at < pe_class.code.size(); ++at) {
      const auto* compute = std::get_if<Compute>(&pe_class.code[at].action);
      if (compute == nullptr) continue;
      const auto& pe = program_.machine.pe;
      const auto given = program::given_cycles(pe, compute->op);
      if (inputs[compute->destination.slot.index()]) {
        costs[at] = given.value_or(0);
      } else {
        costs[at] = machine::has_banks(pe) ? -1 : given.value_or(-1);
      }
    }
  }

  void add_tensors() {
    for (const auto& tensor : program_.tensors) {
      std::int64_t tiles = 1;
      for (const auto extent : tensor.extents()) tiles *= extent;
      if (tensor.role != Role::output) tiles = 0;
      // More elements than events cannot all be stored: some element stays without a value.
      result_.stored.emplace_back(static_cast<std::size_t>(std::min(tiles, trace_.events + 1)), no_term);
    }
  }

  /// True when the PE is done; false where it waits for a message.
  bool run_pe() {
    Pe& pe = pes_[pe_];
    const PeTrace& trace = trace_.pes[pe_];
    const auto& code = program_.classes[trace.pe_class].code;
    for (; pe.next < trace.events.size(); ++pe.next) {
      poll_.tick();
      const Event& event = trace.events[pe.next];
      const std::int64_t* arguments = trace_.arguments.data() + event.first;
      const auto& action = code[event.instruction].action;
      if (const auto* receive = std::get_if<Receive>(&action)) {
        if (!this->receive(*receive, arguments)) return false;
        continue;
      }
      std::visit(
          Overloaded{
              [&](const Load& load) { this->load(load, arguments); },
              [&](const Store& store) { this->store(store, arguments); },
              [&](const Send& send) {
                push(read(send.source, arguments[0]), arguments + 1, 1, link_of(send.channel),
                     messages_[static_cast<std::size_t>(arguments[1])].link_free);
              },
              [&](const Broadcast& broadcast) {
                if (arguments[1] == 0) return;
                push(read(broadcast.source, arguments[0]), arguments + 2, arguments[1],
                     link_of(broadcast.channel), pe.port_free[broadcast.channel.index()]);
              },
              [&](const Move& move) { write(move.destination, arguments[0], moved(move, arguments[1])); },
              [&](const Compute& compute) { this->compute(compute, arguments, event.instruction); },
              [&](const Exit& exit) { leave(exit, arguments); }, [](const Receive&) {}, [](const Loop&) {},
              [&](const If& branch) { begin(branch, arguments); }, [&](const End&) { end(); }},
          action);
    }
    return true;
  }

  /// Of an if that numbers bound: what is written inside is, with the condition as a term, one of two values after it.
  void begin(const If& branch, const std::int64_t* arguments) {
    for (std::size_t n = 0; n < branch.within.size(); ++n) {
      const auto& bound = branch.within[n];
      const TermId number = read(bound.number, arguments[2 * n]);
      const TermId place = terms_.index(arguments[2 * n + 1], DType::int64);
      const TermId holds =
          terms_.apply(bound.last ? Op::less : Op::greater_equal, 0, std::array{place, number});
      within_ = n == 0 ? holds : terms_.apply(Op::logical_and, 0, std::array{within_, holds});
    }
    before_.clear();
    const PeTrace& trace = trace_.pes[pe_];
    const auto& code = program_.classes[trace.pe_class].code;
    for (std::size_t next = pes_[pe_].next + 1;; ++next) {
      const Event& event = trace.events[next];
      const auto& action = code[event.instruction].action;
      if (std::holds_alternative<End>(action)) return;
      const auto* move = std::get_if<Move>(&action);
      const auto slot = (move ? move->destination : std::get<Compute>(action).destination).slot.value;
      const std::pair place{slot, trace_.arguments[event.first]};
      if (std::ranges::find(before_, place, &std::pair<Place, TermId>::first) == before_.end())
        before_.emplace_back(place, pes_[pe_].memory.read(place.first, place.second));
    }
  }
  /// A value that there was none of before, or that another slot has overwritten, is none that may be read.
  void end() {
    Memory& memory = pes_[pe_].memory;
    for (const auto& [place, before] : before_) {
      const TermId after = memory.read(place.first, place.second);
      if (after == no_term || summed_ == place) continue;
      memory.write(
          place.first, place.second,
          before == no_term ? no_term : terms_.apply(Op::where, 0, std::array{within_, after, before}));
    }
    within_ = no_term;
    summed_.reset();
  }
  /// True of the last instruction of such an if.
  [[nodiscard]] bool is_last(std::uint32_t instruction) const {
    return std::holds_alternative<End>(
        program_.classes[trace_.pes[pe_].pe_class].code[instruction + 1].action);
  }
  /// `sum + x` inside of such an if is, with what is nothing to a sum, `sum + where(condition, x, nothing)` after it.
  TermId sum_within(const SlotRef& sum, TermId before, TermId x) {
    const auto dtype = slot(sum.slot).dtype;
    const double nothing = operators::is_floating(dtype) ? -0.0 : 0.0;
    const TermId other = terms_.constant({nothing, operators::is_complex(dtype) ? nothing : 0.0, 0});
    return terms_.apply(Op::add, 0,
                        std::array{before, terms_.apply(Op::where, 0, std::array{within_, x, other})});
  }

  /// Nothing is left out here: what is left out when the flag is false, the structure and the equations prove alike.
  void leave(const Exit& exit, const std::int64_t* arguments) {
    const TermId flag = read(exit.runs, arguments[0]);
    const ExitPlan& plan = program_.exit_plans[exit.plan.index()];
    if (arguments[1] < plan.first || arguments[1] > plan.last) return;  // what it is does not matter there
    const std::int64_t run =
        plan.per_pe ? (static_cast<std::int64_t>(pe_) << 32) + arguments[2] : arguments[2];
    const auto [known, is_new] = result_.flags.try_emplace({exit.plan.value, run, arguments[1]}, flag);
    if (is_new || known->second == flag) return;
    fail("CYC670",
         fmt::format("the loop over `{}` ends in iteration {} unless {}, and in another PE unless {}",
                     plan.loop, arguments[1], terms_.text(flag), terms_.text(known->second)));
  }

  void load(const Load& load, const std::int64_t* arguments) {
    write(load.destination, arguments[0], terms_.element(load.tensor.value, arguments[1]));
  }

  void store(const Store& store, const std::int64_t* arguments) {
    const TermId term = read(store.source, arguments[0]);
    const auto& tensor = program_.tensors[store.tensor.index()];
    const std::int64_t linear = arguments[1];
    const Shape wanted = tensor.blocked ? TermTable::tile_shape(tensor, linear) : Shape{};
    const Shape given = terms_.shape(term);
    if (given != wanted && given != Shape{}) {
      fail("CYC664", fmt::format("a {}x{} tile is stored to `{}`, which is {}x{}", given.rows, given.columns,
                                 TermTable::element_text(tensor, linear), wanted.rows, wanted.columns));
    }
    on_store_(store.tensor.value, linear, term, pe_, pes_[pe_].next);
    auto& stored = result_.stored[store.tensor.index()];
    if (static_cast<std::size_t>(linear) >= stored.size()) return;
    auto& known = stored[static_cast<std::size_t>(linear)];
    if (known != no_term) {
      fail("CYC662", fmt::format("`{}` is stored a second time", TermTable::element_text(tensor, linear)));
    }
    known = term;
  }

  bool receive(const Receive& receive, const std::int64_t* arguments) {
    const auto queue = static_cast<std::size_t>(arguments[1]);
    Messages& messages = messages_[queue];
    if (messages.next == messages.all.size()) {
      messages.receiver_waits = true;
      return false;
    }
    const Message& message = messages.all[messages.next++];
    std::int64_t& now = pes_[pe_].now;
    now = std::max(now, message.arrival);
    result_.times[queue].received.push_back(now);
    write(receive.destination, arguments[0], message.term);
    return true;
  }

  [[nodiscard]] const machine::Link& link_of(ChannelId channel) const {
    return wires_.link(channel.index(), trace_.pes[pe_].coordinates);
  }

  /// Of a queue from this PE.
  [[nodiscard]] std::int64_t latency_to(std::size_t queue, const machine::Link& link) const {
    const auto& [channel, sender, receiver] = trace_.queues[queue];
    if (receiver == none) return link.latency_cycles;
    return wires_.latency(channel, trace_.pes[pe_].coordinates, trace_.pes[receiver].coordinates);
  }

  /// `free` is when the link or the network's port takes the next message.
  void push(TermId term, const std::int64_t* queues, std::int64_t count, const machine::Link& link,
            std::int64_t& free) {
    const Shape shape = terms_.shape(term);
    const std::int64_t words = shape.rows * shape.columns;
    const std::int64_t cycles = words / link.words_per_cycle + (words % link.words_per_cycle != 0 ? 1 : 0);
    std::int64_t& now = pes_[pe_].now;
    now = std::max(now, free);
    free = now + cycles;
    for (std::int64_t q = 0; q < count; ++q) {
      const auto queue = static_cast<std::size_t>(queues[q]);
      const auto& channel = program_.channels[trace_.queues[queue].channel];
      if (shape.rows > channel.tile.rows || shape.columns > channel.tile.columns) {
        fail("CYC664",
             fmt::format("a {}x{} tile is sent on `{}`, whose messages are at most {}x{}", shape.rows,
                         shape.columns, channel.name, channel.tile.rows, channel.tile.columns));
      }
      Messages& messages = messages_[queue];
      messages.all.push_back({term, now + latency_to(queue, link) + cycles - 1});
      result_.times[queue].sent.push_back(now);
      if (!messages.receiver_waits) continue;
      messages.receiver_waits = false;
      ready_.push_back(trace_.queues[queue].receiver);
    }
  }

  /// As what it stands for: each element in turn.
  void compute_indexed(const Compute& compute, const std::int64_t* arguments) {
    const Indexed& at = *compute.indexed;
    const auto arity = compute.operands.size();
    const auto* const numbers =
        arguments + 1 + arity;  // The number's element, the first and the last number.
    const TermId number = read(at.number, numbers[0]);
    const TermId neutral = terms_.constant(at.neutral);
    const DType dtype = slot(at.number.slot).dtype;
    const bool overwrites = compute.op == Op::copy && at.scatters;
    if (compute.op == Op::copy && !overwrites && numbers[2] < numbers[1])
      write(compute.destination, arguments[0], neutral);
    for (std::int64_t n = numbers[1]; n <= numbers[2]; ++n) {
      const std::int64_t further = at.stride * (n - numbers[1]);
      const std::int64_t to = arguments[0] + (at.scatters ? further : 0);
      const TermId value = operand(compute.operands.back(), arguments[arity] + (at.scatters ? 0 : further));
      const TermId found = terms_.apply(Op::equal, 0, std::array{number, terms_.index(n, dtype)});
      const TermId other = overwrites ? read(compute.destination, to) : neutral;
      const TermId term = terms_.apply(Op::where, 0, std::array{found, value, other});
      const bool assigns = overwrites || (compute.op == Op::copy && n == numbers[1]);
      const auto sum = [&] {
        return terms_.apply(Op::add, 0, std::array{read(compute.destination, to), term});
      };
      write(compute.destination, to, assigns ? term : sum());
    }
    const std::array<Shape, 2> scalars{};
    pes_[pe_].now += program::cycles_of(program_.machine.pe, program_.classes[trace_.pes[pe_].pe_class],
                                        compute, std::span(scalars.data(), arity));
  }

  void compute(const Compute& compute, const std::int64_t* arguments, std::uint32_t instruction) {
    if (compute.indexed) return compute_indexed(compute, arguments);
    std::array<TermId, 8> operands;
    const std::size_t arity = compute.operands.size();
    CYC_CHECK(arity <= operands.size());
    for (std::size_t i = 0; i < arity; ++i) operands[i] = operand(compute.operands[i], arguments[1 + i]);
    if (within_ != no_term && compute.op == Op::where && operands[0] == terms_.constant({1, 0, 0}))
      operands[0] = within_;  // which holds here
    TermId result = no_term;
    try {
      result = terms_.apply(compute.op, compute.flags, std::span(operands.data(), arity));
    } catch (const ShapeError& error) {
      fail("CYC664", error.diagnostic().message);
    }
    if (result >= allowed_.known_terms && allowed_.known_terms > 0 && !is_total(compute.op)) {
      violation<LegalityError>(
          "CYC665", program_, trace_, pe_, pes_[pe_].next,
          fmt::format("{} is computed, which no equation contains and which may fail", terms_.text(result)));
    }
    check_overlap(compute, arguments);
    const bool adds = within_ != no_term && compute.op == Op::add &&
                      compute.operands[0] == Operand(compute.destination) && is_last(instruction);
    const Place place{compute.destination.slot.value, arguments[0]};
    if (adds && std::ranges::find(before_, std::pair(place, operands[0])) != before_.end()) {
      result = sum_within(compute.destination, operands[0], operands[1]);
      summed_ = place;
    }
    write(compute.destination, arguments[0], result);
    std::int64_t cycles = costs_[trace_.pes[pe_].pe_class][instruction];
    if (cycles < 0) {
      std::array<Shape, 8> shapes;
      for (std::size_t i = 0; i < arity; ++i) shapes[i] = terms_.shape(operands[i]);
      const auto& pe_class = program_.classes[trace_.pes[pe_].pe_class];
      cycles = program::cycles_of(program_.machine.pe, pe_class, compute, std::span(shapes.data(), arity));
    }
    pes_[pe_].now += cycles;
  }

  /// An operator may write while it still reads.
  void check_overlap(const Compute& compute, const std::int64_t* arguments) const {
    const MemoryMap& map = maps_[trace_.pes[pe_].pe_class];
    const auto to = compute.destination.slot.value;
    for (std::size_t i = 0; i < compute.operands.size(); ++i) {
      const auto* reference = std::get_if<SlotRef>(&compute.operands[i]);
      if (reference == nullptr) continue;
      const auto from = reference->slot.value;
      if (!map.overlap(to, arguments[0], from, arguments[1 + i])) continue;
      if (from == to && arguments[1 + i] == arguments[0] && works_in_place(compute.op, i)) continue;
      fail("CYC667",
           fmt::format("`{}` reads {} while it writes {} over it", operators::info(compute.op).name,
                       name(*reference, arguments[1 + i]), name(compute.destination, arguments[0])));
    }
  }

  /// The element of its source, or the value of its form.
  TermId moved(const Move& move, std::int64_t element) {
    return std::visit(
        Overloaded{[&](const SlotRef& reference) { return read(reference, element); },
                   [&](const Constant& value) { return terms_.constant(value); },
                   [&](const Affine&) { return terms_.index(element, slot(move.destination.slot).dtype); }},
        move.source);
  }

  TermId operand(const Operand& operand, std::int64_t element) {
    return std::visit(Overloaded{[&](const SlotRef& reference) { return read(reference, element); },
                                 [&](const Constant& value) { return terms_.constant(value); }},
                      operand);
  }

  TermId read(const SlotRef& reference, std::int64_t element) {
    const Memory& memory = pes_[pe_].memory;
    const TermId term = memory.read(reference.slot.value, element);
    if (term != no_term) return term;
    const std::uint32_t writer = memory.last_writer(reference.slot.value, element);
    fail("CYC661", fmt::format("{} is read {}", name(reference, element),
                               writer == none ? "before it is written"
                                              : fmt::format("after slot `{}` has overwritten it",
                                                            slot(SlotId(writer)).name)));
  }

  void write(const SlotRef& reference, std::int64_t element, TermId term) {
    const Shape shape = terms_.shape(term);
    const auto& tile = slot(reference.slot).tile;
    if (shape.rows > tile.rows || shape.columns > tile.columns) {
      fail("CYC664", fmt::format("a {}x{} tile does not fit {}, of {}x{} tiles", shape.rows, shape.columns,
                                 name(reference, element), tile.rows, tile.columns));
    }
    pes_[pe_].memory.write(reference.slot.value, element, term);
  }

  [[nodiscard]] const Slot& slot(SlotId id) const {
    return program_.classes[trace_.pes[pe_].pe_class].slots[id.index()];
  }
  [[nodiscard]] std::string name(const SlotRef& reference, std::int64_t element) const {
    const Slot& of = slot(reference.slot);
    return of.count == 1 ? fmt::format("slot `{}`", of.name)
                         : fmt::format("element {} of slot `{}`", element, of.name);
  }
  [[noreturn]] void fail(const char* code, std::string message) const {
    violation<ProgramError>(code, program_, trace_, pe_, pes_[pe_].next, std::move(message));
  }

  const Program& program_;
  const Trace& trace_;
  Wires wires_;
  TermTable& terms_;
  const Allowed& allowed_;
  Poll poll_;
  const OnStore& on_store_;
  std::vector<MemoryMap> maps_;
  std::vector<std::vector<std::int64_t>> costs_;  // By class and instruction.
  std::vector<Messages> messages_;                // By queue.
  std::vector<Pe> pes_;
  std::deque<std::uint32_t> ready_;
  std::uint32_t pe_ = 0;
  using Place = std::pair<std::uint32_t, std::int64_t>;  ///< A slot's element.
  TermId within_ = no_term;      ///< The condition of an if that numbers bound, inside of it.
  std::optional<Place> summed_;  ///< Place of the sum that it ends with, if it does.
  std::vector<std::pair<Place, TermId>> before_;  ///< Values that it overwrites.
  std::size_t done_ = 0;
  Executed result_;
};

}  // namespace

Executed execute(const Program& program, const Trace& trace, TermTable& terms, const Allowed& allowed,
                 const OnStore& on_store) {
  return Executor(program, trace, terms, allowed, on_store).run();
}

}  // namespace cyclotron::proof
