#include <cyclotron/program/timing.hpp>

#include <algorithm>
#include <string>

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

const machine::Link& link_of(const machine::Machine& machine, const Channel& channel) {
  if (channel.kind == Channel::Kind::network) return machine.broadcast;
  const auto found = machine.links.find(channel.offset);
  return found == machine.links.end() ? machine.link : found->second;
}

std::int64_t depth_of(const machine::Machine& machine, const Channel& channel) {
  return channel.depth > 0 ? channel.depth : link_of(machine, channel).depth;
}

}  // namespace cyclotron::program
