#include "to_program.hpp"

#include <utility>

#include "visit_forms.hpp"

namespace cyclotron::codegen {

program::Affine to_program(const poly::Affine& form) {
  program::Affine result{form.coefficients, form.constant};
  trim(result);
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

poly::Set to_set(const poly::Context& context, std::size_t dimensions, const program::Disjunction& region) {
  auto result = poly::Set::empty(context, dimensions);
  for (const auto& all : region) {
    poly::Conjunction conjunction;
    for (const auto& condition : all) {
      poly::Affine form{condition.form.coefficients, condition.form.constant};
      form.coefficients.resize(dimensions, 0);
      if (condition.kind == program::Condition::Kind::divisible)
        conjunction.divisible.emplace_back(std::move(form), condition.modulus);
      else
        conjunction.constraints.push_back(
            {std::move(form), condition.kind == program::Condition::Kind::zero});
    }
    result = result.unite(poly::Set::where(context, dimensions, conjunction));
  }
  return result;
}

}  // namespace cyclotron::codegen
