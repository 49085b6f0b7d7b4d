// Dtypes of units: what a PE's units compute on, and what they convert as they take their operands.
#pragma once
#include <optional>
#include <vector>

#include <cyclotron/program/program.hpp>

namespace cyclotron::program {

/// Tells whether a unit of the PE may convert to the accumulator's dtype as it takes operands.
[[nodiscard]] bool may_be_unit_input(const machine::Pe& pe, Op op);

/// By slot of a class: the dtype from which a unit converts its values, the largest if there are several; nullopt where
/// none does.
using UnitInputs = std::vector<std::optional<DType>>;

/// Finds the slots that are written by conversions alone, from `Unit::dtypes` to `Unit::accumulator`, and only multiplied,
/// by operators of that unit, which it has on tiles as large as the slots'. Their values are wires: the conversions take
/// no cycle, but those that they have by name, and nothing is read from or written to memory.
[[nodiscard]] UnitInputs unit_inputs(const machine::Pe& pe, const PeClass& pe_class);

/// The dtype of a product's factors as its unit takes them; nullopt of others, and where the unit converts not all of them.
[[nodiscard]] std::optional<DType> factor_dtype(const UnitInputs& inputs, const Compute& compute);

/// Throws ShapeError (CYC406) where an operator is on a unit that does not compute on its dtype. Factors of products
/// have one of `Unit::dtypes`, or are unit inputs; what else the unit does is in these or in the accumulator's.
void verify_units(const Program& program);

}  // namespace cyclotron::program
