#include <cyclotron/program/units.hpp>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cyclotron/program/timing.hpp>
#include <cyclotron/program/uses.hpp>
#include <cyclotron/support/error.hpp>

namespace cyclotron::program {
namespace {

bool is_cast(Op op) { return operators::info(op).typing == operators::Typing::cast; }

bool is_product(Op op) {
  const auto family = operators::info(op).family;
  return family == operators::Family::product || family == operators::Family::self_product ||
         op == Op::multiply || op == Op::multiply_add || op == Op::multiply_subtract;
}

bool computes_on(const machine::Unit& unit, DType dtype) {
  return unit.dtypes.empty() || std::ranges::find(unit.dtypes, operators::name(dtype)) != unit.dtypes.end();
}

bool accumulates_in(const machine::Unit& unit, DType dtype) {
  return unit.accumulator && *unit.accumulator == operators::name(dtype);
}

/// Slots of what is multiplied: all operands but an accumulator.
std::vector<SlotId> factors(const Compute& compute) {
  std::vector<SlotId> result;
  for (std::size_t n = operators::is_accumulating(compute.op) ? 1 : 0; n < compute.operands.size(); ++n) {
    if (const auto* reference = std::get_if<SlotRef>(&compute.operands[n])) result.push_back(reference->slot);
  }
  return result;
}

/// The uses that a class has for the values of a slot.
struct SlotUse {
  const machine::Unit* unit = nullptr;  ///< That multiplies them.
  std::optional<DType> narrow{};        ///< From which they are converted, the largest.
  bool otherwise = false;               ///< Anything else is done with them, or by another unit too.
};

void add_product(const machine::Unit* unit, const std::vector<SlotId>& multiplied,
                 const std::vector<std::size_t>& read, std::vector<SlotUse>& uses) {
  for (const SlotId slot : multiplied) {
    SlotUse& use = uses[slot.index()];
    if (unit == nullptr || (use.unit != nullptr && use.unit != unit)) use.otherwise = true;
    use.unit = unit;
  }
  for (const std::size_t slot : read) {
    const auto is_slot = [&](SlotId one) { return one.index() == slot; };
    if (std::ranges::none_of(multiplied, is_slot)) uses[slot].otherwise = true;
  }
}

void add_cast(const PeClass& pe_class, const Compute& compute, SlotUse& use) {
  const auto* from = std::get_if<SlotRef>(&compute.operands.front());
  if (from == nullptr) {
    use.otherwise = true;
    return;
  }
  const DType narrow = pe_class.slots[from->slot.index()].dtype;
  if (!use.narrow || operators::size_bytes(narrow) > operators::size_bytes(*use.narrow)) use.narrow = narrow;
}

/// Tells whether a unit of the PE computes on less than all dtypes, or converts what it takes.
bool has_dtypes(const machine::Pe& pe) {
  return std::ranges::any_of(std::array{&pe.matrix, &pe.vector, &pe.scalar}, [](const auto* unit) {
    return *unit && (!(*unit)->dtypes.empty() || (*unit)->accumulator);
  });
}

[[noreturn]] void refuse(const Program& program, const Instruction& instruction, DType dtype,
                         const machine::Unit& unit) {
  const auto& pe = program.machine.pe;
  const auto is = [&](const std::optional<machine::Unit>& one) { return one && &*one == &unit; };
  const std::string_view kind = is(pe.matrix) ? "matrix" : is(pe.vector) ? "vector" : "scalar";
  const auto op = std::get<Compute>(instruction.action).op;
  const std::string dtypes = fmt::format("{}", fmt::join(unit.dtypes, ", "));
  const std::string sums =
      unit.accumulator ? fmt::format(" and adds up in {}", *unit.accumulator) : std::string();
  const std::string products = unit.accumulator
                                   ? fmt::format(", with sums in {}: `cy.matmul(A, B, dtype=\"{}\")`",
                                                 *unit.accumulator, *unit.accumulator)
                                   : std::string();
  throw ShapeError(
      {.code = "CYC406",
       .span = instruction.span,
       .message = fmt::format("`{}` is on {}, and the machine's {} unit computes on {}{}",
                              operators::info(op).name, operators::name(dtype), kind, dtypes, sums),
       .notes = {},
       .help = fmt::format("pass arrays of {}{}; or say what the unit computes on, "
                           "`cy.Unit(..., dtypes=(..., \"{}\"))`",
                           dtypes, products, operators::name(dtype))});
}

/// The dtypes that a unit has to compute on for an operator; of a product those of its factors.
std::vector<DType> dtypes_of(const PeClass& pe_class, const Compute& compute) {
  std::vector<std::optional<DType>> operands;
  for (const auto& operand : compute.operands) {
    const auto* reference = std::get_if<SlotRef>(&operand);
    operands.push_back(reference == nullptr ? std::nullopt
                                            : std::optional(pe_class.slots[reference->slot.index()].dtype));
  }
  const DType result = pe_class.slots[compute.destination.slot.index()].dtype;
  std::vector<DType> all{operators::working_dtype(compute.op, operands, result)};
  if (is_cast(compute.op)) all.push_back(result);
  return all;
}

void verify_unit(const Program& program, const PeClass& pe_class, const UnitInputs& inputs,
                 const Instruction& instruction) {
  const auto* compute = std::get_if<Compute>(&instruction.action);
  if (compute == nullptr) return;
  const machine::Unit* unit =
      unit_of(program.machine.pe, compute->op, compute->flags, slot_tiles(pe_class, *compute));
  if (unit == nullptr || unit->dtypes.empty()) return;
  if (is_cast(compute->op) && inputs[compute->destination.slot.index()]) return;
  for (const DType dtype : dtypes_of(pe_class, *compute)) {
    const bool is_sum =
        accumulates_in(*unit, dtype) && (!is_product(compute->op) || factor_dtype(inputs, *compute));
    if (!computes_on(*unit, dtype) && !is_sum) refuse(program, instruction, dtype, *unit);
  }
}

}  // namespace

bool may_be_unit_input(const machine::Pe& pe, Op op) {
  if (!is_cast(op)) return false;
  const DType result = operators::result_dtype(op, DType::float64);
  return std::ranges::any_of(std::array{&pe.matrix, &pe.vector, &pe.scalar},
                             [&](const auto* unit) { return *unit && accumulates_in(**unit, result); });
}

UnitInputs unit_inputs(const machine::Pe& pe, const PeClass& pe_class) {
  UnitInputs result(pe_class.slots.size());
  if (!has_dtypes(pe)) return result;
  std::vector<SlotUse> uses(pe_class.slots.size());
  for (const auto& instruction : pe_class.code) {
    const auto [read, written] = uses_of(instruction.action);
    const auto* compute = std::get_if<Compute>(&instruction.action);
    if (compute != nullptr && is_product(compute->op)) {
      add_product(unit_of(pe, compute->op, compute->flags, slot_tiles(pe_class, *compute)), factors(*compute),
                  read, uses);
    } else {
      for (const std::size_t slot : read) uses[slot].otherwise = true;
    }
    for (const std::size_t slot : written) {
      if (compute != nullptr && is_cast(compute->op)) {
        add_cast(pe_class, *compute, uses[slot]);
      } else {
        uses[slot].otherwise = true;
      }
    }
  }
  for (std::size_t slot = 0; slot < uses.size(); ++slot) {
    const auto& [unit, narrow, otherwise] = uses[slot];
    const DType wide = pe_class.slots[slot].dtype;
    if (otherwise || unit == nullptr || !narrow || !accumulates_in(*unit, wide)) continue;
    if (computes_on(*unit, *narrow)) result[slot] = narrow;
  }
  return result;
}

std::optional<DType> factor_dtype(const UnitInputs& inputs, const Compute& compute) {
  if (!is_product(compute.op)) return std::nullopt;
  std::optional<DType> result;
  for (const SlotId slot : factors(compute)) {
    const auto narrow = inputs[slot.index()];
    if (!narrow) return std::nullopt;
    if (!result || operators::size_bytes(*narrow) > operators::size_bytes(*result)) result = narrow;
  }
  return result;
}

void verify_units(const Program& program) {
  const auto& pe = program.machine.pe;
  if (!has_dtypes(pe)) return;
  for (const auto& pe_class : program.classes) {
    const auto inputs = unit_inputs(pe, pe_class);
    for (const auto& instruction : pe_class.code) verify_unit(program, pe_class, inputs, instruction);
  }
}

}  // namespace cyclotron::program
