// Private to this folder: affine forms, operands and conditions, translated to those of programs.
#pragma once
#include <cstddef>
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

[[nodiscard]] program::Affine to_program(const poly::Affine& form);
[[nodiscard]] program::Move::Source to_source(const program::Operand& operand);
[[nodiscard]] program::Disjunction to_program(const std::vector<poly::Conjunction>& conjunctions);

/// The points where conditions hold, which are over so many coordinates.
[[nodiscard]] poly::Set to_set(const poly::Context& context, std::size_t dimensions,
                               const program::Disjunction& region);

}  // namespace cyclotron::codegen
