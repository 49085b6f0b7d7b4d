#include "code.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include <cyclotron/program/procedures.hpp>
#include <cyclotron/program/storage.hpp>
#include <cyclotron/program/timing.hpp>
#include <cyclotron/support/division.hpp>
#include <cyclotron/support/error.hpp>
#include <cyclotron/support/overloaded.hpp>

#include "vectorize/find_body.hpp"
#include "kernels/arithmetic.hpp"
#include "triangle_products.hpp"
#include "sent_slots.hpp"

namespace cyclotron::runtime {
namespace {

using program::Program;

class Decoder {
 public:
  Decoder(const Program& program, std::size_t class_index)
      : program_(program), pe_class_(program.classes.at(class_index)) {
    code_.index = static_cast<std::uint32_t>(class_index);
    code_.dimensions = static_cast<std::uint32_t>(program.grid.size());
    code_.variables = code_.dimensions;
  }

  Code decode() {
    for (const auto& slot : pe_class_.slots) add_slot(slot);
    const program::Storage storage(pe_class_);
    for (std::size_t s = 0; s < slots_.size(); ++s) slots_[s].address = storage.offsets[s];
    code_.memory_bytes = storage.bytes;
    code_.unit_inputs = program::unit_inputs(program_.machine.pe, pe_class_);
    code_.steps.reserve(pe_class_.code.size() + 1);
    for (const auto& instruction : pe_class_.code) {
      code_.steps.emplace_back();
      std::visit([&](const auto& action) { add(action); }, instruction.action);
    }
    require(open_.empty(), "a Loop or If has no End");
    code_.steps.emplace_back();
    mark_calls();
    mark_lower_triangles(code_);
    mark_sent_slots(code_);
    return std::move(code_);
  }

 private:
  /// Of a loop that holds an if within bounds of numbers and nothing else those bounds; else none.
  [[nodiscard]] Range bounds_of_all(std::size_t opener, std::size_t end) const {
    const Step& branch = code_.steps[opener + 1];
    const bool alone = branch.kind == Step::Kind::branch && branch.target == end;
    return alone ? branch.upper : Range{};
  }

  void mark_calls() {
    if (!program::uses_controller(program_)) return;
    for (const auto& procedure : program::procedures(pe_class_))
      code_.steps[procedure.first].begins_call = true;
  }

  /// Most of these `program::verify` has checked; they are what memory safety rests on here.
  void require(bool condition, std::string_view what, const char* code = "CYC611") const {
    if (condition) return;
    const std::size_t count = code_.steps.size();
    throw ProgramError(
        {.code = code,
         .span = count > 0 && count <= pe_class_.code.size() ? pe_class_.code[count - 1].span : Span{},
         .message = fmt::format("`{}` cannot be run: {}", pe_class_.name, what),
         .notes = {},
         .help = "compile the kernel again"});
  }

  [[nodiscard]] Step& step() { return code_.steps.back(); }

  /// A scalar's slot keeps no sizes: they are always 1x1.
  void add_slot(const program::Slot& slot) {
    constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
    require(
        slot.tile.rows >= 1 && slot.tile.rows <= most && slot.tile.columns >= 1 && slot.tile.columns <= most,
        "a slot's tile has no such size");
    SlotAccess access;
    access.tile = {static_cast<std::int32_t>(slot.tile.rows), static_cast<std::int32_t>(slot.tile.columns)};
    access.scalar = access.tile == TileSize{1, 1};
    access.count = slot.count;
    access.slot = static_cast<std::uint32_t>(slots_.size());
    const auto element = static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
    const bool in_memory = !slot.first_register;
    const std::int64_t first = in_memory ? slot.address : *slot.first_register;
    std::int64_t end = 0;
    const bool overflow = __builtin_mul_overflow(access.tile.words(), element, &access.stride) ||
                          __builtin_mul_overflow(access.stride, slot.count, &end) ||
                          __builtin_add_overflow(in_memory ? end : end / element, first, &end);
    const std::int64_t alignment = in_memory ? operators::alignment_bytes(slot.dtype) : 1;
    require(!overflow && slot.count >= 1 && first >= 0 && first % alignment == 0 &&
                end <= (in_memory ? pe_class_.memory_bytes : program_.machine.pe.registers.value_or(0)),
            "a slot is not inside the PE's memory", "CYC613");
    if (!access.scalar) {
      require(slot.count <= most - code_.sizes, "its slots have too many elements");
      access.sizes = code_.sizes;
      code_.sizes += static_cast<std::uint32_t>(slot.count);
    }
    slots_.push_back(access);
  }

  Form form(const program::Affine& affine) {
    Form result{
        .constant = affine.constant, .first = static_cast<std::uint32_t>(code_.terms.size()), .count = 0};
    require(affine.coefficients.size() <= code_.dimensions + open_loops_,
            "an affine form names a loop that is not open");
    for (std::size_t v = 0; v < affine.coefficients.size(); ++v) {
      if (affine.coefficients[v] == 0) continue;
      code_.terms.push_back({affine.coefficients[v], static_cast<std::uint32_t>(v)});
      ++result.count;
    }
    return result;
  }

  Range limits(const std::vector<program::Bound>& bounds) {
    require(!bounds.empty(), "a range has no bound");
    const Range result{static_cast<std::uint32_t>(code_.limits.size()),
                       static_cast<std::uint32_t>(bounds.size())};
    for (const auto& bound : bounds) {
      require(bound.divisor >= 1, "a bound's divisor is not positive");
      code_.limits.push_back({form(bound.numerator), bound.divisor});
    }
    return result;
  }

  Range forms(const std::vector<program::Affine>& affines) {
    const Range result{static_cast<std::uint32_t>(code_.forms.size()),
                       static_cast<std::uint32_t>(affines.size())};
    for (const auto& affine : affines) code_.forms.push_back(form(affine));
    return result;
  }

  const program::Slot& slot(const program::SlotRef& reference) const {
    require(reference.slot.index() < slots_.size(), "it names a slot that does not exist");
    return pe_class_.slots[reference.slot.index()];
  }

  std::uint32_t access(const program::SlotRef& reference) {
    (void)slot(reference);
    SlotAccess result = slots_[reference.slot.index()];
    result.index = form(reference.index);
    if (const auto& wrap = reference.wrap; wrap.modulus != 0) {
      require(wrap.modulus >= 1 && wrap.stride >= 1 && wrap.modulus <= result.count &&
                  wrap.stride <= result.count,
              "a wrap is larger than its slot");
      result.wrap = static_cast<std::uint32_t>(code_.wraps.size());
      code_.wraps.push_back({form(wrap.form), wrap.modulus, wrap.stride});
    }
    code_.accesses.push_back(result);
    return static_cast<std::uint32_t>(code_.accesses.size() - 1);
  }

  bool is_scalar(const program::SlotRef& reference) const { return slots_[reference.slot.index()].scalar; }

  /// The step's destination (or what it sends or stores), and from it the step's dtype.
  void set_place(const program::SlotRef& reference) {
    const auto index = access(reference);
    step().access = index;
    step().dtype = slot(reference).dtype;
    step().element = static_cast<std::uint8_t>(operators::size_bytes(step().dtype));
    step().scalar = is_scalar(reference);
  }

  Source source(const program::Operand& operand, DType dtype) {
    const auto width = static_cast<std::uint8_t>(operators::size_bytes(dtype));
    return std::visit(Overloaded{[&](const program::SlotRef& reference) {
                                   require(slot(reference).dtype == dtype, "its operands differ in dtype");
                                   return Source{.width = width, .index = access(reference)};
                                 },
                                 [&](const program::Constant& constant) {
                                   return Source{
                                       .constant = true, .width = width, .index = bytes(constant, dtype)};
                                 }},
                      operand);
  }

  Source source(const program::Affine& affine, DType dtype) {
    require(operators::holds_index(dtype), "a form has no value of its dtype", "CYC610");
    code_.forms.push_back(form(affine));
    return {.constant = true,
            .form = true,
            .width = static_cast<std::uint8_t>(operators::size_bytes(dtype)),
            .index = static_cast<std::uint32_t>(code_.forms.size() - 1)};
  }

  template <class T>
  static ConstantBytes to_bytes(T value) {
    ConstantBytes result;
    std::memcpy(result.bytes.data(), &value, sizeof value);
    return result;
  }

  std::uint32_t bytes(const program::Constant& constant, DType dtype) {
    code_.constants.push_back(with_type(dtype, [&]<class T>() -> ConstantBytes {
      using namespace arithmetic;
      const std::complex<double> number(constant.real, constant.imaginary);
      if constexpr (is_complex<T> || is_boolean<T>) {
        return to_bytes(convert<T>(number));
      } else {
        if constexpr (is_integer<T>) {
          const double real = constant.real;
          const bool whole = real == std::trunc(real) && std::abs(real) < program::Constant::limit;
          if (constant.rest != 0 || (whole && !std::is_same_v<T, std::int32_t>))
            return to_bytes(static_cast<T>(constant.integer()));
        }
        return to_bytes(convert<T>(constant.real));
      }
    }));
    return static_cast<std::uint32_t>(code_.constants.size() - 1);
  }

  const program::Channel& set_port(program::ChannelId channel, Port::Kind kind, DType dtype) {
    require(channel.index() < program_.channels.size(), "it names a channel that does not exist");
    const auto& found = program_.channels[channel.index()];
    require(found.dtype == dtype, "a channel and a slot differ in dtype");
    const bool network = kind == Port::Kind::network_out || kind == Port::Kind::network_in;
    require(network == (found.kind == program::Channel::Kind::network),
            "a link is used as a network, or the reverse");
    const Port port{channel.value, kind};
    const auto at = std::find(code_.ports.begin(), code_.ports.end(), port);
    step().port = static_cast<std::uint32_t>(at - code_.ports.begin());
    if (at == code_.ports.end()) code_.ports.push_back(port);
    return found;
  }

  void set_tensor(program::TensorId tensor, const std::vector<program::Affine>& index) {
    require(tensor.index() < program_.tensors.size(), "it names a tensor that does not exist");
    const auto& found = program_.tensors[tensor.index()];
    require(found.dtype == step().dtype, "a tensor and a slot differ in dtype");
    require(found.shape.size() == index.size() && found.tile.size() == index.size(),
            "a tensor is indexed with the wrong rank");
    step().tensor = tensor.value;
    step().resident = found.resident;
    step().operands = forms(index);
    step().scalar =
        step().scalar && std::all_of(found.tile.begin(), found.tile.end(), [](auto n) { return n == 1; });
  }

  void add(const program::Loop& loop) {
    const auto lower = limits(loop.lower);
    const auto upper = limits(loop.upper);
    require(loop.step >= 1, "a loop's step is not positive");
    step() = {.kind = Step::Kind::loop,
              .variable = code_.dimensions + open_loops_,
              .lower = lower,
              .upper = upper,
              .step = loop.step};
    open_.push_back(code_.steps.size() - 1);
    ++open_loops_;
    code_.variables = std::max(code_.variables, code_.dimensions + open_loops_);
  }

  void add(const program::If& branch) {
    const Range range{static_cast<std::uint32_t>(code_.conjunctions.size()),
                      static_cast<std::uint32_t>(branch.condition.size())};
    for (const auto& conjunction : branch.condition) {
      code_.conjunctions.push_back(
          {static_cast<std::uint32_t>(code_.tests.size()), static_cast<std::uint32_t>(conjunction.size())});
      for (const auto& condition : conjunction) {
        require(condition.kind != program::Condition::Kind::divisible || condition.modulus >= 2,
                "a modulus is below 2");
        code_.tests.push_back({condition.kind, form(condition.form), condition.modulus});
      }
    }
    const Range within{static_cast<std::uint32_t>(code_.within.size()),
                       static_cast<std::uint32_t>(branch.within.size())};
    for (const auto& [number, bound, last] : branch.within) {
      require(is_scalar(number) && slot(number).dtype == DType::int64,
              "a number that bounds a loop is no scalar of int64");
      code_.within.push_back({access(number), form(bound), last});
    }
    step() = {.kind = Step::Kind::branch, .lower = range, .upper = within};
    open_.push_back(code_.steps.size() - 1);
  }

  void add(const program::End&) {
    require(!open_.empty(), "an End closes nothing");
    const std::size_t opener = open_.back();
    open_.pop_back();
    const auto here = static_cast<std::uint32_t>(code_.steps.size() - 1);
    Step& opening = code_.steps[opener];
    opening.target = here + 1;
    if (opening.kind == Step::Kind::loop) {
      --open_loops_;
      step() = {.kind = Step::Kind::repeat,
                .variable = opening.variable,
                .target = static_cast<std::uint32_t>(opener + 1),
                .step = opening.step};
      code_.steps[opener].operands = code_.steps[here].operands = bounds_of_all(opener, here);
      auto bodies = bodies_between(program_, code_, opener, here);
      if (!bodies.empty())
        code_.steps[opener].body = code_.steps[here].body = static_cast<std::uint32_t>(code_.bodies.size());
      std::ranges::move(bodies, std::back_inserter(code_.bodies));
    } else {
      step() = {.kind = Step::Kind::skip};
    }
  }

  void add(const program::Load& load) {
    step().kind = Step::Kind::load;
    set_place(load.destination);
    set_tensor(load.tensor, load.index);
  }

  void add(const program::Store& store) {
    step().kind = Step::Kind::store;
    set_place(store.source);
    set_tensor(store.tensor, store.index);
    require(program_.tensors[store.tensor.index()].role == program::Role::output, "it stores to an input");
  }

  void add(const program::Send& send) {
    step().kind = Step::Kind::send;
    set_place(send.source);
    (void)set_port(send.channel, Port::Kind::link_out, step().dtype);
  }

  void add(const program::Receive& receive) {
    step().kind = Step::Kind::receive;
    set_place(receive.destination);
    require(receive.sender.size() <= 1, "a receive names several senders");
    const bool network = !receive.sender.empty();
    if (network) {
      const auto sender = form(receive.sender[0]);
      step().sender = sender;
    }
    const auto& channel =
        set_port(receive.channel, network ? Port::Kind::network_in : Port::Kind::link_in, step().dtype);
    step().scalar = step().scalar && channel.tile == Shape{};
  }

  void add(const program::Broadcast& broadcast) {
    step().kind = Step::Kind::broadcast;
    set_place(broadcast.source);
    (void)set_port(broadcast.channel, Port::Kind::network_out, step().dtype);
    const auto lower = limits(broadcast.lower);
    const auto upper = limits(broadcast.upper);
    step().lower = lower;
    step().upper = upper;
  }

  void add(const program::Move& move) {
    step().kind = Step::Kind::move;
    set_place(move.destination);
    if (const auto* reference = std::get_if<program::SlotRef>(&move.source)) {
      (void)slot(*reference);
      step().scalar = step().scalar && is_scalar(*reference);
    }
    const Source from =
        std::visit([&](const auto& value) { return source(value, step().dtype); }, move.source);
    code_.sources.push_back(from);
    step().operands = {static_cast<std::uint32_t>(code_.sources.size() - 1), 1};
  }

  void add(const program::Compute& compute) {
    step().kind = Step::Kind::compute;
    step().op = compute.op;
    step().flags = compute.flags;
    set_place(compute.destination);
    const auto& info = operators::info(compute.op);
    require(compute.operands.size() == static_cast<std::size_t>(info.arity),
            "an operator has the wrong number of operands");
    step().dtype = working_dtype(compute);
    require(operators::result_dtype(compute.op, step().dtype) == slot(compute.destination).dtype,
            "its result and its destination differ in dtype");
    std::vector<Source> sources;
    for (std::size_t n = 0; n < compute.operands.size(); ++n) {
      sources.push_back(source(compute.operands[n], operators::operand_dtype(compute.op, n, step().dtype)));
      if (!sources.back().constant)
        step().scalar = step().scalar && code_.accesses[sources.back().index].scalar;
    }
    step().operands = {static_cast<std::uint32_t>(code_.sources.size()),
                       static_cast<std::uint32_t>(sources.size())};
    code_.sources.insert(code_.sources.end(), sources.begin(), sources.end());
    step().kernel = scalar_kernel(compute.op, compute.flags, step().dtype);
    if (step().kernel == nullptr) {
      require(false, fmt::format("`{}` is not defined on {}", info.name, operators::name(step().dtype)),
              "CYC610");
    }
    const auto& pe = program_.machine.pe;
    const std::array<Shape, 3> scalars{};
    const std::span operands(scalars.data(), sources.size());
    if (step().scalar) step().flops = operators::flops(compute.op, compute.flags, operands);
    const auto given = program::given_cycles(pe, compute.op);
    step().factors = program::factor_dtype(code_.unit_inputs, compute).value_or(step().dtype);
    step().unit_input = code_.unit_inputs[compute.destination.slot.index()].has_value();
    if (step().unit_input) {
      step().cycles = given.value_or(0);
    } else if (step().scalar) {
      step().cycles = program::cycles_of(pe, pe_class_, compute, operands);
    } else if (given && !machine::has_banks(pe)) {
      step().cycles = *given;
    } else {
      step().sized = true;
    }
    if (compute.indexed) add(*compute.indexed, compute);
  }

  void add(const program::Indexed& at, const program::Compute& compute) {
    require(step().scalar && is_scalar(at.number) && slot(at.number).dtype == DType::int64,
            "a number that tells an element is no scalar of int64");
    const bool in_place =
        compute.op == Op::add && compute.operands.front() == program::Operand(compute.destination);
    const bool from_slot = std::holds_alternative<program::SlotRef>(compute.operands.back());
    require((at.scatters || from_slot) && (in_place || compute.op == Op::copy),
            "an element that a number tells is no part of a sum");
    IndexedElement result{.number = access(at.number), .stride = at.stride, .scatters = at.scatters};
    result.lower = form(at.lower);
    result.upper = form(at.upper);
    result.neutral = bytes(at.neutral, step().dtype);
    step().indexed = static_cast<std::uint32_t>(code_.indexed.size());
    code_.indexed.push_back(result);
  }

  void add(const program::Exit& exit) {
    step().kind = Step::Kind::exit;
    set_place(exit.runs);
    require(step().scalar && step().dtype == DType::boolean, "a loop ends by what is no flag");
    require(exit.plan.index() < program_.exit_plans.size(), "it names an ending that does not exist");
    require(!open_.empty() && code_.steps[open_.back()].kind == Step::Kind::loop,
            "an exit is not directly in a loop");
    step().variable = code_.steps[open_.back()].variable;
    step().plan = exit.plan.value;
  }

  /// The dtype that selects the kernel.
  DType working_dtype(const program::Compute& compute) {
    std::vector<std::optional<DType>> operands;
    for (const auto& operand : compute.operands) {
      const auto* reference = std::get_if<program::SlotRef>(&operand);
      operands.push_back(reference == nullptr ? std::nullopt : std::optional(slot(*reference).dtype));
    }
    try {
      return operators::working_dtype(compute.op, operands, slot(compute.destination).dtype);
    } catch (const ShapeError&) {
      require(false, "its operands differ in dtype");
      throw;
    }
  }

  const Program& program_;
  const program::PeClass& pe_class_;
  Code code_;
  std::vector<SlotAccess> slots_;
  std::vector<std::size_t> open_;
  std::uint32_t open_loops_ = 0;
};

}  // namespace

Code decode(const program::Program& program, std::size_t class_index) {
  return Decoder(program, class_index).decode();
}

std::int64_t operator_cycles(const Program& program, const Code& code, const Step& step,
                             std::span<const Shape> operands) {
  if (!step.sized) return step.cycles;
  const auto& pe_class = program.classes[code.index];
  const auto& action = pe_class.code[static_cast<std::size_t>(&step - code.steps.data())].action;
  return program::cycles_of(program.machine.pe, pe_class, std::get<program::Compute>(action), operands);
}

std::int64_t lower_limit(const Code& code, Range range, const std::int64_t* variables) {
  std::int64_t result = std::numeric_limits<std::int64_t>::min();
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const Limit& limit = code.limits[range.first + i];
    const std::int64_t value = evaluate(code, limit.numerator, variables);
    result = std::max(result, limit.divisor == 1 ? value : ceil_divide(value, limit.divisor));
  }
  return result;
}

std::int64_t upper_limit(const Code& code, Range range, const std::int64_t* variables) {
  std::int64_t result = std::numeric_limits<std::int64_t>::max();
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const Limit& limit = code.limits[range.first + i];
    const std::int64_t value = evaluate(code, limit.numerator, variables);
    result = std::min(result, limit.divisor == 1 ? value : floor_divide(value, limit.divisor));
  }
  return result;
}

std::int64_t coefficient(const Code& code, const Form& form, std::uint32_t variable) {
  for (std::uint32_t t = 0; t < form.count; ++t) {
    const Term& term = code.terms[form.first + t];
    if (term.variable == variable) return term.coefficient;
  }
  return 0;
}

bool holds(const Code& code, const Test& test, const std::int64_t* variables) {
  const std::int64_t value = evaluate(code, test.form, variables);
  switch (test.kind) {
    case program::Condition::Kind::non_negative: return value >= 0;
    case program::Condition::Kind::zero: return value == 0;
    case program::Condition::Kind::divisible: return value % test.modulus == 0;
  }
  return false;
}

bool holds(const Code& code, Range conjunctions, const std::int64_t* variables) {
  for (std::uint32_t i = 0; i < conjunctions.count; ++i) {
    const Range tests = code.conjunctions[conjunctions.first + i];
    bool all = true;
    for (std::uint32_t t = 0; all && t < tests.count; ++t)
      all = holds(code, code.tests[tests.first + t], variables);
    if (all) return true;
  }
  return false;
}

}  // namespace cyclotron::runtime
