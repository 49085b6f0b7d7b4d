// The terms that recurrences give to the elements of their tensors: what a program has to compute.
#pragma once
#include <vector>

#include <cyclotron/proof/terms.hpp>
#include <cyclotron/recurrence/system.hpp>

namespace cyclotron::proof {

struct Expected {
  std::vector<std::vector<TermId>> outputs;  ///< By tensor of the program and element; empty for inputs.
  std::vector<std::vector<TermId>>
      others;  ///< Of the tensors of the recurrences that are asked for, by element.
};

/// The term of each element of the outputs, and of `others`, which are computed. Elements of computed
/// tensors are replaced by their terms; reductions are folded in ascending order from the first term. Every
/// term that the equations contain is then in the table.
/// Throws LegalityError: CYC666 where the program's tensors are not the recurrences', CYC668 where an
/// element is assigned twice, never, or depends on itself; CapacityError CYC669 where there are more than
/// `limit` points to evaluate.
[[nodiscard]] Expected terms_of(const recurrence::System& system, const program::Program& program,
                                TermTable& terms, const std::vector<recurrence::TensorId>& others,
                                std::int64_t limit);

}  // namespace cyclotron::proof
