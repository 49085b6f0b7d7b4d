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

/// The duty of a class to which an instruction points.
Duty duty_of(const Action& action) {
  return std::visit(
      Overloaded{[](const Load&) { return Duty::worker; }, [](const Store&) { return Duty::worker; },
                 [](const Compute& compute) {
                   const bool sums = joins(compute.op) && std::ranges::all_of(compute.operands, is_slot);
                   return sums ? Duty::reduction : Duty::worker;
                 },
                 [](const Move& move) {
                   return std::holds_alternative<SlotRef>(move.source) ? Duty::relay : Duty::worker;
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
  }
  return {};
}

Duty duty_of(const PeClass& pe_class) {
  const auto has = [&](Duty duty) {
    return std::ranges::any_of(
        pe_class.code, [&](const Instruction& instruction) { return duty_of(instruction.action) == duty; });
  };
  if (has(Duty::worker)) return Duty::worker;
  return has(Duty::reduction) ? Duty::reduction : Duty::relay;
}

std::vector<std::int64_t> control_place(const Program& program) {
  std::vector<std::int64_t> result;
  for (const std::int64_t extent : program.grid) result.push_back((extent - 1) / 2);
  return result;
}

std::int64_t hops_to_control(const Program& program, std::size_t index) {
  std::vector<std::int64_t> offset = control_place(program);
  auto rest = static_cast<std::int64_t>(index);
  for (std::size_t d = program.grid.size(); d-- > 0; rest /= program.grid[d])
    offset[d] = rest % program.grid[d] - offset[d];
  return machine::hops(program.machine, program.grid, offset);
}

ControlDistance distance_to_control(const Program& program) {
  const std::vector<std::uint32_t> classes = program.class_map();
  std::int64_t pes = 0, hops = 0, most = 0;
  for (std::size_t index = 0; index < classes.size(); ++index) {
    if (classes[index] == Program::unmapped) continue;
    const std::int64_t way = hops_to_control(program, index);
    ++pes;
    hops += way;
    most = std::max(most, way);
  }
  return {.mean_hops = double(hops) / double(std::max<std::int64_t>(pes, 1)), .most_hops = most};
}

}  // namespace cyclotron::program
