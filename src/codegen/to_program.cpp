#include "to_program.hpp"

namespace cyclotron::codegen {

program::Affine to_program(const poly::Affine& form) {
  program::Affine result{form.coefficients, form.constant};
  while (!result.coefficients.empty() && result.coefficients.back() == 0) result.coefficients.pop_back();
  return result;
}

program::Move::Source to_source(const program::Operand& operand) {
  return std::visit([](const auto& value) -> program::Move::Source { return value; }, operand);
}

program::Disjunction to_program(const std::vector<poly::Conjunction>& conjunctions) {
  program::Disjunction result;
  for (const auto& conjunction : conjunctions) {
    auto& all = result.emplace_back();
    for (const auto& [form, equality] : conjunction.constraints) {
      all.push_back({equality ? program::Condition::Kind::zero : program::Condition::Kind::non_negative,
                     to_program(form), 0});
    }
    for (const auto& [form, modulus] : conjunction.divisible) {
      all.push_back({program::Condition::Kind::divisible, to_program(form), modulus});
    }
  }
  return result;
}

}  // namespace cyclotron::codegen
