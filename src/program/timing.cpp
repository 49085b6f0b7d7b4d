#include <cyclotron/program/timing.hpp>

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <cyclotron/support/division.hpp>

namespace cyclotron::program {

namespace {

/// Words of one slot that an instruction reads or writes, in neighbouring banks.
struct Access {
  std::int64_t words;
  std::int64_t first_bank;
  std::int64_t last_bank;
};

/// Of an instruction on tiles of these shapes; none in registers.
std::vector<Access> accesses(const machine::Pe& pe, const PeClass& pe_class, const Compute& compute,
                             std::span<const operators::Shape> operands) {
  std::vector<Access> result;
  const std::int64_t bank = machine::bank_bytes(pe);
  const auto add = [&](const SlotRef& reference, const operators::Shape& shape) {
    const Slot& slot = pe_class.slots[reference.slot.index()];
    if (slot.first_register) return;
    const std::int64_t bytes = slot.words() * static_cast<std::int64_t>(operators::size_bytes(slot.dtype));
    result.push_back({shape.rows * shape.columns, slot.address / bank, (slot.address + bytes - 1) / bank});
  };
  for (std::size_t n = 0; n < operands.size(); ++n) {
    if (const auto* reference = std::get_if<SlotRef>(&compute.operands[n])) add(*reference, operands[n]);
  }
  add(compute.destination, operators::result_shape(compute.op, compute.flags, operands));
  if (compute.indexed) add(compute.indexed->number, {});
  return result;
}

/// The largest sum over the accesses to one bank of what `part` makes of an access's words and banks.
template <class Part>
auto busiest_bank(const std::vector<Access>& accesses, Part part) {
  decltype(part(std::int64_t{}, std::int64_t{})) most = 0;
  for (const Access& at : accesses) {  // the busiest is where some slot begins
    decltype(most) sum = 0;
    for (const Access& one : accesses) {
      if (one.first_bank <= at.first_bank && at.first_bank <= one.last_bank)
        sum += part(one.words, one.last_bank - one.first_bank + 1);
    }
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

std::optional<std::int64_t> given_cycles(const machine::Pe& pe, Op op) {
  if (pe.cycles.empty()) return std::nullopt;
  auto found = pe.cycles.find(std::string(operators::info(op).name));
  // A comparator is one of either kind, unless both are given.
  if (found == pe.cycles.end() && op == Op::first_maximum) found = pe.cycles.find("maximum");
  if (found == pe.cycles.end() && op == Op::first_minimum) found = pe.cycles.find("minimum");
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

std::int64_t cycles_of(const machine::Pe& pe, const PeClass& pe_class, const Compute& compute,
                       std::span<const operators::Shape> operands) {
  const auto given = given_cycles(pe, compute.op);
  const std::int64_t cycles = (given ? *given : cycles_of(pe, compute.op, compute.flags, operands)) +
                              (compute.indexed ? address_cycles : 0);
  if (!machine::has_banks(pe)) return cycles;
  return std::max(cycles, busiest_bank(accesses(pe, pe_class, compute, operands), ceil_divide));
}

std::vector<operators::Shape> slot_tiles(const PeClass& pe_class, const Compute& compute) {
  std::vector<operators::Shape> result;
  for (const auto& operand : compute.operands) {
    const auto* reference = std::get_if<SlotRef>(&operand);
    result.push_back(reference == nullptr ? operators::Shape{}
                                          : pe_class.slots[reference->slot.index()].tile);
  }
  return result;
}

const machine::Unit* unit_of(const machine::Pe& pe, Op op, Flags flags,
                             std::span<const operators::Shape> operands) {
  const auto of = [](const std::optional<machine::Unit>& unit) { return unit ? &*unit : nullptr; };
  if (given_cycles(pe, op)) return nullptr;
  if (pe.matrix && operators::product_size(op, flags, operands)) return of(pe.matrix);
  const bool elementwise = operators::is_elementwise(op);
  if (!elementwise && !operators::is_reduction(op)) return nullptr;
  const bool one = elementwise && operators::result_shape(op, flags, operands) == operators::Shape{};
  return pe.scalar && one ? of(pe.scalar) : of(pe.vector);
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
    const auto shapes = slot_tiles(pe_class, *compute);
    double peak = peak_flops_per_cycle(pe, compute->op, compute->flags, shapes);
    if (machine::has_banks(pe)) {
      const double words =
          busiest_bank(accesses(pe, pe_class, *compute, shapes), [](std::int64_t all, std::int64_t banks) {
            return static_cast<double>(all) / static_cast<double>(banks);
          });
      const auto flops = static_cast<double>(operators::flops(compute->op, compute->flags, shapes));
      if (words > 0) peak = std::min(peak, flops / words);
    }
    result = std::max(result, peak);
  }
  return result;
}

}  // namespace cyclotron::program
