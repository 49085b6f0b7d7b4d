// Loop nests to recurrences, by exact array dataflow analysis (Feautrier 1991).
#pragma once
#include <optional>

#include <cyclotron/recurrence/nest.hpp>

namespace cyclotron::recurrence {

/// Makes every statement an equation of a local tensor of its own, `A_1`, over its loops, and every reading
/// of an assigned tensor one of the last write before it; an equation for each case where that differs.
/// Outputs get the last write of each element; one that is named as an input becomes `A_out`. Statements
/// that only fill or copy an input are read through, those that nothing needs are dropped. Descending loops
/// count up from their last value, loops that others cross get an index of their own (`j_2`), and where what
/// a loop holds must run one after the other, an index says what comes first (`statement_in_t`; `statement`
/// around all).
///
/// Requires: elements are scalars. Ensures: evaluating the result gives what running the statements gives.
/// Throws LegalityError CYC203 (outside a tensor), CYC215 (an element read before anything is assigned to
/// it), CYC216 (a last write that is no affine function of the indices).
[[nodiscard]] System expand_arrays(const Nest& nest);

/// The same; nothing instead of CYC216, unless it is `required`.
[[nodiscard]] std::optional<System> expand_arrays(const Nest& nest, bool required);

}  // namespace cyclotron::recurrence
