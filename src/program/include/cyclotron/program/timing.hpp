// Times of a program on its machine: the cycles of its operators.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// The cycles that `pe.cycles` gives an operator by name, whatever its operands; else nullopt.
[[nodiscard]] std::optional<std::int64_t> given_cycles(const machine::Pe& pe, Op op);

/// Cycles on tiles of these shapes of an operator that has none by name. A unit takes its cycles for each pass:
/// a product of tiles with M x N results that are sums of K takes ceil(M / m) ceil(N / n) ceil(K / k) passes of the
/// matrix unit, other operators on the vector unit ceil(elements / lanes), of the result where they are elementwise,
/// of the operand where they reduce; on the scalar unit one. Without a unit it is ceil(flops / flops_per_cycle), at
/// least 1. Throws ShapeError where the shapes do not fit.
[[nodiscard]] std::int64_t cycles_of(const machine::Pe& pe, Op op, Flags flags,
                                     std::span<const operators::Shape> operands);

/// Cycles to find the address of an element that a number tells.
inline constexpr std::int64_t address_cycles = 1;

/// Cycles of an instruction of a class on tiles of these shapes: of its operator, given or as above, or if that is more
/// those that the busiest bank takes for the words of the operands and of the result, one after the other. A slot in
/// registers and a constant take none; one that lies in several banks has its words spread evenly over them, a tile of
/// w words in n banks takes ceil(w / n) of each. An element that a number tells takes `address_cycles` more. Throws as above.
[[nodiscard]] std::int64_t cycles_of(const machine::Pe& pe, const PeClass& pe_class, const Compute& compute,
                                     std::span<const operators::Shape> operands);

/// The tiles of the operands' slots, which are the largest that they may have.
[[nodiscard]] std::vector<operators::Shape> slot_tiles(const PeClass& pe_class, const Compute& compute);

/// The unit that runs an operator on tiles of these shapes; null where none does, as where it has cycles by name.
[[nodiscard]] const machine::Unit* unit_of(const machine::Pe& pe, Op op, Flags flags,
                                           std::span<const operators::Shape> operands);

/// The most floating-point operations a cycle that a PE reaches with an operator: full passes of the unit that runs it;
/// on operands of these shapes where the operator has cycles by name (0 where these are none); else flops_per_cycle.
/// Throws as `cycles_of`.
[[nodiscard]] double peak_flops_per_cycle(const machine::Pe& pe, Op op, Flags flags,
                                          std::span<const operators::Shape> operands);

/// The largest of those of the class's instructions, on tiles as large as its slots' and no more than their banks give
/// words for; 0 where it computes nothing.
[[nodiscard]] double peak_flops_per_cycle(const machine::Pe& pe, const PeClass& pe_class);

}  // namespace cyclotron::program
