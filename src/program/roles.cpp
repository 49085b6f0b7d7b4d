#include <cyclotron/program/roles.hpp>

#include <algorithm>
#include <variant>

#include <cyclotron/support/overloaded.hpp>

namespace cyclotron::program {
namespace {

bool joins(Op op) {
  return op == Op::add || op == Op::multiply || op == Op::maximum || op == Op::minimum ||
         op == Op::first_maximum || op == Op::first_minimum || op == Op::logical_and || op == Op::logical_or;
}

bool is_slot(const Operand& operand) { return std::holds_alternative<SlotRef>(operand); }

/// The duty of a class to which an instruction points. A flag, and what it chooses, computes nothing.
Duty duty_of(const PeClass& pe_class, const Action& action) {
  return std::visit(
      Overloaded{[](const Load&) { return Duty::worker; }, [](const Store&) { return Duty::worker; },
                 [](const Compute& compute) {
                   if (compute.op == Op::where) return Duty::relay;
                   const bool sums = joins(compute.op) && std::ranges::all_of(compute.operands, is_slot);
                   return sums ? Duty::reduction : Duty::worker;
                 },
                 [&](const Move& move) {
                   if (std::holds_alternative<SlotRef>(move.source)) return Duty::relay;
                   const bool is_flag = pe_class.slots[move.destination.slot.index()].dtype == DType::boolean;
                   return is_flag ? Duty::relay : Duty::worker;
                 },
                 [](const Loop&) { return Duty::relay; }, [](const If&) { return Duty::relay; },
                 [](const End&) { return Duty::relay; }, [](const Send&) { return Duty::relay; },
                 [](const Receive&) { return Duty::relay; }, [](const Broadcast&) { return Duty::relay; },
                 [](const Exit&) { return Duty::relay; }},
      action);
}

}  // namespace

std::string_view name(Duty duty) {
  switch (duty) {
    case Duty::worker: return "worker";
    case Duty::reduction: return "reduction";
    case Duty::relay: return "relay";
    case Duty::executive: return "executive";
  }
  return {};
}

Duty duty_of(const PeClass& pe_class) {
  if (pe_class.executive) return Duty::executive;
  const auto has = [&](Duty duty) {
    return std::ranges::any_of(pe_class.code, [&](const Instruction& instruction) {
      return duty_of(pe_class, instruction.action) == duty;
    });
  };
  if (has(Duty::worker)) return Duty::worker;
  return has(Duty::reduction) ? Duty::reduction : Duty::relay;
}

const PeClass* executive_of(const Program& program) {
  const auto found = std::ranges::find_if(program.classes, &PeClass::executive);
  return found == program.classes.end() ? nullptr : &*found;
}

std::vector<std::int64_t> worker_field(const Program& program) {
  std::vector<std::int64_t> result = program.grid;
  if (executive_of(program) != nullptr) --result.front();
  return result;
}

std::vector<std::int64_t> control_place(const Program& program) {
  std::vector<std::int64_t> result;
  for (const std::int64_t extent : worker_field(program)) result.push_back((extent - 1) / 2);
  return result;
}

std::vector<std::int64_t> executive_place(const Program& program) {
  std::vector<std::int64_t> result = control_place(program);
  result.front() = program.grid.front() - 1;
  return result;
}

Disjunction executive_region(const Program& program) {
  Conjunction result;
  for (const std::int64_t own : executive_place(program)) {
    Affine form{.coefficients = std::vector<std::int64_t>(result.size() + 1), .constant = -own};
    form.coefficients.back() = 1;
    result.push_back({.kind = Condition::Kind::zero, .form = std::move(form), .modulus = 0});
  }
  return {std::move(result)};
}

Affine executive_number(const Program& program) {
  Affine result;
  const std::vector<std::int64_t> place = executive_place(program);
  for (std::size_t d = 0; d < place.size(); ++d)
    result.constant = result.constant * program.grid[d] + place[d];
  return result;
}

namespace {

std::int64_t hops_between(const Program& program, const std::vector<std::int64_t>& from,
                          const std::vector<std::int64_t>& to) {
  std::vector<std::int64_t> offset;
  for (std::size_t d = 0; d < from.size(); ++d) offset.push_back(to[d] - from[d]);
  return machine::hops(program.machine, worker_field(program), offset);
}

}  // namespace

void time_executive(Program& program) {
  const std::vector<std::int64_t> own = executive_place(program), middle = control_place(program);
  const std::int64_t hop = program.machine.control.value_or(machine::Control{}).hop_cycles;
  for (Channel& channel : program.channels) {
    if (!channel.link) continue;
    channel.link = program.machine.link;
    channel.link->latency_cycles = hop;
    if (channel.kind == Channel::Kind::network) continue;
    const bool leads_there = channel.offset.front() > 0;
    std::vector<std::int64_t> other = own;
    for (std::size_t d = 0; d < other.size(); ++d)
      other[d] += leads_there ? -channel.offset[d] : channel.offset[d];
    channel.link->latency_cycles = hop * (hops_between(program, middle, other) + 1);
  }
}

std::int64_t hops_to_control(const Program& program, std::size_t index) {
  std::vector<std::int64_t> at(program.grid.size());
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t d = program.grid.size(); d-- > 0; rest /= program.grid[d]) at[d] = rest % program.grid[d];
  if (executive_of(program) != nullptr && at == executive_place(program)) return 0;
  return hops_between(program, control_place(program), at);
}

ControlDistance distance_to_control(const Program& program) {
  const std::vector<std::uint32_t> classes = program.class_map();
  std::int64_t pes = 0, hops = 0, most = 0;
  for (std::size_t index = 0; index < classes.size(); ++index) {
    if (classes[index] == Program::unmapped || program.classes[classes[index]].executive) continue;
    const std::int64_t way = hops_to_control(program, index);
    ++pes;
    hops += way;
    most = std::max(most, way);
  }
  return {.mean_hops = double(hops) / double(std::max<std::int64_t>(pes, 1)), .most_hops = most};
}

}  // namespace cyclotron::program
