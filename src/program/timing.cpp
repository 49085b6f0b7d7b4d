#include <cyclotron/program/timing.hpp>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <cyclotron/support/division.hpp>

namespace cyclotron::program {

std::optional<std::int64_t> given_cycles(const machine::Pe& pe, Op op) {
  const auto found = pe.cycles.find(std::string(operators::info(op).name));
  return found == pe.cycles.end() ? std::nullopt : std::optional(found->second);
}

std::int64_t cycles_of(const machine::Pe& pe, Op op, Flags flags,
                       std::span<const operators::Shape> operands) {
  if (pe.matrix) {
    if (const auto size = operators::product_size(op, flags, operands)) {
      const auto& unit = pe.matrix->shape;
      return ceil_divide(size->rows, unit[0]) * ceil_divide(size->columns, unit[1]) *
             ceil_divide(size->depth, unit[2]) * pe.matrix->cycles;
    }
  }
  const bool elementwise = operators::is_elementwise(op);
  if ((pe.scalar || pe.vector) && (elementwise || operators::is_reduction(op))) {
    const auto shape = elementwise ? operators::result_shape(op, flags, operands) : operands[0];
    const std::int64_t elements = shape.rows * shape.columns;
    if (pe.scalar && elementwise && elements == 1) return pe.scalar->cycles;
    if (pe.vector) return ceil_divide(elements, pe.vector->shape[0]) * pe.vector->cycles;
  }
  return std::max<std::int64_t>(1, ceil_divide(operators::flops(op, flags, operands), pe.flops_per_cycle));
}

double peak_flops_per_cycle(const machine::Pe& pe, Op op, Flags flags,
                            std::span<const operators::Shape> operands) {
  const auto rate = [](std::int64_t flops, std::int64_t cycles) {
    return cycles > 0 ? static_cast<double>(flops) / static_cast<double>(cycles) : 0;
  };
  const std::int64_t flops = operators::flops(op, flags, operands);
  if (flops == 0) return 0;
  if (const auto given = given_cycles(pe, op)) return rate(flops, *given);
  if (pe.matrix && operators::product_size(op, flags, operands)) {
    const auto& unit = pe.matrix->shape;
    return rate(2 * unit[0] * unit[1] * unit[2], pe.matrix->cycles);
  }
  const bool elementwise = operators::is_elementwise(op);
  if ((pe.scalar || pe.vector) && (elementwise || operators::is_reduction(op))) {
    const std::int64_t each = operators::info(op).flops_per_element.value_or(1);
    const bool one = elementwise && operators::result_shape(op, flags, operands) == operators::Shape{};
    if (pe.scalar && one) return rate(each, pe.scalar->cycles);
    if (pe.vector) return rate(each * pe.vector->shape[0], pe.vector->cycles);
  }
  return static_cast<double>(pe.flops_per_cycle);
}

double peak_flops_per_cycle(const machine::Pe& pe, const PeClass& pe_class) {
  double result = 0;
  for (const auto& instruction : pe_class.code) {
    const auto* compute = std::get_if<Compute>(&instruction.action);
    if (compute == nullptr) continue;
    std::vector<operators::Shape> shapes;
    for (const auto& operand : compute->operands) {
      const auto* reference = std::get_if<SlotRef>(&operand);
      shapes.push_back(reference == nullptr ? operators::Shape{}
                                            : pe_class.slots[reference->slot.index()].tile);
    }
    result = std::max(result, peak_flops_per_cycle(pe, compute->op, compute->flags, shapes));
  }
  return result;
}

}  // namespace cyclotron::program
