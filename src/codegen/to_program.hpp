// Private to this folder: affine forms, operands and conditions, translated to those of programs.
#pragma once
#include <vector>

#include <cyclotron/poly/set.hpp>
#include <cyclotron/program/program.hpp>

namespace cyclotron::codegen {

[[nodiscard]] program::Affine to_program(const poly::Affine& form);
[[nodiscard]] program::Move::Source to_source(const program::Operand& operand);
[[nodiscard]] program::Disjunction to_program(const std::vector<poly::Conjunction>& conjunctions);

}  // namespace cyclotron::codegen
